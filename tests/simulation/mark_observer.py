"""Counts the coverage marks that show in events, effects and responses."""

from __future__ import annotations

from collections.abc import Sequence

from raft.core.effects import ReportFault, RoleChanged, SendResponse, ShutdownFinished
from raft.core.events import (
    AppendRequested,
    AppendsRequested,
    RequestAbandoned,
    ResignRequested,
    ShutdownRequested,
    Started,
    TimePassed,
)
from raft.core.messages import (
    AppendResponse,
    ClientFetchRequest,
    FetchResponse,
    RequestRefused,
    VoteRequest,
    VoteResponse,
)
from raft.core.roles import Candidate, Follower, Leader, Prospective, Resigned, Unattached
from raft.errors import ErrorCode
from raft.types import NodeId, Offset
from tests.simulation.committed_log import CommittedLog
from tests.simulation.invariants.observer import CoreRequest, Observer
from tests.simulation.log_model import WriteId, write_id_of
from tests.simulation.machine import Machine
from tests.simulation.marks import Mark, Marks
from tests.simulation.step import Step

_MARK_OF_ERROR = {
    ErrorCode.REQUEST_TIMED_OUT: Mark.APPEND_TIMED_OUT,
    ErrorCode.DUPLICATE_SEQUENCE_NUMBER: Mark.OLDER_WRITE_REFUSED,
    ErrorCode.DUPLICATE_RESOURCE: Mark.OTHER_CONTENT_REFUSED,
    ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER: Mark.APPEND_OUT_OF_ORDER,
}


