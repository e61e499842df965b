"""The schema of a message, as data. The codec is generated from it.

It uses the words of Kafka's JSON message files, so each of those files can be expressed in it.
`raft.codec.declaration` builds it from typed classes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeAlias, assert_never

from raft.codec.types import Blob, Fixed, Text, Value, WireType
from raft.codec.versions import Versions


@dataclass(frozen=True, slots=True)
class Array(WireType[tuple[Value, ...]]):
    """Any number of values of one type, none of them null. Kafka has no arrays of arrays."""

    element: Fixed[Any] | Text | Blob | Structure[Any]


@dataclass(frozen=True, slots=True)
class Structure(WireType[Value]):
    """The fields of a struct, as the type of one value."""

    struct: Struct


AnyType: TypeAlias = Fixed[Any] | Text | Blob | Array[Any] | Structure[Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Field:
    """One field of a struct.

    Fields:
        name: of its attribute.
        type: on the wire.
        versions: the versions of the message that have it.
        nullable: the versions in which it may be null.
        tag: its number among the tagged fields, or None.
        tagged: the versions in which it is tagged: left out if it has its default, otherwise after the other fields.
        default: its value in a message without it; unused for a field that all versions have.
        ignorable: whether a version without it drops any value silently; otherwise that is an error (COMPAT-2).
        flexible: the versions that encode its length as a varint; None for those of the message. Only the client id
            has its own.
    """

    name: str
    type: AnyType
    versions: Versions
    nullable: Versions
    tag: int | None
    tagged: Versions
    default: Any
    ignorable: bool
    flexible: Versions | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Struct:
    """A group of fields, and the class of the values.

    Fields:
        name: of the class.
        fields: in the order of the wire.
        message_class: the class that decoding returns.
        draft_class: a class with the same slots whose attributes can be assigned. Decoding fills a draft and then sets
            its `__class__` to the message class, because filling a frozen class takes three times as long.
    """

    name: str
    fields: tuple[Field, ...]
    message_class: type[Any]
    draft_class: type[Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Schema:
    """A whole message: its fields, its versions, and which of them are flexible (KIP-482).

    `api_key` is that of a request or response, or the type of a metadata record. Headers and control records have none.
    """

    struct: Struct
    versions: Versions
    flexible: Versions
    api_key: int | None = None

    @property
    def is_request(self) -> bool:
        """Whether it is a request."""
        return self.api_key is not None and self.struct.name.endswith("Request")


@dataclass(frozen=True, slots=True)
class Edition:
    """A version of a message, and whether it is flexible."""

    version: int
    flexible: bool

    def of_field(self, field: Field) -> Edition:
        """Return the edition with which a field is encoded."""
        return self if field.flexible is None else Edition(self.version, self.version in field.flexible)


@dataclass(frozen=True, slots=True)
class StructLayout:
    """A struct as one version has it.

    Fields:
        untagged: the fields that are always encoded, in order.
        tagged: the tagged fields, by tag.
        absent: the fields that the version lacks.
    """

    untagged: tuple[Field, ...]
    tagged: tuple[Field, ...]
    absent: tuple[Field, ...]

    @classmethod
    def of(cls, struct: Struct, version: int) -> StructLayout:
        """Return the layout of a struct in one version of its message."""
        present = [field for field in struct.fields if version in field.versions]
        return cls(
            untagged=tuple(field for field in present if version not in field.tagged),
            tagged=tuple(
                sorted((field for field in present if version in field.tagged), key=lambda field: field.tag or 0)
            ),
            absent=tuple(field for field in struct.fields if version not in field.versions),
        )


def minimum_size_bytes(type: AnyType, edition: Edition) -> int:
    """Return the smallest size of a value of a type, which each element of an array has at least."""
    match type:
        case Fixed():
            return type.size_bytes
        case Text():
            return 1 if edition.flexible else 2
        case Blob() | Array():
            return 1 if edition.flexible else 4
        case Structure():
            untagged = StructLayout.of(type.struct, edition.version).untagged
            tag_count = 1 if edition.flexible else 0
            return tag_count + sum(_minimum_of_field(field, edition) for field in untagged)
        case _:
            assert_never(type)


def _minimum_of_field(field: Field, edition: Edition) -> int:
    if edition.version in field.nullable and isinstance(field.type, Structure):
        return 1
    return minimum_size_bytes(field.type, edition.of_field(field))
