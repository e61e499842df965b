"""Invariants of histories: the order of committed writes agrees with what clients observe."""

from __future__ import annotations

from raft.client.results import FoundOffset
from raft.core.messages import AppendResponse
from raft.errors import ErrorCode
from raft.types import FIRST_KEYED_PRODUCER_ID, Batch, BatchHeader, Offset
from raft.wire.messages.list_offsets import LATEST_TIMESTAMP
from raft.writers.keys import version_of
from tests.simulation.committed_log import CommittedLog
from tests.simulation.invariants.observer import Invariant
from tests.simulation.log_model import Entry, WriteId, write_id_of
from tests.simulation.step import Step
from tests.workload.linearizable import Before, LogJudge

_MAY_MISS_ANYTHING = Offset(1 << 62)


class HistoryIsLinearizable(Invariant):
    """The appends and the reads of the log's end by all clients are linearizable, in true time.

    How much a read may miss is not decided here, because records may be behind an open transaction. The invariant
    `LatestIsLinearizable` compares it with the committed log.
    """

    rules = ("TEST-8", "READ-1")

    def __init__(self) -> None:
        self._judge = LogJudge()
        self._begun_writes: dict[WriteId, Before] = {}
        self._begun_reads: dict[str, Before] = {}

    def write_requested(self, client: str, batch: Batch) -> None:
        write_id = write_id_of(batch.header)
        assert write_id is not None, "every simulated write has an id"
        self._begun_writes.setdefault(write_id, self._judge.before)

    def write_settled(self, client: str, batch: Batch, response: AppendResponse) -> None:
        write_id, at = write_id_of(batch.header), response.base_offset
        if response.error != ErrorCode.NONE or write_id is None or at is None:
            return
        # A writer that starts again may send other rows than the log has. No other append begins between its records.
        wrong = self._judge.appended(self._begun_writes[write_id], at, Offset(at + 1))
        self.require(wrong is None, "%s: %s %s", client, write_id, wrong)

    def offset_requested(self, reader: str, timestamp: int) -> None:
        if timestamp == LATEST_TIMESTAMP:
            self._begun_reads[reader] = self._judge.before

    def offset_found(self, reader: str, timestamp: int, found: FoundOffset | None) -> None:
        if timestamp == LATEST_TIMESTAMP and found is not None:
            wrong = self._judge.was_read(self._begun_reads[reader], found.offset, _MAY_MISS_ANYTHING)
            self.require(wrong is None, "%s: a read of the latest offset %s", reader, wrong)


class OnlyRequestedWritesAreCommitted(Invariant):
    """Every committed write was requested by a client. For transactions see `invariants.transactions`."""

    rules = ("TEST-8",)

    def __init__(self, committed: CommittedLog) -> None:
        self._committed = committed
        self._requested: set[WriteId] = set()

    def write_requested(self, client: str, batch: Batch) -> None:
        write_id = write_id_of(batch.header)
        assert write_id is not None, "every simulated write has an id"
        self._requested.add(write_id)

    def high_watermark_moved(self, step: Step) -> None:
        for entry in newly_committed(step, self._committed):
            write_id = write_id_of(entry.header)
            is_known = write_id in self._requested or entry.header.is_control or entry.header.is_transactional
            self.require(is_known, "%s commits %s, which no client requested", step.machine, entry.header)


class WritersKeepTheirOrder(Invariant):
    """The committed writes of each writer are in order: a producer's sequences have no gap, a key's versions rise."""

    rules = ("CLIENT-8",)

    def __init__(self, committed: CommittedLog) -> None:
        self._committed = committed
        self._next: dict[int, int] = {}

    def high_watermark_moved(self, step: Step) -> None:
        for entry in newly_committed(step, self._committed):
            header = entry.header
            if header.producer_id is not None and write_id_of(header) is not None:
                self._check(step, header, header.producer_id)

    def _check(self, step: Step, header: BatchHeader, producer_id: int) -> None:
        expected = self._next.get(producer_id, 0)
        if producer_id < FIRST_KEYED_PRODUCER_ID:
            number = header.base_sequence
            self.require(
                number == expected, "%s commits %s, the expected sequence is %s", step.machine, header, expected
            )
            self._next[producer_id] = number + header.record_count
        else:
            number = version_of(header.producer_epoch, header.base_sequence)
            self.require(number >= expected, "%s commits %s, after version %s", step.machine, header, expected - 1)
            self._next[producer_id] = number + 1


def newly_committed(step: Step, committed: CommittedLog) -> list[Entry]:
    """Return the batches that a step is the first to commit."""
    end_offset = step.high_watermark
    if end_offset is None or end_offset <= committed.end_offset:
        return []
    return step.log.between(committed.end_offset, end_offset)
