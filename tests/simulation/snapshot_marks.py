"""Counts the coverage marks of snapshots: how they are made, loaded, read and interrupted."""

from __future__ import annotations

from raft.core.effects import CheckSnapshot, InstallSnapshot, SendResponse
from raft.core.events import DeleteBeforeSnapshotRequested, SnapshotChecked
from raft.core.messages import ClientFetchRequest, FetchResponse, FetchSnapshotRequest, FetchSnapshotResponse
from raft.errors import ErrorCode
from raft.types import Offset, OffsetAndEpoch
from tests.simulation.committed_log import CommittedLog
from tests.simulation.invariants.observer import CoreRequest, Observer
from tests.simulation.machine import Machine
from tests.simulation.marks import Mark, Marks
from tests.simulation.step import Step
from tests.workload.transaction_history import TransactionHistory


class SnapshotMarkObserver(Observer):
    """Counts what becomes of snapshots."""

    def __init__(self, marks: Marks, committed: CommittedLog) -> None:
        self._marks = marks
        self._committed = committed

    def event_handled(self, step: Step) -> None:
        machine = step.machine
        for effect in step.effects:
            if isinstance(effect, InstallSnapshot):
                self._marks.count(Mark.SNAPSHOT_LOADED_BY_VOTER, machine.is_voter)
                self._marks.count(Mark.SNAPSHOT_LOADED_BY_OBSERVER, not machine.is_voter)
                self._marks.count(Mark.SNAPSHOT_REPLACED_DIVERGING_LOG, bool(step.truncated))
                opened = effect.contents.producers.transactions.transactions
                self._marks.count(Mark.SNAPSHOT_LOADED_IN_TRANSACTION, bool(opened))
            self._marks.count(Mark.SNAPSHOT_DOWNLOADED, isinstance(effect, CheckSnapshot))
        event = step.event
        is_damaged = isinstance(event, SnapshotChecked) and event.contents is None
        self._marks.count(Mark.SNAPSHOT_DAMAGED, is_damaged)
        is_late = isinstance(event, SnapshotChecked) and event.contents is not None and not step.effects
        self._marks.count(Mark.SNAPSHOT_NOT_USED, is_late)
        self._marks.count(
            Mark.LEADER_CUT_ITS_LOG, isinstance(event, DeleteBeforeSnapshotRequested) and machine.is_leader
        )

    def snapshot_made(self, machine: Machine, snapshot: OffsetAndEpoch) -> None:
        self._marks.count(Mark.SNAPSHOT_MADE)
        self._marks.count(Mark.SNAPSHOT_MADE_FROM_SNAPSHOT, bool(machine.core.log.start_offset))
        committed = TransactionHistory(self._committed.model.between(Offset(0), snapshot.offset))
        self._marks.count(Mark.SNAPSHOT_MADE_IN_TRANSACTION, bool(committed.open))

    def log_cut(self, machine: Machine, start: OffsetAndEpoch) -> None:
        self._marks.count(Mark.LOG_CUT)

    def node_started(self, machine: Machine) -> None:
        assert machine.process is not None, "it was started"
        self._marks.count(Mark.STARTED_FROM_SNAPSHOT, bool(machine.core.log.start_offset))

    def response_sent(self, machine: Machine, request: CoreRequest, order: SendResponse, records: bytes) -> None:
        match request, order.response:
            case ClientFetchRequest(), FetchResponse(error=ErrorCode.NONE):
                start_offset = machine.core.log.start_offset
                self._marks.count(Mark.SNAPSHOT_READ, bool(records) and request.fetch_offset < start_offset)
            case ClientFetchRequest(), FetchResponse(error=ErrorCode.OFFSET_OUT_OF_RANGE):
                self._marks.count(Mark.READ_BEFORE_THE_LOG)
            case FetchSnapshotRequest(), FetchSnapshotResponse(error=ErrorCode.NONE):
                self._marks.count(Mark.SNAPSHOT_SERVED)
            case _:
                pass
