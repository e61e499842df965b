"""From Arrow record batches to the bytes of one Kafka record batch (magic v2), as Produce takes it."""

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
"""What the length in the header can say."""


def encoded_size(record_batches: RecordBatches, *, kernel: Kernel | None = None) -> int:
    """Return the exact size of the batch that `encode_batch` makes of these rows, without making it.

    It is what a leader compares with `message.max.bytes`: the whole batch, header included.

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
    """Make one record batch of all rows, in their order.

    Args:
        record_batches: one or more rows; columns as `Rows.of` takes them. Chunks are not copied together.
        producer_id: with producer_epoch and base_sequence the key of the write; None for a write without.
        producer_epoch: -1 for none.
        base_sequence: -1 for none.
        timestamp_ms: time of every record: all timestamp deltas are 0, as Java's Raft readers want it (LOG-4).
        max_bytes: largest batch that the quorum takes.
        kernel: for tests; None takes `load_kernel()`.

    Returns:
        The batch, not compressed. Its base offset is 0 and its epoch -1: the leader writes its own there.

    Raises:
        RequestError: MESSAGE_TOO_LARGE, before anything is made; says how large it would be.
        TypeError, ValueError: the rows cannot be written; see `Rows.of`. There are none.
    """
    kernel = kernel or load_kernel()
    chunks = list(chunks_of(record_batches))
    row_count = sum(rows.row_count for rows in chunks)
    if not row_count:
        raise ValueError("a record batch holds at least one record")
    sizes = _sizes(chunks, kernel)
    size = HEADER.size + sum(sizes)
    if size > min(max_bytes, MAX_BATCH_BYTES):
        reason = f"{row_count} rows make a batch of {size} bytes; at most {max_bytes} are allowed"
        raise RequestError(ErrorCode.MESSAGE_TOO_LARGE, reason)
    # Memory of Arrow's pool, which keeps it: fresh memory would cost several times the encoding.
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
    """Write the header of a batch whose records are in place; `writer` is its three fields about the producer."""
    HEADER.pack_into(
        batch,
        0,
        0,  # base offset
        len(batch) - LENGTH_END,
        UNPLACED_EPOCH,
        MAGIC,
        0,  # checksum, which comes last
        0,  # attributes
        row_count - 1,
        timestamp_ms,
        timestamp_ms,
        *writer,
        row_count,
    )
    CHECKSUM.pack_into(batch, CHECKED_FROM - CHECKSUM.size, crc32c(batch[CHECKED_FROM:]))


def _sizes(chunks: Sequence[Rows], kernel: Kernel) -> list[int]:
    """Return how many bytes each chunk takes as records, its first row right behind the last one before it."""
    sizes = []
    offset_delta = 0
    for rows in chunks:
        sizes.append(kernel.encoded_size(rows, first_offset_delta=offset_delta))
        offset_delta += rows.row_count
    return sizes
