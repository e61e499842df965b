"""The walk over the record batches of a fetch response: their headers, and their checksums.

Their layout is drawn in `raft.records.header`. This walk makes a table of them instead of objects, because small
batches are the rule in a metadata log and their headers a good part of the work.
"""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
from crc32c import crc32c

from raft.errors import CorruptBatchError, DecodeError
from raft.records.header import CHECKED_FROM, HEADER, LENGTH_END, MAGIC
from raft.types import Offset

MAX_OFFSET = 2**63 - 1

BATCH = np.dtype(
    [
        (name, np.int64)
        for name in (
            "records_start",
            "records_end",
            "record_count",
            "base_offset",
            "last_offset_delta",
            "base_timestamp_ms",
            "max_timestamp_ms",
            "attributes",
            "epoch",
            "row_count",
        )
    ]
)
"""One batch to decode, laid out as the kernel's `struct batch`. `row_count` is what decoding found in it."""

Batches: TypeAlias = np.ndarray[tuple[int], np.dtype[Any]]
"""A table of `BATCH`."""


def walk_batches(data: bytes) -> tuple[Batches, Offset | None]:
    """Find the whole batches in `data`, one after the other from its first byte on, and check each.

    A batch that is cut off at the end, as fetch responses have it, ends the walk silently.

    Returns:
        The batches, and the offset after the last one; None if there is not one whole batch.

    Raises:
        CorruptBatchError: a checksum is wrong.
        DecodeError: the header of a batch cannot be, or its offsets begin before the end of the batch before it.
    """
    view = memoryview(data)
    rows = []
    start, next_offset = 0, 0
    while len(view) - start >= HEADER.size:
        header = HEADER.unpack_from(view, start)
        base_offset, length, epoch, magic, checksum, attributes, last_offset_delta = header[:7]
        base_timestamp_ms, max_timestamp_ms, record_count = header[7], header[8], header[-1]
        end = start + LENGTH_END + length
        if length < HEADER.size - LENGTH_END or magic != MAGIC:
            raise DecodeError(f"batch at offset {base_offset}: length {length} and magic {magic} are no batch of v2")
        if end > len(view):
            break
        if crc32c(view[start + CHECKED_FROM : end]) != checksum:
            raise CorruptBatchError(f"batch at offset {base_offset}, byte {start} of the response: wrong checksum")
        if min(last_offset_delta, record_count) < 0 or base_offset + last_offset_delta >= MAX_OFFSET:
            counts = f"last offset delta {last_offset_delta} and record count {record_count}"
            raise DecodeError(f"batch at offset {base_offset}: {counts} cannot be")
        if base_offset < next_offset:
            raise DecodeError(f"batch at offset {base_offset}: the one before it ends at {next_offset}")
        place = (start + HEADER.size, end, record_count, base_offset, last_offset_delta)
        rows.append((*place, base_timestamp_ms, max_timestamp_ms, attributes, epoch, 0))
        start, next_offset = end, base_offset + last_offset_delta + 1
    table = np.array(rows, np.int64).reshape(-1).view(BATCH)
    return table, Offset(next_offset) if rows else None
