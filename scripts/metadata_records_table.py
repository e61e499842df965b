"""Writes docs/metadata-records.md: every record type of `__cluster_metadata`, from the classes in `raft.metadata`.

python -m scripts.metadata_records_table            writes the document
python -m scripts.metadata_records_table --check    writes nothing; the exit code is 1 if it is out of date

What a field means is in the section `Fields:` of the docstring of its class.
"""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Iterator

from raft.codec import BOOL, BYTES, FLOAT64, INT8, INT16, INT32, INT64, STRING, UINT16, UUID, Message
from raft.codec.schema import AnyType, Array, Field, Structure
from raft.codec.versions import Versions
from raft.metadata.record_types import RECORD_TYPES, RecordType
from scripts.options_table import write_or_check
from scripts.rule_citations import ROOT

DOCUMENT = ROOT / "docs" / "metadata-records.md"

_HEAD = """\
# Metadata records

The records of `__cluster_metadata`, the log in which the controllers of a Kafka cluster keep its metadata. Made by
`python -m scripts.metadata_records_table` from `raft/metadata/records`.

The value of a record is a frame version (1), a type and a version, each an unsigned varint, and the message
([META-1](rules.md)). All messages are flexible (KIP-482): lengths are unsigned varints, and fields with a tag are left
out if they have their default. A reader keeps records of types and versions that it does not know as bytes. No record
says which user has caused it."""

_TYPES = {
    BOOL: "bool",
    BYTES: "bytes",
    FLOAT64: "float64",
    INT8: "int8",
    INT16: "int16",
    INT32: "int32",
    INT64: "int64",
    STRING: "string",
    UINT16: "uint16",
    UUID: "uuid",
}
_ENTRY = re.compile(r"^    (\S[^:]*): (.*)$")


def document() -> str:
    """Return the content of the document."""
    record_types = [RECORD_TYPES[type_id] for type_id in sorted(RECORD_TYPES)]
    overview = [
        "| type | name | versions | meaning |",
        "|---|---|---|---|",
        *(
            f"| {each.id} | [{each.name}](#{each.name.lower()}) | {_versions(each)} | {_summary(each.message_class)} |"
            for each in record_types
        ),
    ]
    return "\n\n".join((_HEAD, "\n".join(overview), *map(_section, record_types))) + "\n"


def meanings_of_fields(message_class: type[Message]) -> dict[str, str]:
    """Return what the docstring of a class says of each of its fields.

    Raises:
        ValueError: it does not name exactly the fields of the class, in their order.
    """
    _, _, section = (inspect.getdoc(message_class) or "").partition("\nFields:\n")
    meanings: dict[str, str] = {}
    name = ""
    for line in section.splitlines():
        entry = _ENTRY.match(line)
        if entry:
            name, meanings[entry[1]] = entry[1], entry[2]
        else:
            meanings[name] += f" {line.strip()}"
    fields = [field.name for field in message_class.__struct__.fields]
    if list(meanings) != fields:
        raise ValueError(f"{message_class.__name__}: its docstring explains {list(meanings)}, its fields are {fields}")
    return meanings


def _section(record_type: RecordType) -> str:
    noun = "version" if record_type.lowest_version == record_type.highest_version else "versions"
    blocks = [f"## {record_type.name}", f"Type {record_type.id}, {noun} {_versions(record_type)}."]
    blocks += (inspect.getdoc(record_type.message_class) or "").partition("\n\nFields:")[0].split("\n\n")
    if record_type.message_class.__struct__.fields:
        blocks.append("\n".join(_rows(record_type.message_class, record_type, "")))
    return "\n\n".join(blocks)


def _rows(message_class: type[Message], record_type: RecordType, prefix: str) -> Iterator[str]:
    if not prefix:
        yield "| field | type | versions | tag | meaning |"
        yield "|---|---|---|---|---|"
    meanings = meanings_of_fields(message_class)
    for field in message_class.__struct__.fields:
        versions = Versions(max(field.versions.lowest, record_type.lowest_version), record_type.highest_version)
        tag = "" if field.tag is None else f" {field.tag}"
        name = f"`{prefix}{field.name}`"
        yield f"| {name} | {_type(field)} | {versions} |{tag} | {meanings[field.name].removesuffix('.')} |"
        element = field.type.element if isinstance(field.type, Array) else field.type
        if isinstance(element, Structure):
            yield from _rows(element.struct.message_class, record_type, f"{prefix}{field.name}.")


def _type(field: Field) -> str:
    default = "" if field.tag is None else f", default {_default(field.default)}"
    return f"{_name(field.type)}{' or null' if field.nullable.highest >= 0 else ''}{default}"


def _name(type: AnyType) -> str:
    match type:
        case Array():
            return f"array of {_name(type.element)}"
        case Structure():
            return "struct"
        case _:
            return _TYPES[type]


def _default(value: object) -> str:
    return {None: "null", (): "empty"}.get(value, str(value))  # type: ignore[call-overload, no-any-return]


def _versions(record_type: RecordType) -> str:
    return str(Versions(record_type.lowest_version, record_type.highest_version))


def _summary(message_class: type[Message]) -> str:
    first_line = (inspect.getdoc(message_class) or "").splitlines()[0]
    return first_line.partition(". ")[0].removesuffix(".")


def main(arguments: list[str] | None = None) -> int:
    """Write or check the document; return the exit code."""
    return write_or_check(DOCUMENT, document(), "scripts.metadata_records_table", arguments)


if __name__ == "__main__":
    sys.exit(main())
