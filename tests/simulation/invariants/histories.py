"""Invariants of what clients live through: the order of their writes is one that they can all agree on."""

from __future__ import annotations

from raft.core.messages import AppendResponse
from raft.errors import ErrorCode
from raft.types import FIRST_KEYED_PRODUCER_ID, Batch, BatchHeader, Offset
from raft.writers.keys import version_of
from tests.simulation.committed_log import CommittedLog
from tests.simulation.invariants.observer import Invariant
from tests.simulation.log_model import Entry, WriteId, write_id_of
from tests.simulation.step import Step


class HistoryIsLinearizable(Invariant):
    """A write that was first asked for after another had been acknowledged lies behind it.

    The log is one order of all writes, so this is all that linearizability asks of them: the order keeps to the time
    that clients have seen pass.
    """

    rules = ("TEST-8",)

    def __init__(self) -> None:
        self._acknowledged_end = Offset(0)
        self._end_when_asked: dict[WriteId, Offset] = {}

    def write_requested(self, client: str, batch: Batch) -> None:
        write_id = write_id_of(batch.header)
        assert write_id is not None, "every client here names its writes"
        self._end_when_asked.setdefault(write_id, self._acknowledged_end)

    def write_settled(self, client: str, batch: Batch, response: AppendResponse) -> None:
        write_id, at = write_id_of(batch.header), response.base_offset
        if response.error != ErrorCode.NONE or write_id is None or at is None:
            return
        begin = self._end_when_asked[write_id]
        self.require(
            at >= begin, "%s is told that %s is at %s, others before it ended at %s", client, write_id, at, begin
        )
        self._acknowledged_end = max(self._acknowledged_end, Offset(at + 1))


class OnlyRequestedWritesAreCommitted(Invariant):
    """Every committed write is one that somebody asked for."""

    rules = ("TEST-8",)

    def __init__(self, committed: CommittedLog) -> None:
        self._committed = committed
        self._asked: set[WriteId] = set()

    def write_requested(self, client: str, batch: Batch) -> None:
        write_id = write_id_of(batch.header)
        assert write_id is not None, "every client here names its writes"
        self._asked.add(write_id)

    def high_watermark_moved(self, step: Step) -> None:
        for entry in newly_committed(step, self._committed):
            write_id = write_id_of(entry.header)
            is_known = write_id in self._asked or entry.header.is_control
            self.require(is_known, "%s commits %s, which nobody asked for", step.machine, entry.header)


class WritersKeepTheirOrder(Invariant):
    """The committed writes of each writer follow each other: a producer's without a gap, a key's in rising versions."""

    rules = ("CLIENT-8",)

    def __init__(self, committed: CommittedLog) -> None:
        self._committed = committed
        self._next: dict[int, int] = {}

    def high_watermark_moved(self, step: Step) -> None:
        for entry in newly_committed(step, self._committed):
            header = entry.header
            if header.producer_id is not None:
                self._check(step, header, header.producer_id)

    def _check(self, step: Step, header: BatchHeader, producer_id: int) -> None:
        expected = self._next.get(producer_id, 0)
        if producer_id < FIRST_KEYED_PRODUCER_ID:
            number = header.base_sequence
            self.require(number == expected, "%s commits %s, where %s was next", step.machine, header, expected)
            self._next[producer_id] = number + header.record_count
        else:
            number = version_of(header.producer_epoch, header.base_sequence)
            self.require(number >= expected, "%s commits %s, after version %s", step.machine, header, expected - 1)
            self._next[producer_id] = number + 1


def newly_committed(step: Step, committed: CommittedLog) -> list[Entry]:
    """What a step commits that was not committed before."""
    end_offset = step.high_watermark
    if end_offset is None or end_offset <= committed.end_offset:
        return []
    return step.log.between(committed.end_offset, end_offset)
