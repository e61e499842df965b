"""Counts the coverage marks of transactions, multipart writes and linearizable reads."""

from __future__ import annotations

from raft.core.effects import SendResponse
from raft.core.events import (
    AppendRequested,
    ProducerInitRequested,
    ReadIndexRequested,
    TimePassed,
    TransactionEndRequested,
)
from raft.core.held_writes import HELD
from raft.core.messages import AppendResponse, ReadIndexResponse
from raft.errors import ErrorCode
from raft.types import FIRST_PART_PRODUCER_ID, BatchHeader, ControlType, Epoch, WriteCommit
from tests.simulation.invariants.observer import CoreRequest, Observer
from tests.simulation.machine import Machine
from tests.simulation.marks import Mark, Marks
from tests.simulation.step import Step

_FENCED = (ErrorCode.PRODUCER_FENCED, ErrorCode.INVALID_PRODUCER_EPOCH)


class TransactionMarkObserver(Observer):
    """Counts how transactions end, and how reads of the log's end are answered."""

    def __init__(self, marks: Marks) -> None:
        self._marks = marks
        self._epoch_of_commit: dict[int, Epoch] = {}
        """Of each part: the epoch in which the commit that names it was last appended by a leader."""

    def event_handled(self, step: Step) -> None:
        for entry in step.truncated:
            self._marks.count(Mark.WRITE_COMMIT_TRUNCATED, isinstance(entry.header.control_value, WriteCommit))
            self._marks.count(Mark.TRANSACTION_MARKER_TRUNCATED, _marker_of(entry.header) is not None)
        if step.leadership is not None:
            for entry in step.appended:
                self._count_commit(entry.header)
                self._count_marker(step, entry.header)

    def high_watermark_moved(self, step: Step) -> None:
        high_watermark = step.high_watermark
        is_held = high_watermark is not None and step.machine.core.last_stable_offset != high_watermark
        self._marks.count(Mark.STABLE_OFFSET_HELD, is_held)
        if high_watermark is not None:
            stable = step.machine.core.transactions.kafkas_stable_offset(high_watermark)
            self._marks.count(Mark.WRITE_HELD_BACK, step.machine.core.last_stable_offset != stable)

    def response_sent(self, machine: Machine, request: CoreRequest, order: SendResponse, records: bytes) -> None:
        match request, order.response:
            case ReadIndexRequested(), ReadIndexResponse(error=ErrorCode.NONE):
                self._marks.count(Mark.LATEST_CONFIRMED)
            case ReadIndexRequested(), ReadIndexResponse(error=ErrorCode.NOT_LEADER_OR_FOLLOWER):
                self._marks.count(Mark.LATEST_REFUSED)
            case ReadIndexRequested(), ReadIndexResponse(error=ErrorCode.REQUEST_TIMED_OUT):
                self._marks.count(Mark.LATEST_NOT_CONFIRMED)
            case AppendRequested(), AppendResponse(message=message) if message == HELD:
                self._marks.count(Mark.NEW_WRITE_WAITED)
            case ProducerInitRequested() | TransactionEndRequested(), AppendResponse(error=error):
                self._marks.count(Mark.PRODUCER_FENCED, error in _FENCED)
            case _:
                pass

    def _count_commit(self, header: BatchHeader) -> None:
        if isinstance(header.control_value, WriteCommit):
            self._marks.count(Mark.MULTIPART_WRITE_COMMITTED)
            for part in header.control_value.parts:
                self._epoch_of_commit[part.producer_id] = header.epoch

    def _count_marker(self, step: Step, header: BatchHeader) -> None:
        end, producer_id = _marker_of(header), header.producer_id
        if end is None or producer_id is None:
            return
        is_overdue = end is ControlType.ABORT and isinstance(step.event, TimePassed)
        if producer_id < FIRST_PART_PRODUCER_ID:
            self._marks.count(Mark.TRANSACTION_COMMITTED if end is ControlType.COMMIT else Mark.TRANSACTION_ABORTED)
            self._marks.count(Mark.TRANSACTION_TIMED_OUT, is_overdue)
        elif end is ControlType.ABORT:
            self._marks.count(Mark.PART_ABORTED)
            self._marks.count(Mark.PART_TIMED_OUT, is_overdue)
        else:
            # A planted bug may commit what has no WRITE_COMMIT; an invariant says so.
            epoch = self._epoch_of_commit.get(producer_id, header.epoch)
            self._marks.count(Mark.COMMIT_ENDED_BY_SUCCESSOR, epoch < header.epoch)


def _marker_of(header: BatchHeader) -> ControlType | None:
    types = header.control_types
    return ControlType(types[0]) if types and types[0] in (ControlType.COMMIT, ControlType.ABORT) else None
