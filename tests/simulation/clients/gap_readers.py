"""Readers of a log whose start is compacted or cut: the records that they get have gaps between them."""

from __future__ import annotations

from collections.abc import Sequence

from raft.client import AbortedFilter, AbortedTransaction
from raft.client.results import BatchPlan, Fetched
from raft.errors import ErrorCode, OffsetOutOfRangeError, RaftError
from raft.records.batches import read_batches
from raft.types import Batch, Epoch, Offset
from raft.wire.mapping.fetches import READ_COMMITTED
from raft.wire.messages.fetch import AbortedTransaction as AbortedOnWire
from raft.wire.messages.fetch import FetchResponsePartition
from tests.simulation.clients.reader import Reader
from tests.simulation.clients.stream_reader import StreamReader

_AGAIN_PERCENT = 3
"""How often a reader begins again."""


class GapReader(Reader):
    """A Kafka consumer that goes on at the start of the log when that has moved past it, and sometimes begins again."""

    _position = Offset(0)

    @property
    def end_offset(self) -> Offset:
        """One past the last record that it has read."""
        return self._position

    def _fetch_from(self) -> tuple[Offset, int]:
        if self._dice.chance(_AGAIN_PERCENT):
            self._position = Offset(0)
        return self._position, -1

    def _choose(self, partition: FetchResponsePartition, former_id: int, *, is_old: bool) -> None:
        if not is_old and partition.error_code == ErrorCode.OFFSET_OUT_OF_RANGE:
            self._position = max(self._position, Offset(partition.log_start_offset))
        super()._choose(partition, former_id, is_old=is_old)

    def _take(self, records: bytes, aborted: Sequence[AbortedOnWire]) -> None:
        start, batches = self._position, list(read_batches(records))
        self._position = max(start, batches[-1].header.end_offset)
        if self._isolation_level == READ_COMMITTED:
            dropped = AbortedFilter(AbortedTransaction(each.producer_id, Offset(each.first_offset)) for each in aborted)
            seen = [batch for batch in batches if not dropped.drops(batch.header) and not batch.header.is_control]
            self._watch.records_seen(self.name, start, self._position, seen)


class GapStreamReader(StreamReader):
    """A source that goes on at the start of the log when that has moved past it, as with failOnDataLoss=false."""

    _epoch = Epoch(0)

    def _last_epoch(self) -> Epoch:
        return self._epoch

    def _on_plan(self, plan: BatchPlan) -> None:
        if plan.start is None and plan.log_start_offset > self._position:
            self._position = plan.log_start_offset
            self._pause()
            return
        super()._on_plan(plan)

    def _on_fetched(self, fetched: Fetched) -> None:
        batches, aborted = list(read_batches(fetched.records)), AbortedFilter(fetched.aborted)
        seen = [batch for batch in batches if not aborted.drops(batch.header) and not batch.header.is_control]
        start = self._position
        if batches:
            end = max(start, batches[-1].header.end_offset)
            self._watch.response_seen(self.name, start, seen, end, fetched.compacted_end)
            self._position = min(end, self._planned_end)
            self._epoch = self._epoch_of(batches)
            self._watch.records_seen(self.name, start, self._position, seen)
        if self._position < self._planned_end:
            self._fetch()
        else:
            self._pause()

    def _epoch_of(self, batches: Sequence[Batch]) -> Epoch:
        return next(
            (batch.header.epoch for batch in reversed(batches) if batch.header.base_offset < self._position),
            self._epoch,
        )

    def _on_error(self, error: RaftError) -> None:
        if isinstance(error, OffsetOutOfRangeError):
            self._position = max(self._position, Offset(error.log_start_offset))
        self._pause()
