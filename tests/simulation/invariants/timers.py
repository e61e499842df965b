"""Invariants of patience: what keeps a leader in its place, and what does not."""

from __future__ import annotations

from dataclasses import dataclass

from raft.core.effects import SendResponse
from raft.core.events import RequestAbandoned, RequestReceived, ResponseReceived
from raft.core.messages import EndQuorumEpochRequest, FetchRequest, FetchResponse
from raft.core.roles import Follower, Leader
from raft.errors import ErrorCode
from raft.types import NodeId, Offset
from tests.simulation.invariants.observer import Invariant
from tests.simulation.machine import Machine
from tests.simulation.plan import Plan
from tests.simulation.step import Step


class OnlyFetchesKeepLeaders(Invariant):
    """A follower gives its leader more time for an answered fetch only; a leader that resigns takes time away."""

    rules = ("TIMER-2", "BEGIN-8", "END-8")

    def __init__(self, plan: Plan) -> None:
        self._most_ms = plan.timeouts.backoff_max_ms

    def role_changed(self, step: Step) -> None:
        before, after = step.role_before, step.role_after
        if not isinstance(before, Follower) or not isinstance(after, Follower) or after.epoch != before.epoch:
            return
        if after.fetch_deadline_ms != before.fetch_deadline_ms:
            match step.event:
                case ResponseReceived(response=FetchResponse(error=ErrorCode.NONE)):
                    pass
                case RequestReceived(request=EndQuorumEpochRequest()):
                    is_less = (
                        after.fetch_deadline_ms is not None and after.fetch_deadline_ms <= step.now_ms + self._most_ms
                    )
                    self.require(is_less, "%s waits until %s for one that resigned", step.machine, after)
                case _:
                    self.fail(f"{step.machine} waits until {after.fetch_deadline_ms} because of {step.event}")


class LeadersAreHeard(Invariant):
    """A leader has lately been asked by a majority of voters, itself counted: else it has resigned (check quorum).

    The rule counts from one full majority to the next, so the oldest fetch of the last one may be nearly twice as old
    as the time it allows, and older still by the time for which the node itself stood still: what it finds in its
    queue then comes before its clock. Fetches that do not count by the rule do here: that is only more patient.
    """

    rules = ("FETCH-17", "TIMER-4", "PREVOTE-21")

    def __init__(self, plan: Plan) -> None:
        self._voters = plan.voters
        self._patience_ms = 2 * (plan.timeouts.fetch_ms * 3 // 2)
        self._terms: dict[NodeId, _Term] = {}

    def event_handled(self, step: Step) -> None:
        leader_id, now_ms = step.machine.node_id, step.now_ms
        if not isinstance(step.role_after, Leader):
            self._terms.pop(leader_id, None)
            return
        # A term begins as if everybody had been heard.
        term = self._terms.setdefault(leader_id, _Term(now_ms, dict.fromkeys(self._voters, now_ms)))
        term.longest_gap_ms = max(term.longest_gap_ms, now_ms - term.last_step_ms)
        term.last_step_ms = term.heard_ms[leader_id] = now_ms
        if isinstance(step.event, RequestReceived) and isinstance(step.event.request, FetchRequest):
            voter = step.event.request.replica.node_id
            if voter in term.heard_ms:
                term.heard_ms[voter] = now_ms
        majority_ms = sorted(term.heard_ms.values(), reverse=True)[len(self._voters) // 2]
        is_heard = now_ms - majority_ms <= self._patience_ms + term.longest_gap_ms
        self.require(is_heard, "%s leads, without a majority for %s ms", step.machine, now_ms - majority_ms)


class ReplicasHearSoon(Invariant):
    """A replica's fetch that waits at a leader hears of a higher high watermark no later than the leader may linger."""

    rules = ("FETCH-11", "FETCH-12", "LINGER-1")

    def __init__(self, plan: Plan) -> None:
        self._linger_ms = plan.timeouts.linger_ms
        self._waiting: dict[NodeId, dict[int, _WaitingFetch]] = {}

    def node_started(self, machine: Machine) -> None:
        self._waiting.pop(machine.node_id, None)

    def event_handled(self, step: Step) -> None:
        waiting = self._waiting.setdefault(step.machine.node_id, {})
        match step.event:
            case RequestReceived(request_id=request_id, request=FetchRequest() as request):
                # A replica that does not say what it knows only hears of what moves after its fetch has come in.
                known = request.high_watermark if request.wants_high_watermark else step.high_watermark
                waiting[request_id] = _WaitingFetch(known)
            case RequestAbandoned(request_id=request_id):
                waiting.pop(request_id, None)
            case _:
                pass
        for effect in step.effects:
            if isinstance(effect, SendResponse):
                waiting.pop(effect.request_id, None)
        for fetch in waiting.values():
            if not fetch.has_news(step):
                continue
            if fetch.news_since_ms is None:
                fetch.news_since_ms = step.now_ms
            is_soon = step.now_ms - fetch.news_since_ms < self._linger_ms
            self.require(is_soon, "%s has left a fetch without its news since %s ms", step.machine, fetch.news_since_ms)


@dataclass(slots=True)
class _WaitingFetch:
    """A replica's fetch at a leader, and since when there is a higher high watermark than it knows."""

    known: Offset | None
    news_since_ms: int | None = None

    def has_news(self, step: Step) -> bool:
        return step.high_watermark is not None and (self.known is None or self.known < step.high_watermark)


@dataclass(slots=True)
class _Term:
    """When a leader last did anything, when it last heard of each voter, and the longest time it stood still."""

    last_step_ms: int
    heard_ms: dict[NodeId, int]
    longest_gap_ms: int = 0
