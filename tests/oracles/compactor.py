"""The compactor in Python, which is written to be easy to verify: tests compare `raft.compaction.compactor` with it."""

from __future__ import annotations

from collections.abc import Iterator

from raft.compaction.compactor import Compactor
from raft.records.batch import build_sparse_batch, read_records
from raft.records.batches import read_batches
from raft.records.header_fields import DELETE_HORIZON, HEADER, attributes_of, base_timestamp_ms_of
from raft.records.record import Record, write_record
from raft.types import Batch, Epoch, Offset

LARGEST_BATCH_BYTES = 64 << 10
"""Records of one epoch are written together, in batches of about this size."""

_LONGEST_BATCH = 1 << 30
"""Offsets of a batch lie closer together than this: the difference is an int32."""


class PythonCompactor(Compactor):
    """See `Compactor`."""

    def __init__(self, *, now_ms: int, delete_retention_ms: int) -> None:
        self._now_ms = now_ms
        self._new_horizon_ms = now_ms + delete_retention_ms
        self._newest: dict[bytes, Offset] = {}
        self._pending: list[Record] = []
        self._pending_bytes = 0
        self._epoch = Epoch(0)
        self._horizon_ms: int | None = None

    def note(self, batches: bytes) -> None:
        for batch in read_batches(batches):
            for record in read_records(batch.payload):
                if record.key is not None:
                    self._newest[record.key] = record.offset

    def retain(self, batches: bytes) -> bytes:
        return b"".join(piece for batch in read_batches(batches) for piece in self._retain_of(batch))

    def finish(self) -> bytes:
        if not self._pending:
            return b""
        finished = build_sparse_batch(
            self._pending,
            base_offset=self._pending[0].offset,
            last_offset=self._pending[-1].offset,
            epoch=self._epoch,
            delete_horizon_ms=self._horizon_ms,
        )
        self._pending = []
        return finished

    def _retain_of(self, batch: Batch) -> Iterator[bytes]:
        for record in read_records(batch.payload):
            if record.key is None or self._newest.get(record.key, -1) > record.offset:
                continue
            horizon_ms = self._horizon_of(record, batch.payload)
            if horizon_ms is not None and horizon_ms <= self._now_ms:
                continue
            if self._is_full(batch.header.epoch, record.offset, horizon_ms):
                yield self.finish()
            if not self._pending:
                self._epoch, self._horizon_ms, self._pending_bytes = batch.header.epoch, horizon_ms, HEADER.size
            self._pending.append(record)
            base_ms = self._pending[0].timestamp_ms if self._horizon_ms is None else self._horizon_ms
            offset_delta = record.offset - self._pending[0].offset
            self._pending_bytes += len(write_record(record, offset_delta=offset_delta, base_timestamp_ms=base_ms))

    def _horizon_of(self, record: Record, payload: bytes) -> int | None:
        """Return when a tombstone may be removed; None for another record."""
        if record.value is not None:
            return None
        return base_timestamp_ms_of(payload) if attributes_of(payload) & DELETE_HORIZON else self._new_horizon_ms

    def _is_full(self, epoch: Epoch, offset: Offset, horizon_ms: int | None) -> bool:
        """Whether the pending batch has to be finished before this record is added."""
        return bool(self._pending) and (
            epoch != self._epoch
            or self._pending_bytes >= LARGEST_BATCH_BYTES
            or offset - self._pending[0].offset >= _LONGEST_BATCH
            or (horizon_ms is not None and self._horizon_ms != horizon_ms)
        )
