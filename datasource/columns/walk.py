"""Reads the headers of the record batches in a fetch response, and checks their checksums.

The layout of a header is in `raft.records.header`. The result is a table instead of objects, because most batches of a
metadata log are small, and their headers are a large part of the work.
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
"""One batch to decode, in the layout of `struct batch` of the kernel. Decoding sets `row_count`."""

Batches: TypeAlias = np.ndarray[tuple[int], np.dtype[Any]]
"""A table of `BATCH`."""


def walk_batches(data: bytes) -> tuple[Batches, Offset | None]:
    """Return the whole batches in `data`, after a check of each; a partial batch at the end is ignored.

    Returns:
        The batches, and the offset after the last one; None if there is no whole batch.

    Raises:
        CorruptBatchError: a checksum is wrong.
        DecodeError: a header is malformed, or a batch begins before the end of the one before it.
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
            raise DecodeError(
                f"batch at offset {base_offset}: length {length} and magic {magic}, expected magic {MAGIC}"
            )
        if end > len(view):
            break
        if crc32c(view[start + CHECKED_FROM : end]) != checksum:
            raise CorruptBatchError(f"batch at offset {base_offset}, byte {start} of the response: wrong checksum")
        if min(last_offset_delta, record_count) < 0 or base_offset + last_offset_delta >= MAX_OFFSET:
            counts = f"last offset delta {last_offset_delta} and record count {record_count}"
            raise DecodeError(f"batch at offset {base_offset}: {counts} are impossible")
        if base_offset < next_offset:
            raise DecodeError(f"batch at offset {base_offset}: the one before it ends at {next_offset}")
        place = (start + HEADER.size, end, record_count, base_offset, last_offset_delta)
        rows.append((*place, base_timestamp_ms, max_timestamp_ms, attributes, epoch, 0))
        start, next_offset = end, base_offset + last_offset_delta + 1
    table = np.array(rows, np.int64).reshape(-1).view(BATCH)
    return table, Offset(next_offset) if rows else None