class MarkObserver(Observer):
    """Counts the marks that no single part of the world sees."""

    def __init__(self, marks: Marks, machines: Sequence[Machine], committed: CommittedLog) -> None:
        self._marks = marks
        self._committed = committed
        self._machines = machines
        self._candidates: dict[int, NodeId] = {}
        self._truncated_writes: set[WriteId] = set()
        self._has_just_truncated: set[NodeId] = set()

    def event_handled(self, step: Step) -> None:
        for effect in step.effects:
            if isinstance(effect, RoleChanged):
                self._count_role_change(step, effect)
            elif isinstance(effect, ReportFault):
                self._marks.count(Mark.LOST_DISK_REPORTED, "it has lost records" in effect.message)
            elif isinstance(effect, ShutdownFinished):
                has_waited = not isinstance(step.event, ShutdownRequested)
                self._marks.count(Mark.HANDED_OVER, has_waited and effect.handed_over)
                self._marks.count(
                    Mark.SHUTDOWN_TIMED_OUT, isinstance(step.event, TimePassed) and not effect.handed_over
                )
        self._count_truncation(step)
        self._count_waiting_commit(step)
        for entry in step.appended:
            write_id = write_id_of(entry.header)
            if isinstance(step.event, AppendRequested | AppendsRequested) and write_id in self._truncated_writes:
                self._marks.count(Mark.TRUNCATED_APPEND_WRITTEN_AGAIN)
        if isinstance(step.event, AppendRequested):
            self._count_repeated_append(step, step.event)
        self._marks.count(Mark.APPENDS_COALESCED, isinstance(step.event, AppendsRequested))
        self._marks.count(Mark.REQUEST_ABANDONED, isinstance(step.event, RequestAbandoned))

    def response_sent(self, machine: Machine, request: CoreRequest, order: SendResponse, records: bytes) -> None:
        match request, order.response:
            case VoteRequest(pre_vote=True), VoteResponse(vote_granted=False, error=ErrorCode.NONE):
                role = machine.core.role
                self._marks.count(Mark.PRE_VOTE_REFUSED_FOR_LEADER, isinstance(role, Follower) and role.has_fetched)
            case VoteRequest(), VoteResponse(error=ErrorCode.INVALID_VOTER_KEY):
                self._marks.count(Mark.REQUEST_FOR_ANOTHER_VOTER)
            case _, RequestRefused(error=ErrorCode.INCONSISTENT_CLUSTER_ID):
                self._marks.count(Mark.FOREIGN_REQUEST_REFUSED)
            case VoteRequest(pre_vote=False), VoteResponse(vote_granted=False, error=ErrorCode.NONE):
                self._marks.count(Mark.VOTE_REFUSED)
            case _, VoteResponse(error=ErrorCode.INVALID_REQUEST):
                self._marks.count(Mark.FORGED_REQUEST_REFUSED)
            case AppendRequested(), AppendResponse(error=error) if error in _MARK_OF_ERROR:
                self._marks.count(_MARK_OF_ERROR[ErrorCode(error)])
            case ClientFetchRequest(), FetchResponse(error=ErrorCode.NONE) if records:
                self._marks.count(Mark.FOLLOWER_SERVED_READ, isinstance(machine.core.role, Follower))
            case ClientFetchRequest(), FetchResponse(error=ErrorCode.UNKNOWN_LEADER_EPOCH):
                self._marks.count(Mark.DEPOSED_LEADER_REFUSED_READ, machine.is_leader)
            case _:
                pass

    def log_flushed(self, machine: Machine) -> None:
        has_rolled = machine.written.has_rolled
        self._marks.count(Mark.SEGMENT_ROLLED, has_rolled)
        self._marks.count(Mark.PRODUCER_SNAPSHOT, has_rolled and machine.has_producer_snapshot)

    def _count_role_change(self, step: Step, change: RoleChanged) -> None:
        new = change.new
        is_start = isinstance(step.event, Started)
        match new:
            case Leader():
                self._marks.count(Mark.LEADER_ELECTED)
                leaders = [machine for machine in self._machines if machine.is_leader]
                self._marks.count(Mark.STALE_LEADER, len(leaders) > 1)
            case Candidate():
                self._marks.count(Mark.RESTARTED_AS_CANDIDATE, is_start)
                other = self._candidates.setdefault(new.epoch, step.machine.node_id)
                self._marks.count(Mark.SEVERAL_CANDIDATES, other != step.machine.node_id)
            case Unattached():
                self._marks.count(Mark.LOG_AHEAD_OF_STORED_EPOCH, is_start and "later epoch" in change.reason)
            case Prospective():
                self._marks.count(Mark.PRE_VOTES_AFTER_REFUSALS, "refuses connections" in change.reason)
            case Resigned():
                self._marks.count(Mark.RESTARTED_AS_RESIGNED, is_start)
                self._marks.count(Mark.QUORUM_LOST, "check-quorum" in change.reason)
                self._marks.count(Mark.RESIGNED_ON_REQUEST, isinstance(step.event, ResignRequested))
            case _:
                pass

    def _count_truncation(self, step: Step) -> None:
        node_id = step.machine.node_id
        if step.truncated:
            self._marks.count(Mark.TRUNCATION)
            self._marks.count(Mark.TRUNCATION_IN_SEVERAL_STEPS, node_id in self._has_just_truncated)
            self._has_just_truncated.add(node_id)
            self._truncated_writes.update(
                write_id for entry in step.truncated if (write_id := write_id_of(entry.header))
            )
        elif step.appended:
            self._has_just_truncated.discard(node_id)

    def _count_waiting_commit(self, step: Step) -> None:
        role = step.role_after
        if not isinstance(role, Leader) or step.high_watermark is not None:
            return
        known = [voter.fetch_offset or Offset(0) for voter in role.progress.voters.values()]
        held_by_majority = sorted([*known, step.machine.core.durable_end], reverse=True)[(len(known) + 1) // 2]
        self._marks.count(Mark.COMMIT_WAITED_FOR_OWN_EPOCH, held_by_majority > self._committed.end_offset)

    def _count_repeated_append(self, step: Step, event: AppendRequested) -> None:
        write_id = write_id_of(event.batch.header)
        if write_id is None or step.appended or not isinstance(step.role_after, Leader):
            return
        if step.log.times_written(write_id):
            self._marks.count(Mark.REPEATED_APPEND_RECOGNISED)
            has_response = any(isinstance(effect, SendResponse) for effect in step.effects)
            self._marks.count(Mark.UNCOMMITTED_APPEND_RECOGNISED, not has_response)
