"""Makes a table of the record batches in a fetch response, after a check of their headers and checksums.

It is a table instead of objects, because most batches of a metadata log are small, and their headers are a large part
of the work.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import Any, TypeAlias

import numpy as np
from crc32c import crc32c

from raft.errors import CorruptBatchError, DecodeError
from raft.records.header_fields import CHECKED_FROM, HEADER, PlainFields, fields_at, whole_batches
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

_pack_row = struct.Struct("=10q").pack

Batches: TypeAlias = np.ndarray[tuple[int], np.dtype[Any]]
"""A table of `BATCH`."""


def read_batch_table(data: bytes) -> tuple[Batches, Offset | None]:
    """Return the whole batches in `data`, after a check of each; a partial batch at the end is ignored.

    Returns:
        The batches, and the offset after the last one; None if there is no whole batch.

    Raises:
        CorruptBatchError: a checksum is wrong.
        DecodeError: a header is malformed, or a batch begins before the end of the one before it.
    """
    view = memoryview(data)
    rows = bytearray()
    next_offset = 0
    for start, end, fields in _named_batches(data):
        base_offset, _, epoch, _, checksum, attributes, last_offset_delta, base_ms, max_ms, _, _, _, record_count = (
            fields
        )
        if crc32c(view[start + CHECKED_FROM : end]) != checksum:
            raise CorruptBatchError(f"batch at offset {base_offset}, byte {start} of the response: wrong checksum")
        if last_offset_delta < 0 or record_count < 0 or base_offset + last_offset_delta >= MAX_OFFSET:
            counts = f"last offset delta {last_offset_delta} and record count {record_count}"
            raise DecodeError(f"batch at offset {base_offset}: {counts} are impossible")
        if base_offset < next_offset:
            raise DecodeError(f"batch at offset {base_offset}: the one before it ends at {next_offset}")
        place = (start + HEADER.size, end, record_count, base_offset, last_offset_delta)
        rows += _pack_row(*place, base_ms, max_ms, attributes, epoch, 0)
        next_offset = base_offset + last_offset_delta + 1
    if not rows:
        return np.empty(0, BATCH), None
    return np.frombuffer(rows, BATCH), Offset(next_offset)


def _named_batches(data: bytes) -> Iterator[tuple[int, int, PlainFields]]:
    """Yield what `whole_batches` yields; an error names the offset of the batch.

    Raises:
        DecodeError: see `whole_batches`.
    """
    end = 0
    try:
        for batch in whole_batches(data):
            yield batch
            end = batch[1]
    except DecodeError as error:
        raise DecodeError(f"batch at offset {fields_at(data, end).base_offset}: {error}") from error
