"""Invariants of timeouts: what extends a fetch timeout, check quorum, and how long a fetch may be parked."""

from __future__ import annotations

from dataclasses import dataclass

from raft.core.effects import SendResponse
from raft.core.events import RequestAbandoned, RequestReceived, ResponseReceived
from raft.core.messages import (
    EndQuorumEpochRequest,
    FetchRequest,
    FetchResponse,
    FetchSnapshotRequest,
    FetchSnapshotResponse,
)
from raft.core.roles import Follower, Leader
from raft.errors import ErrorCode
from raft.types import NodeId, Offset
from tests.simulation.invariants.observer import Invariant
from tests.simulation.machine import Machine
from tests.simulation.plan import Plan
from tests.simulation.step import Step


class OnlyFetchesResetFetchTimeout(Invariant):
    """Only a successful fetch of records or of a snapshot extends a follower's fetch timeout. An EndQuorumEpoch request
    only shortens it.
    """

    rules = ("TIMER-2", "BEGIN-8", "END-8")

    def __init__(self, plan: Plan) -> None:
        self._backoff_max_ms = plan.timeouts.backoff_max_ms

    def role_changed(self, step: Step) -> None:
        before, after = step.role_before, step.role_after
        if not isinstance(before, Follower) or not isinstance(after, Follower) or after.epoch != before.epoch:
            return
        if after.fetch_deadline_ms != before.fetch_deadline_ms:
            match step.event:
                case ResponseReceived(
                    response=FetchResponse(error=ErrorCode.NONE) | FetchSnapshotResponse(error=ErrorCode.NONE)
                ):
                    pass
                case RequestReceived(request=EndQuorumEpochRequest()):
                    is_less = (
                        after.fetch_deadline_ms is not None
                        and after.fetch_deadline_ms <= step.now_ms + self._backoff_max_ms
                    )
                    self.require(
                        is_less, "%s extends its fetch timeout for a leader that resigned: %s", step.machine, after
                    )
                case _:
                    self.fail(
                        f"{step.machine} moves its fetch deadline to {after.fetch_deadline_ms} because of {step.event}"
                    )


class LeaderWithoutMajorityResigns(Invariant):
    """A leader that a majority of voters, itself included, does not fetch from resigns in time (check quorum).

    The rule counts from one full majority to the next, so the oldest fetch of the last majority may be nearly twice as
    old as the check-quorum timeout. A stall of the node adds its own length, because the node handles the events in its
    queue before its timers. All fetches count here, also those that the rule does not count.
    """

    rules = ("FETCH-17", "TIMER-4", "PREVOTE-21")

    def __init__(self, plan: Plan) -> None:
        self._voters = plan.voters
        self._allowed_ms = 2 * (plan.timeouts.fetch_ms * 3 // 2)
        self._leaders: dict[NodeId, _Leader] = {}

    def event_handled(self, step: Step) -> None:
        leader_id, now_ms = step.machine.node_id, step.now_ms
        if not isinstance(step.role_after, Leader):
            self._leaders.pop(leader_id, None)
            return
        # A new leader counts as fetched from by all voters.
        leader = self._leaders.setdefault(leader_id, _Leader(now_ms, dict.fromkeys(self._voters, now_ms)))
        leader.longest_gap_ms = max(leader.longest_gap_ms, now_ms - leader.last_step_ms)
        leader.last_step_ms = leader.fetched_ms[leader_id] = now_ms
        if isinstance(step.event, RequestReceived) and isinstance(
            step.event.request, FetchRequest | FetchSnapshotRequest
        ):
            voter = step.event.request.replica.node_id
            if voter in leader.fetched_ms:
                leader.fetched_ms[voter] = now_ms
        majority_ms = sorted(leader.fetched_ms.values(), reverse=True)[len(self._voters) // 2]
        has_majority = now_ms - majority_ms <= self._allowed_ms + leader.longest_gap_ms
        self.require(
            has_majority, "%s leads although no majority has fetched for %s ms", step.machine, now_ms - majority_ms
        )


class HighWatermarkIsSentInTime(Invariant):
    """A leader responds to a replica's parked fetch within the linger time once the high watermark has moved."""

    rules = ("FETCH-11", "FETCH-12", "LINGER-1")

    def __init__(self, plan: Plan) -> None:
        self._linger_ms = plan.timeouts.linger_ms
        self._parked: dict[NodeId, dict[int, _ParkedFetch]] = {}

    def node_started(self, machine: Machine) -> None:
        self._parked.pop(machine.node_id, None)

    def event_handled(self, step: Step) -> None:
        parked = self._parked.setdefault(step.machine.node_id, {})
        match step.event:
            case RequestReceived(request_id=request_id, request=FetchRequest() as request):
                # A replica that does not send its high watermark gets one only if it moves after the fetch came.
                known = request.high_watermark if request.wants_high_watermark else step.high_watermark
                parked[request_id] = _ParkedFetch(known)
            case RequestAbandoned(request_id=request_id):
                parked.pop(request_id, None)
            case _:
                pass
        for effect in step.effects:
            if isinstance(effect, SendResponse):
                parked.pop(effect.request_id, None)
        for fetch in parked.values():
            if not fetch.is_due(step):
                continue
            if fetch.due_since_ms is None:
                fetch.due_since_ms = step.now_ms
            is_in_time = step.now_ms - fetch.due_since_ms < self._linger_ms
            self.require(
                is_in_time,
                "%s has a higher high watermark than a parked fetch since %s ms",
                step.machine,
                fetch.due_since_ms,
            )


@dataclass(slots=True)
class _ParkedFetch:
    """A replica's parked fetch, and since when the leader has a higher high watermark than the replica."""

    known: Offset | None
    due_since_ms: int | None = None

    def is_due(self, step: Step) -> bool:
        return step.high_watermark is not None and (self.known is None or self.known < step.high_watermark)


@dataclass(slots=True)
class _Leader:
    """When a leader last handled an event, when each voter last fetched, and the longest time between two events."""

    last_step_ms: int
    fetched_ms: dict[NodeId, int]
    longest_gap_ms: int = 0
