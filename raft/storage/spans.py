"""Finds stored batches by their offsets and sizes, without reading anything else of them.

Checksums are not checked here: they were checked when the batches were stored, and readers check them again.
"""

from __future__ import annotations

from raft.records.header_fields import PLACE_BYTES, PRODUCER_ID, place_at, whole_batches
from raft.types import Offset


def skip_to(buffer: bytes, offset: Offset) -> int:
    """Return the position of the batch that holds `offset`.

    Args:
        buffer: batches, the last one perhaps incomplete; the first one does not begin after `offset`.
        offset: the offset.

    Returns:
        A position with less than PLACE_BYTES after it if the batch begins there or later.

    Raises:
        DecodeError: a batch is damaged.
    """
    position = 0
    while position + PLACE_BYTES <= len(buffer):
        _base_offset, last_offset, size_bytes = place_at(buffer, position)
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
        _base_offset, last_offset, size_bytes = place_at(batches, position)
        position += size_bytes
        if position <= len(batches):
            end_offset = last_offset + 1
    return Offset(end_offset)


def producer_ids_of(batches: bytes) -> set[int]:
    """Return the producer ids of whole batches; -1 for none.

    Raises:
        DecodeError: a batch is damaged.
    """
    return {fields[PRODUCER_ID] for _start, _end, fields in whole_batches(batches)}


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
        _base_offset, last_offset, size_bytes = place_at(buffer, position)
        if position + size_bytes > limit or last_offset >= end_offset:
            break
        position += size_bytes
    return position
