"""The types of single values on the wire; `raft.codec.schema` adds those that are made of others.

    type        flexible versions            older versions
    string      uvarint length+1, UTF-8      int16 length, UTF-8
    bytes,      uvarint length+1, bytes      int32 length, bytes
    records
    array       uvarint count+1, elements    int32 count, elements
    struct      its fields, tagged fields    its fields

Null is length 0 in flexible versions and -1 in older ones. A nullable struct has an int8 before it, -1 for null and 1
otherwise (KIP-893). All other types have a fixed size, are big-endian and never null.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import Generic, TypeVar

from raft.types import Uuid

Value = TypeVar("Value")

MAX_STRING_BYTES = 0x7FFF
"""The largest length in the oldest versions. Kafka writes and reads no longer strings in any version."""


class WireType(Generic[Value]):
    """A type on the wire, `Value` in Python: Fixed, Text or Blob here, Array or Structure in `raft.codec.schema`."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class Fixed(WireType[Value]):
    """A value of fixed size: `code` is its type in the notation of the `struct` module."""

    code: str

    @property
    def size_bytes(self) -> int:
        """Bytes of one value."""
        return struct.calcsize(f">{self.code}")


@dataclass(frozen=True, slots=True)
class Text(WireType[str]):
    """A string of at most MAX_STRING_BYTES bytes of UTF-8."""


@dataclass(frozen=True, slots=True)
class Blob(WireType[bytes]):
    """Any number of bytes: "bytes" or "records" in Kafka's files, which are the same on the wire."""


BOOL: Fixed[bool] = Fixed("?")
INT8: Fixed[int] = Fixed("b")
INT16: Fixed[int] = Fixed("h")
INT32: Fixed[int] = Fixed("i")
INT64: Fixed[int] = Fixed("q")
UINT16: Fixed[int] = Fixed("H")
UINT32: Fixed[int] = Fixed("I")
FLOAT64: Fixed[float] = Fixed("d")
UUID: Fixed[Uuid] = Fixed("16s")
STRING = Text()
BYTES = Blob()
RECORDS = Blob()
