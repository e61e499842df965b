"""Generates the encoder of one version of a message: a function that emits the bytes in pieces.

    encode(message, emit)       emit: takes the next piece

Each large byte field is a piece by itself, so joining the pieces copies it once. For a wrong value the function raises
struct.error, ValueError, TypeError or AttributeError; `raft.codec.codec` makes a LocalProtocolError of them.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from functools import cache
from typing import assert_never

from raft.codec.schema import AnyType, Array, Edition, Field, Schema, Struct, StructLayout, Structure
from raft.codec.source import Compiled, GeneratedSource, Run
from raft.codec.types import MAX_STRING_BYTES, UUID, Blob, Fixed, Text
from raft.codec.varint import UVARINTS, encode_uvarint
from raft.uuids import uuid_bytes


def tagged_field(tag: int, value: bytes) -> bytes:
    """Return the bytes of a tagged field: tag, size, value."""
    return encode_uvarint(tag) + encode_uvarint(len(value)) + value


def emit_tags(emit: Callable[[bytes], None], known: dict[int, bytes], unknown: tuple[tuple[int, bytes], ...]) -> None:
    """Write the tagged fields of a struct, lowest tag first.

    Args:
        emit: takes the pieces.
        known: the bytes of the fields that the version has, lowest tag first.
        unknown: tags and values of other fields; one with a tag that the version has is ignored.
    """
    fields = known
    if unknown:
        others = {tag: tagged_field(tag, value) for tag, value in unknown}
        fields = dict(sorted((others | known).items()))
    emit(encode_uvarint(len(fields)))
    emit(b"".join(fields.values()))


_NAMESPACE = {
    "emit_tags": emit_tags,
    "encode_uvarint": encode_uvarint,
    "join": b"".join,
    "pack_array": struct.pack,
    "tagged_field": tagged_field,
    "uuid_bytes": uuid_bytes,
    "uvarints": UVARINTS,
}


def write_encoder(schema: Schema, version: int) -> Compiled:
    """Generate and compile the encoder of one version."""
    return _Encoder(schema, version).compile()


class _Encoder:
    """Generates the lines that pass one version to `emit`."""

    def __init__(self, schema: Schema, version: int) -> None:
        self._struct = schema.struct
        self._edition = Edition(version, version in schema.flexible)
        title = f"encode {schema.struct.name} v{version}"
        self._source = GeneratedSource(title, "encode(message, emit)", _NAMESPACE, self._write_run)

    def compile(self) -> Compiled:
        """Generate the whole function."""
        self._write_struct(self._struct, "message")
        return self._source.compile()

    def _write_struct(self, description: Struct, holder: str) -> None:
        """Write the struct in the variable `holder`."""
        source, layout = self._source, StructLayout.of(description, self._edition.version)
        for field in layout.absent:
            if not field.ignorable:
                self._check_absent(field, f"{holder}.{field.name}")
        for field in layout.untagged:
            with source.serving(field.name):
                self._write_field(field, f"{holder}.{field.name}", null_marker=b"\xff")
        if self._edition.flexible:
            self._write_tags(layout.tagged, holder)
        else:
            with source.block(f"if {holder}.unknown_tags:"):
                source.line("raise ValueError('this version has no tagged fields')")

    def _check_absent(self, field: Field, value: str) -> None:
        source = self._source
        with source.serving(field.name), source.block(f"if {self._differs(field, field.default, value)}:"):
            source.line("raise ValueError('this version has no such field, and its value is not the default')")

    def _differs(self, field: Field, default: object, value: str) -> str:
        """Return the condition that `value` is not `default`."""
        if default is None:
            return f"{value} is not None"
        if not isinstance(field.type, Structure):
            return f"{value} != {self._source.constant(f'default_{field.name}', default)}"
        conditions = [f"{value} is None"] if self._edition.version in field.nullable else []
        for inner in field.type.struct.fields:
            conditions.append(self._differs(inner, getattr(default, inner.name), f"{value}.{inner.name}"))
        return " or ".join([*conditions, f"{value}.unknown_tags"])

    def _write_run(self, run: Run) -> list[str]:
        values = [f"uuid_bytes({part.expression})" if part.code == UUID.code else part.expression for part in run]
        codes = "".join(part.code for part in run)
        if codes == UUID.code:
            return [f"emit({values[0]})"]
        return [f"emit({self._packer(codes)}({', '.join(values)}))"]

    def _write_field(self, field: Field, value: str, *, null_marker: bytes) -> None:
        """Write a field, which may be null."""
        source, edition = self._source, self._edition.of_field(field)
        if edition.version not in field.nullable:
            self._write_value(field.type, value, edition)
            return
        is_struct = isinstance(field.type, Structure)
        with source.block(f"if {value} is None:"):
            source.line(f"emit({null_marker if is_struct else _null(field.type, edition)!r})")
        with source.block("else:"):
            if is_struct:
                source.line(f"emit({UVARINTS[1]!r})")
            self._write_value(field.type, value, edition)

    def _write_value(self, type: AnyType, value: str, edition: Edition) -> None:
        """Write a value that is not null."""
        source = self._source
        match type:
            case Fixed():
                source.part(type.code, value)
            case Text():
                source.line(f"raw = {value}.encode()")
                with source.block(f"if len(raw) > {MAX_STRING_BYTES}:"):
                    source.line(f"raise ValueError('a string of more than {MAX_STRING_BYTES} bytes')")
                self._write_length("len(raw)", "h", edition)
                source.line("emit(raw)")
            case Blob():
                self._write_length(f"len({value})", "i", edition)
                source.line(f"emit({value})")
            case Array():
                self._write_length(f"len({value})", "i", edition)
                self._write_elements(type.element, value)
            case Structure():
                holder = source.local(value.rpartition(".")[2])
                source.line(f"{holder} = {value}")
                self._write_struct(type.struct, holder)
            case _:
                assert_never(type)

    def _write_length(self, length: str, code: str, edition: Edition) -> None:
        source = self._source
        if edition.flexible:
            source.line(f"length = {length} + 1")
            source.line("emit(uvarints[length] if length < 128 else encode_uvarint(length))")
        else:
            source.line(f"emit({self._packer(code)}({length}))")

    def _write_elements(self, element: AnyType, value: str) -> None:
        source = self._source
        if isinstance(element, Fixed) and element is not UUID:
            source.line(f"emit(pack_array(f'>{{len({value})}}{element.code}', *{value}))")
            return
        variable = source.local("element")
        with source.block(f"for {variable} in {value}:"):
            if isinstance(element, Structure):
                self._write_struct(element.struct, variable)
            else:
                self._write_value(element, variable, self._edition)

    def _write_tags(self, tagged: tuple[Field, ...], holder: str) -> None:
        source, unknown = self._source, f"{holder}.unknown_tags"
        known, has_tags = "{}", unknown
        if tagged:
            known = source.local("tags")
            has_tags = f"{known} or {unknown}"
            source.line(f"{known} = {{}}")
        for field in tagged:
            value = f"{holder}.{field.name}"
            with source.serving(field.name), source.block(f"if {self._differs(field, field.default, value)}:"):
                self._write_tag(field, value, known)
        with source.block(f"if {has_tags}:"):
            source.line(f"emit_tags(emit, {known}, {unknown})")
        with source.block("else:"):
            source.line(f"emit({UVARINTS[0]!r})")

    def _write_tag(self, field: Field, value: str, tags: str) -> None:
        """Add the bytes of a tagged field to the dict `tags`."""
        source = self._source
        pieces, outer = source.local("pieces"), source.local("emit")
        source.line(f"{outer} = emit")
        source.line(f"{pieces} = []")
        source.line(f"emit = {pieces}.append")
        self._write_field(field, value, null_marker=b"\x00")
        source.line(f"emit = {outer}")
        source.line(f"{tags}[{field.tag}] = tagged_field({field.tag}, join({pieces}))")

    def _packer(self, codes: str) -> str:
        return self._source.constant(f"pack_{codes.replace('?', 'bool_')}", packer(codes))


@cache
def packer(codes: str) -> Callable[..., bytes]:
    """Return `struct.pack` for big-endian values of these types."""
    return struct.Struct(f">{codes}").pack


def _null(type: AnyType, edition: Edition) -> bytes:
    if edition.flexible:
        return b"\x00"
    return b"\xff\xff" if isinstance(type, Text) else b"\xff\xff\xff\xff"
