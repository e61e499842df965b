"""Finding one's way among stored batches by their offsets and sizes alone, without reading anything else of them.

Checksums are not verified here: whoever stored the bytes has done that, and whoever gets them will.
"""

from __future__ import annotations

import struct

from raft.errors import DecodeError
from raft.records.header import HEADER, LENGTH_END
from raft.types import Offset

PLACE_BYTES = 27
"""How much of a batch tells its offsets and its size: up to its last offset delta."""

_BASE_OFFSET_AND_LENGTH = struct.Struct(">qi")
_LAST_OFFSET_DELTA = struct.Struct(">i")
_LAST_OFFSET_DELTA_AT = PLACE_BYTES - _LAST_OFFSET_DELTA.size


def place_at(buffer: bytes, position: int) -> tuple[int, int]:
    """Return the last offset and the size of the batch at `position`, of which PLACE_BYTES are there.

    Raises:
        DecodeError: no batch is that small. Without this a damaged length could lead a walk round in circles.
    """
    base_offset, length = _BASE_OFFSET_AND_LENGTH.unpack_from(buffer, position)
    (last_offset_delta,) = _LAST_OFFSET_DELTA.unpack_from(buffer, position + _LAST_OFFSET_DELTA_AT)
    size_bytes = LENGTH_END + length
    if size_bytes < HEADER.size:
        raise DecodeError(f"batch of {size_bytes} bytes")
    return base_offset + last_offset_delta, size_bytes


def skip_to(buffer: bytes, offset: Offset) -> int:
    """Return where the first batch begins that ends after `offset`.

    Args:
        buffer: batches, the first one no later than that; the last one may be cut short.
        offset: the one looked for.

    Returns:
        A position from which less than PLACE_BYTES are left if no batch whose place can be read is the one: it begins
        there or later.

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


def take_until(buffer: bytes, position: int, *, max_bytes: int, end_offset: Offset) -> int:
    """Return where the last whole batch ends that lies within all bounds; `position` itself if there is none.

    Args:
        buffer: batches, the last one may be cut short.
        position: where the first one begins.
        max_bytes: most that all of them may take.
        end_offset: none may reach beyond this.

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
