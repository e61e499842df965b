"""Encodes Arrow record batches as one Kafka record batch (magic v2), for Produce."""

from __future__ import annotations

import struct
from collections.abc import Sequence

import numpy as np
import pyarrow as pa
from crc32c import crc32c

from datasource.columns.kernel import Kernel
from datasource.columns.load import load_kernel
from datasource.columns.rows import RecordBatches, Rows, chunks_of
from raft.errors import ErrorCode, RequestError
from raft.records.batch import UNPLACED_EPOCH
from raft.records.header import CHECKED_FROM, HEADER, LENGTH_END, MAGIC

CHECKSUM = struct.Struct(">I")

MAX_BATCH_BYTES = 2**31 - 1 + LENGTH_END
"""The largest batch whose length fits into the header."""


def encoded_size(record_batches: RecordBatches, *, kernel: Kernel | None = None) -> int:
    """Return the exact size of the batch that `encode_batch` returns for these rows.

    A leader compares this size, with the header, with `message.max.bytes`.

    Args:
        record_batches: see `encode_batch`.
        kernel: see `encode_batch`.

    Raises:
        TypeError, ValueError: the rows cannot be written; see `Rows.of`.
    """
    return HEADER.size + sum(_sizes(list(chunks_of(record_batches)), kernel or load_kernel()))


def encode_batch(
    record_batches: RecordBatches,
    *,
    producer_id: int | None,
    producer_epoch: int = -1,
    base_sequence: int = -1,
    timestamp_ms: int,
    max_bytes: int,
    kernel: Kernel | None = None,
) -> bytes:
    """Return one record batch with all rows, in their order.

    Args:
        record_batches: one or more rows, with columns as in `Rows.of`.
        producer_id: with producer_epoch and base_sequence the key of the write; None for a write without a key.
        producer_epoch: -1 for none.
        base_sequence: -1 for none.
        timestamp_ms: timestamp of every record: Java's Raft readers expect timestamp deltas of 0 (LOG-4).
        max_bytes: largest size of the batch.
        kernel: for tests; None takes `load_kernel()`.

    Returns:
        The batch, not compressed. Its base offset is 0 and its epoch -1; the leader replaces both.

    Raises:
        RequestError: MESSAGE_TOO_LARGE, with the size of the batch.
        TypeError, ValueError: there are no rows, or they cannot be written; see `Rows.of`.
    """
    kernel = kernel or load_kernel()
    chunks = list(chunks_of(record_batches))
    row_count = sum(rows.row_count for rows in chunks)
    if not row_count:
        raise ValueError("a record batch holds at least one record")
    sizes = _sizes(chunks, kernel)
    size = HEADER.size + sum(sizes)
    if size > min(max_bytes, MAX_BATCH_BYTES):
        reason = f"{row_count} rows make a batch of {size} bytes, expected at most {max_bytes}"
        raise RequestError(ErrorCode.MESSAGE_TOO_LARGE, reason)
    # Arrow's pool has this memory already. New memory would take several times as long as the encoding.
    batch = np.frombuffer(pa.allocate_buffer(size), np.uint8)
    position, offset_delta = HEADER.size, 0
    for rows, chunk_size in zip(chunks, sizes, strict=True):
        kernel.encode(rows, first_offset_delta=offset_delta, output=batch[position : position + chunk_size])
        position += chunk_size
        offset_delta += rows.row_count
    writer = (-1 if producer_id is None else producer_id, producer_epoch, base_sequence)
    _write_header(batch.data, row_count=row_count, timestamp_ms=timestamp_ms, writer=writer)
    return batch.tobytes()


def _write_header(batch: memoryview, *, row_count: int, timestamp_ms: int, writer: tuple[int, int, int]) -> None:
    """Write the header of a batch whose records are in place; `writer` has its three producer fields."""
    HEADER.pack_into(
        batch,
        0,
        0,  # base offset
        len(batch) - LENGTH_END,
        UNPLACED_EPOCH,
        MAGIC,
        0,  # checksum, which is written last
        0,  # attributes
        row_count - 1,
        timestamp_ms,
        timestamp_ms,
        *writer,
        row_count,
    )
    CHECKSUM.pack_into(batch, CHECKED_FROM - CHECKSUM.size, crc32c(batch[CHECKED_FROM:]))


def _sizes(chunks: Sequence[Rows], kernel: Kernel) -> list[int]:
    """Return the size of each chunk as records; offset deltas go on from chunk to chunk."""
    sizes = []
    offset_delta = 0
    for rows in chunks:
        sizes.append(kernel.encoded_size(rows, first_offset_delta=offset_delta))
        offset_delta += rows.row_count
    return sizes
