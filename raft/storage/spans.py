"""Finds stored batches by their offsets and sizes, without reading anything else of them.

Checksums are not checked here: they were checked when the batches were stored, and readers check them again.
"""

from __future__ import annotations

import struct

from raft.errors import DecodeError
from raft.records.header import HEADER, LENGTH_END
from raft.types import Offset

PLACE_BYTES = 27
"""Bytes of a batch that hold its offsets and its size: up to its last offset delta."""

_BASE_OFFSET_AND_LENGTH = struct.Struct(">qi")
_BASE_OFFSET = struct.Struct(">q")
_LAST_OFFSET_DELTA = struct.Struct(">i")
_PRODUCER_ID = struct.Struct(">q")
_PRODUCER_ID_AT = 43
_LAST_OFFSET_DELTA_AT = PLACE_BYTES - _LAST_OFFSET_DELTA.size


def place_at(buffer: bytes, position: int) -> tuple[int, int]:
    """Return the last offset and the size of the batch at `position`.

    Args:
        buffer: has PLACE_BYTES or more from `position` on.
        position: of the batch.

    Raises:
        DecodeError: the size is too small for a batch. Without this check a damaged length could make a loop endless.
    """
    base_offset, length = _BASE_OFFSET_AND_LENGTH.unpack_from(buffer, position)
    (last_offset_delta,) = _LAST_OFFSET_DELTA.unpack_from(buffer, position + _LAST_OFFSET_DELTA_AT)
    size_bytes = LENGTH_END + length
    if size_bytes < HEADER.size:
        raise DecodeError(f"batch of {size_bytes} bytes")
    return base_offset + last_offset_delta, size_bytes


def bounds_at(buffer: bytes, position: int) -> tuple[int, int, int]:
    """Return base offset, last offset and size of the batch at `position`; see `place_at`."""
    (base_offset,) = _BASE_OFFSET.unpack_from(buffer, position)
    return (base_offset, *place_at(buffer, position))


def skip_to(buffer: bytes, offset: Offset) -> int:
    """Return the position of the batch that holds `offset`.

    Args:
        buffer: batches, the last one perhaps incomplete; the first one does not begin after `offset`.
        offset: the offset.

    Returns:
        A position with less than PLACE_BYTES behind it if the batch begins there or later.

    Raises:
        DecodeError: a batch is damaged.
    """
    position = 0
    while position + PLACE_BYTES <= len(buffer):
        last_offset, size_bytes = place_at(buffer, position)
        if last_offset >= offset:
            break
        position += size_bytes
    return position


def end_offset_of(batches: bytes) -> Offset:
    """Return the end offset of the last whole batch; 0 if there is none.

    Raises:
        DecodeError: a batch is damaged.
    """
    position = end_offset = 0
    while position + PLACE_BYTES <= len(batches):
        last_offset, size_bytes = place_at(batches, position)
        position += size_bytes
        if position <= len(batches):
            end_offset = last_offset + 1
    return Offset(end_offset)


def producer_ids_of(batches: bytes) -> set[int]:
    """Return the producer ids of whole batches; -1 for none.

    Raises:
        DecodeError: a batch is damaged.
    """
    position = 0
    found = set()
    while position + HEADER.size <= len(batches):
        found.add(_PRODUCER_ID.unpack_from(batches, position + _PRODUCER_ID_AT)[0])
        position += place_at(batches, position)[1]
    return found


def take_until(buffer: bytes, position: int, *, max_bytes: int, end_offset: Offset) -> int:
    """Return the end of the last whole batch that lies within all bounds; `position` if there is none.

    Args:
        buffer: batches, the last one perhaps incomplete.
        position: of the first batch.
        max_bytes: largest size of the batches together.
        end_offset: no batch ends after this.

    Raises:
        DecodeError: a batch is damaged.
    """
    limit = min(len(buffer), position + max_bytes)
    while position + PLACE_BYTES <= limit:
        last_offset, size_bytes = place_at(buffer, position)
        if position + size_bytes > limit or last_offset >= end_offset:
            break
        position += size_bytes
    return position
