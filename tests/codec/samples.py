"""One message of every class and version, with something in every field."""

from __future__ import annotations

from typing import Any, TypeVar

from raft.codec import BOOL, FLOAT64, UUID, Message
from raft.codec.schema import AnyType, Array, Field, Struct, Structure
from raft.codec.types import Blob, Fixed, Text
from raft.types import Uuid

AnyMessage = TypeVar("AnyMessage", bound=Message)


def sample(message_class: type[AnyMessage], version: int) -> AnyMessage:
    """A message with a value other than the usual default in every field that the version has."""
    value: AnyMessage = _struct(message_class.__struct__, version)
    return value


def sample_value(field: Field, version: int) -> object:
    """A value of one field, other than the usual default."""
    return _value(field.type, version, field)


def _struct(description: Struct, version: int) -> Any:
    present = [field for field in description.fields if version in field.versions]
    return description.message_class(**{field.name: sample_value(field, version) for field in present})


def _value(type: AnyType, version: int, field: Field) -> object:
    match type:
        case Fixed():
            if type is BOOL:
                return field.default is not True
            return {FLOAT64: 2.5, UUID: Uuid("AAECAwQFBgcICQoLDA0ODw")}.get(type, 7)
        case Text():
            return field.name
        case Blob():
            return b"some bytes"
        case Array():
            return tuple(_value(type.element, version, field) for _ in range(2))
        case Structure():
            return _struct(type.struct, version)
