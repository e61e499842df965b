"""Every record type in every version, and messages in which no two fields have the same value."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count
from typing import Any

import pytest

from raft.codec import BOOL, FLOAT64, UUID, Message
from raft.codec.schema import AnyType, Array, Field, Struct, Structure
from raft.codec.types import Blob, Fixed, Text
from raft.metadata.record_types import RECORD_TYPES, RecordType
from raft.uuids import format_uuid

EDITIONS = tuple(
    (record_type, version)
    for record_type in RECORD_TYPES.values()
    for version in record_type.message_class.__schema__.versions
)
"""Type and version."""

every_edition = pytest.mark.parametrize(
    ("record_type", "version"),
    [pytest.param(record_type, version, id=f"{record_type.name}-v{version}") for record_type, version in EDITIONS],
)


def numbered(message_class: type[Message], version: int) -> Any:
    """A message whose numbers, strings, bytes and ids all differ, and whose fields do not have their defaults."""
    return _struct(message_class.__struct__, version, count(1))


def with_nulls(message_class: type[Message], version: int) -> Any:
    """The same message with null in every field that may be null."""
    return _struct(message_class.__struct__, version, count(1), is_null=True)


def of_record_type(record_type: RecordType, version: int) -> Iterator[Message]:
    """Messages of one version: with values, with nulls, and with tagged fields that are not known."""
    yield numbered(record_type.message_class, version)
    yield with_nulls(record_type.message_class, version)
    yield with_unknown_tags(numbered(record_type.message_class, version))


def with_unknown_tags(message: Any) -> Any:
    """The message with two tagged fields of a newer Kafka."""
    description = type(message).__struct__
    values = {field.name: getattr(message, field.name) for field in description.fields}
    return description.message_class(**values, unknown_tags=((90, b"newer"), (200, b"")))


def _struct(description: Struct, version: int, numbers: Iterator[int], *, is_null: bool = False) -> Any:
    present = [field for field in description.fields if version in field.versions]
    return description.message_class(
        **{field.name: _field(field, version, numbers, is_null=is_null) for field in present}
    )


def _field(field: Field, version: int, numbers: Iterator[int], *, is_null: bool) -> object:
    if is_null and version in field.nullable:
        return None
    if field.type is BOOL:
        return field.default is not True
    return _value(field.type, version, numbers, is_null=is_null)


def _value(type: AnyType, version: int, numbers: Iterator[int], *, is_null: bool) -> object:
    match type:
        case Fixed():
            number = next(numbers)
            if type is UUID:
                return format_uuid(number.to_bytes(16, "big"))
            return number + 0.5 if type is FLOAT64 else number
        case Text():
            return f"text {next(numbers)}"
        case Blob():
            return b"bytes %d" % next(numbers)
        case Array():
            return tuple(_value(type.element, version, numbers, is_null=is_null) for _ in range(2))
        case Structure():
            return _struct(type.struct, version, numbers, is_null=is_null)
