"""Appends the rows of a large write in parts, which become visible together when the write is committed.

Each attempt of a task appends one part, straight to the leader, in batches of a few mebibytes. So no row passes
through the driver, and nothing in a task grows with the number of its rows.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator

import pyarrow as pa

from datasource.columns import encode_batch, encoded_size
from raft.client import Client, WriteId
from raft.client.part import Part
from raft.errors import MessageTooLargeError
from raft.records.header_fields import HEADER
from raft.types import WritePart

BATCH_BYTES = 4 << 20
"""Size of a batch, up to which rows are collected. Each batch has a fixed cost at each node, so batches of 1 MiB make
the write slower (`make bench ONLY=sink,write`)."""


class PartWriter:
    """Appends one part of a write.

    Args:
        client: of the quorum. Nothing else uses it meanwhile.
        write: the write that the part belongs to.
        max_bytes: largest batch to send; only a row that is larger than `BATCH_BYTES` makes one of more than that.
    """

    def __init__(self, client: Client, write: WriteId, max_bytes: int) -> None:
        self._part = Part(client, write)
        self._limit = max_bytes
        self._max_bytes = min(max_bytes, BATCH_BYTES)
        self._waiting: list[pa.RecordBatch] = []
        self._waiting_bytes = HEADER.size

    def add(self, record_batch: pa.RecordBatch) -> None:
        """Add rows. They are sent when there are enough for a batch.

        Raises:
            RequestError: MESSAGE_TOO_LARGE if a single row is too large for the quorum; others are final, too.
            QuorumUnavailableError: no leader responded in time.
        """
        for piece, size_bytes in _pieces(record_batch, self._max_bytes - HEADER.size):
            if self._waiting_bytes + size_bytes > self._max_bytes:
                self._send()
            self._waiting.append(piece)
            self._waiting_bytes += size_bytes

    def finish(self) -> WritePart:
        """Send the rest, and return the part once all of it is committed, though not visible yet.

        Raises:
            RequestError, QuorumUnavailableError: see `add`.
        """
        self._send()
        return self._part.part

    def _send(self) -> None:
        if not self._waiting:
            return
        record_batches, self._waiting, self._waiting_bytes = self._waiting, [], HEADER.size
        try:
            self._append(record_batches)
        except MessageTooLargeError:
            if sum(record_batch.num_rows for record_batch in record_batches) == 1:
                raise
            # The nodes accept smaller batches only (message.max.bytes).
            self._max_bytes = max(self._max_bytes // 2, HEADER.size + 1)
            for record_batch in record_batches:
                self.add(record_batch)
            self._send()

    def _append(self, record_batches: list[pa.RecordBatch]) -> None:
        self._part.append(
            lambda producer_id, base_sequence: encode_batch(
                record_batches,
                producer_id=producer_id,
                producer_epoch=0,
                base_sequence=base_sequence,
                is_transactional=True,
                timestamp_ms=int(time.time() * 1000),
                max_bytes=self._limit,
            )
        )


def _pieces(record_batch: pa.RecordBatch, max_bytes: int) -> Iterator[tuple[pa.RecordBatch, int]]:
    """Yield slices of at most `max_bytes` as records, with their sizes; a single row may be larger."""
    size_bytes = encoded_size(record_batch) - HEADER.size
    rows = record_batch.num_rows
    if size_bytes <= max_bytes or rows == 1:
        yield record_batch, size_bytes
        return
    for part in (record_batch.slice(0, rows // 2), record_batch.slice(rows // 2)):
        yield from _pieces(part, max_bytes)


def write_part(client: Client, write: WriteId, max_bytes: int, record_batches: Iterable[pa.RecordBatch]) -> WritePart:
    """Append rows as one part, in their order; see `PartWriter`.

    Args:
        client: see `PartWriter`.
        write: see `PartWriter`.
        max_bytes: see `PartWriter`.
        record_batches: one row or more.

    Raises:
        RequestError, QuorumUnavailableError: see `PartWriter.add`.
    """
    part = PartWriter(client, write, max_bytes)
    for record_batch in record_batches:
        part.add(record_batch)
    return part.finish()
