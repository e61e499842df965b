"""Encodes Arrow record batches as one Kafka record batch (magic v2), for Produce."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from datasource.columns.kernel import KERNEL, Kernel
from datasource.columns.rows import RecordBatches, Rows, chunks_of
from raft.errors import ErrorCode, refusal
from raft.records.batch import UNPLACED_EPOCH
from raft.records.header_fields import HEADER, LENGTH_END, TRANSACTIONAL, make_header

MAX_BATCH_BYTES = 2**31 - 1 + LENGTH_END
"""The largest batch whose length fits into the header."""


def encoded_size(record_batches: RecordBatches, *, kernel: Kernel = KERNEL) -> int:
    """Return the exact size of the batch that `encode_batch` returns for these rows.

    A leader compares this size, with the header, with `message.max.bytes`.

    Args:
        record_batches: see `encode_batch`.
        kernel: see `encode_batch`.

    Raises:
        TypeError, ValueError: the rows cannot be written; see `Rows.of`.
    """
    chunks = list(chunks_of(record_batches))
    return HEADER.size + sum(_sizes(chunks, kernel, _base_timestamp_ms(chunks, 0)))


def encode_batch(
    record_batches: RecordBatches,
    *,
    producer_id: int | None,
    producer_epoch: int = -1,
    base_sequence: int = -1,
    is_transactional: bool = False,
    timestamp_ms: int,
    max_bytes: int,
    kernel: Kernel = KERNEL,
) -> bytes:
    """Return one record batch with all rows, in their order.

    Args:
        record_batches: one or more rows, with columns as in `Rows.of`.
        producer_id: with producer_epoch and base_sequence the key of the write; None for a write without a key.
        producer_epoch: -1 for none.
        base_sequence: -1 for none.
        is_transactional: whether the batch belongs to a transaction.
        timestamp_ms: timestamp of every record: Java's Raft readers expect timestamp deltas of 0 (LOG-4). It is not
            used if the rows have the column `timestamp`.
        max_bytes: largest size of the batch.
        kernel: tests compare its results with those of another one.

    Returns:
        The batch, not compressed. Its base offset is 0 and its epoch -1; the leader replaces both.

    Raises:
        RequestError: MESSAGE_TOO_LARGE, with the size of the batch.
        TypeError, ValueError: there are no rows, or they cannot be written; see `Rows.of`.
    """
    chunks = list(chunks_of(record_batches))
    row_count = sum(rows.row_count for rows in chunks)
    if not row_count:
        raise ValueError("a record batch holds at least one record")
    base_timestamp_ms = _base_timestamp_ms(chunks, timestamp_ms)
    sizes = _sizes(chunks, kernel, base_timestamp_ms)
    size = HEADER.size + sum(sizes)
    if size > min(max_bytes, MAX_BATCH_BYTES):
        reason = f"{row_count} rows make a batch of {size} bytes, expected at most {max_bytes}"
        raise refusal(ErrorCode.MESSAGE_TOO_LARGE, reason)
    # Arrow's pool has this memory already. New memory would take several times as long as the encoding.
    batch = np.frombuffer(pa.allocate_buffer(size), np.uint8)
    position, offset_delta = HEADER.size, 0
    for rows, chunk_size in zip(chunks, sizes, strict=True):
        kernel.encode(
            rows,
            first_offset_delta=offset_delta,
            base_timestamp_ms=base_timestamp_ms,
            output=batch[position : position + chunk_size],
        )
        position += chunk_size
        offset_delta += rows.row_count
    batch.data[: HEADER.size] = make_header(
        batch.data[HEADER.size :],
        base_offset=0,
        epoch=UNPLACED_EPOCH,
        attributes=TRANSACTIONAL if is_transactional else 0,
        last_offset_delta=row_count - 1,
        base_timestamp_ms=base_timestamp_ms,
        max_timestamp_ms=_max_timestamp_ms(chunks, timestamp_ms),
        producer_id=producer_id,
        producer_epoch=producer_epoch,
        base_sequence=base_sequence,
        record_count=row_count,
    )
    return batch.tobytes()


def _base_timestamp_ms(chunks: Sequence[Rows], otherwise_ms: int) -> int:
    """Return the timestamp of the first row, as Kafka's producer does."""
    first = chunks[0].timestamps_ms if chunks else None
    return otherwise_ms if first is None else int(first[0].as_py())


def _max_timestamp_ms(chunks: Sequence[Rows], otherwise_ms: int) -> int:
    latest = [int(pc.max(rows.timestamps_ms).as_py()) for rows in chunks if rows.timestamps_ms is not None]
    return max(latest, default=otherwise_ms)


def _sizes(chunks: Sequence[Rows], kernel: Kernel, base_timestamp_ms: int) -> list[int]:
    """Return the size of each chunk as records; offset deltas go on from chunk to chunk."""
    sizes = []
    offset_delta = 0
    for rows in chunks:
        size = kernel.encoded_size(rows, first_offset_delta=offset_delta, base_timestamp_ms=base_timestamp_ms)
        sizes.append(size)
        offset_delta += rows.row_count
    return sizes
