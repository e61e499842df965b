"""Generates the decoder of one version of a message: a function without calls for its fields.

    decode(buffer, position) -> (message, position after it)

For malformed bytes the function raises struct.error, IndexError or ValueError; `raft.codec.codec` makes a DecodeError
of them. Every count and length is compared with the bytes that are left before anything is allocated.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from functools import cache
from typing import assert_never

from raft.codec.schema import (
    AnyType,
    Array,
    Edition,
    Field,
    Schema,
    Struct,
    StructLayout,
    Structure,
    minimum_size_bytes,
)
from raft.codec.source import Compiled, GeneratedSource, Run
from raft.codec.types import MAX_STRING_BYTES, UUID, Blob, Fixed, Text
from raft.codec.varint import read_uvarint
from raft.uuids import format_uuid

MAX_REQUEST_ELEMENTS = 1000
"""Most structs and unknown tags in a request, because each takes the node some time."""


def bad_length(length: int, left: int) -> ValueError:
    """Return the error for a length or count of more bytes than there are.

    Args:
        length: the length or count; -1 for null.
        left: bytes that are left.
    """
    if length == -1:
        return ValueError("null in a field that is not nullable")
    return ValueError(f"a length of {length} with {left} bytes left")


def too_many_elements() -> ValueError:
    """Return the error for a request with too many elements."""
    return ValueError(f"more than {MAX_REQUEST_ELEMENTS} elements in the arrays of a request")


_NAMESPACE = {
    "bad_length": bad_length,
    "format_uuid": format_uuid,
    "read_uvarint": read_uvarint,
    "too_many_elements": too_many_elements,
    "unpack_array": struct.unpack_from,
}


def write_decoder(schema: Schema, version: int) -> Compiled:
    """Generate and compile the decoder of one version."""
    return _Decoder(schema, version).compile()


class _Decoder:
    """Generates the lines that read one version.

    The lines of each method read at `position` and move it past what they read.
    """

    def __init__(self, schema: Schema, version: int) -> None:
        self._struct = schema.struct
        self._is_request = schema.is_request
        self._edition = Edition(version, version in schema.flexible)
        title = f"decode {schema.struct.name} v{version}"
        self._source = GeneratedSource(title, "decode(buffer, position)", _NAMESPACE, self._read_run)

    def compile(self) -> Compiled:
        """Generate the whole function."""
        self._source.line("limit = len(buffer)")
        if self._is_request:
            self._source.line("elements = 0")
        self._read_struct(self._struct, "message")
        self._source.line("return message, position")
        return self._source.compile()

    def _read_struct(self, description: Struct, holder: str) -> None:
        """Read a struct into the variable `holder`."""
        source, layout = self._source, StructLayout.of(description, self._edition.version)
        source.line(f"{holder} = {source.constant(description.draft_class.__name__, description.draft_class)}()")
        for field in layout.tagged + layout.absent:
            source.line(f"{holder}.{field.name} = {source.constant(f'default_{field.name}', field.default)}")
        source.line(f"{holder}.unknown_tags = ()")
        for field in layout.untagged:
            with source.serving(field.name):
                self._read_field(field, f"{holder}.{field.name}", is_tagged=False)
        if self._edition.flexible:
            self._read_tags(layout.tagged, holder)
        source.line(f"{holder}.__class__ = {source.constant(description.name, description.message_class)}")

    def _read_run(self, run: Run) -> list[str]:
        codes = "".join(part.code for part in run)
        if codes == "B":
            return [f"{run[0].expression} = buffer[position]", "position += 1"]
        targets = "".join(f"{part.expression}, " for part in run)
        return [
            f"{targets}= {self._source.constant(f'unpack_{_identifier(codes)}', _unpacker(codes))}(buffer, position)",
            f"position += {struct.calcsize(f'>{codes}')}",
            *(f"{part.expression} = format_uuid({part.expression})" for part in run if part.code == UUID.code),
        ]

    def _read_field(self, field: Field, target: str, *, is_tagged: bool) -> None:
        edition = self._edition.of_field(field)
        if edition.version not in field.nullable:
            self._read_value(field.type, target, edition)
        elif isinstance(field.type, Structure):
            # The marker of a tagged struct is a varint, 0 for null; that of other structs is an int8, negative for
            # null.
            self._source.part("B" if is_tagged else "b", "marker")
            self._read_unless("marker == 0" if is_tagged else "marker < 0", field.type, target)
        else:
            self._read_length(field.type, edition)
            self._read_unless("length == -1", field.type, target)

    def _read_unless(self, is_null: str, type: AnyType, target: str) -> None:
        with self._source.block(f"if {is_null}:"):
            self._source.line(f"{target} = None")
        with self._source.block("else:"):
            self._read_content(type, target)

    def _read_value(self, type: AnyType, target: str, edition: Edition) -> None:
        """Read a value that cannot be null."""
        if isinstance(type, Text | Blob | Array):
            self._read_length(type, edition)
        self._read_content(type, target)

    def _read_length(self, type: AnyType, edition: Edition) -> None:
        """Read `length`, -1 for null."""
        if edition.flexible:
            self._read_uvarint("length")
            self._source.line("length -= 1")
        else:
            self._source.part("h" if isinstance(type, Text) else "i", "length")

    def _read_content(self, type: AnyType, target: str) -> None:
        """Read a value after its length, if it has one."""
        source = self._source
        match type:
            case Fixed():
                source.part(type.code, target)
            case Structure():
                holder = source.local(_last(target))
                self._read_struct(type.struct, holder)
                source.line(f"{target} = {holder}")
            case Text() | Blob():
                source.line("end = position + length")
                with source.block("if length < 0 or end > limit:"):
                    source.line("raise bad_length(length, limit - position)")
                if isinstance(type, Text):
                    with source.block(f"if length > {MAX_STRING_BYTES}:"):
                        source.line(f"raise ValueError('a string of more than {MAX_STRING_BYTES} bytes')")
                source.line(f"{target} = buffer[position:end]{'.decode()' if isinstance(type, Text) else ''}")
                source.line("position = end")
            case Array():
                self._read_elements(type.element, target)
            case _:
                assert_never(type)

    def _read_elements(self, element: AnyType, target: str) -> None:
        source = self._source
        # Kafka has no elements without bytes. With one, a few bytes could claim any number of elements.
        size_bytes = max(1, minimum_size_bytes(element, self._edition))
        with source.block(f"if length < 0 or length * {size_bytes} > limit - position:"):
            source.line("raise bad_length(length, limit - position)")
        if isinstance(element, Fixed):
            codes = f"f'>{{length}}{element.code}'" if element is not UUID else f"'>' + length * '{element.code}'"
            source.line(f"{target} = unpack_array({codes}, buffer, position)")
            source.line(f"position += length * {size_bytes}")
            if element is UUID:
                source.line(f"{target} = tuple(map(format_uuid, {target}))")
            return
        self._count_elements("length")
        elements, variable = source.local(f"{_last(target)}_read"), source.local("element")
        source.line(f"{elements} = []")
        with source.block("for _ in range(length):"):
            if isinstance(element, Structure):
                self._read_struct(element.struct, variable)
            else:
                self._read_value(element, variable, self._edition)
            source.line(f"{elements}.append({variable})")
        source.line(f"{target} = tuple({elements})")

    def _read_tags(self, tagged: tuple[Field, ...], holder: str) -> None:
        source = self._source
        unknown, end = source.local("unknown_tags"), source.local("tag_end")
        source.part("B", "tag_count")
        with source.block("if tag_count:"):
            self._read_rest_of_uvarint("tag_count")
            self._count_elements("tag_count")
            source.line(f"{unknown} = []")
            with source.block("for _ in range(tag_count):"):
                source.line("tag, length = buffer[position], buffer[position + 1]")
                source.line("position += 2")
                with source.block("if tag > 127 or length > 127:"):
                    source.line("tag, position = read_uvarint(buffer, position - 2)")
                    source.line("length, position = read_uvarint(buffer, position)")
                source.line(f"{end} = position + length")
                with source.block(f"if {end} > limit:"):
                    source.line("raise bad_length(length, limit - position)")
                for field in tagged:
                    self._read_tagged(field, f"{holder}.{field.name}", end)
                source.line(f"{unknown}.append((tag, buffer[position:{end}]))")
                source.line(f"position = {end}")
            source.line(f"{holder}.unknown_tags = tuple({unknown})")

    def _count_elements(self, count: str) -> None:
        """In a request, check the number of elements of all arrays before those of this array are read."""
        if self._is_request:
            self._source.line(f"elements += {count}")
            with self._source.block(f"if elements > {MAX_REQUEST_ELEMENTS}:"):
                self._source.line("raise too_many_elements()")

    def _read_tagged(self, field: Field, target: str, end: str) -> None:
        source = self._source
        with source.block(f"if tag == {field.tag}:"), source.serving(field.name):
            self._read_field(field, target, is_tagged=True)
            with source.block(f"if position != {end}:"):
                source.line("raise ValueError('the size of a tagged field is wrong')")
            source.line("continue")

    def _read_uvarint(self, variable: str) -> None:
        self._source.part("B", variable)
        self._read_rest_of_uvarint(variable)

    def _read_rest_of_uvarint(self, variable: str) -> None:
        """Read a whole varint whose first byte is in `variable`."""
        with self._source.block(f"if {variable} > 127:"):
            self._source.line(f"{variable}, position = read_uvarint(buffer, position - 1)")


@cache
def _unpacker(codes: str) -> Callable[..., tuple[object, ...]]:
    """Return `struct.unpack_from` for big-endian values of these types."""
    return struct.Struct(f">{codes}").unpack_from


def _identifier(codes: str) -> str:
    """Return the codes as a part of a name."""
    return codes.replace("?", "bool_")


def _last(target: str) -> str:
    """Return the last name of a dotted target."""
    return target.rpartition(".")[2]
