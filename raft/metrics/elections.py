"""The elections that a node takes part in, pre-votes and standard votes apart (METRIC-4, METRIC-5).

The core is not asked: everything is in its events and effects.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from enum import Enum
from typing import NamedTuple

from raft.core.effects import Effect, RoleChanged, SendRequest, SendResponse
from raft.core.events import Event, RequestReceived, ResponseReceived
from raft.core.messages import VoteRequest, VoteResponse
from raft.core.roles import Candidate, Follower, Leader, Prospective
from raft.errors import ErrorCode
from raft.metrics.window import Window


class Ballot(Enum):
    """The two kinds of votes."""

    PRE_VOTE = "pre-vote"
    STANDARD = "standard"


class ElectionOutcome(Enum):
    """What became of a vote that was asked for."""

    GRANTED = "granted"
    REFUSED = "refused"


class Vote(NamedTuple):
    """A kind of vote and what became of it."""

    ballot: Ballot
    outcome: ElectionOutcome


class Elections:
    """Counts elections and votes, and measures how long elections take.

    Attributes:
        rounds: elections that this node has begun.
        won: those of them that it has won.
        asked: votes that it has asked other nodes for.
        received: the responses of the other nodes.
        cast: its own responses to other nodes.
        latency_ms: from becoming Prospective or Candidate to a known leader.
    """

    def __init__(self) -> None:
        self.rounds: Counter[Ballot] = Counter()
        self.won: Counter[Ballot] = Counter()
        self.asked: Counter[Ballot] = Counter()
        self.received: Counter[Vote] = Counter()
        self.cast: Counter[Vote] = Counter()
        self.latency_ms = Window()
        self._in_flight: dict[int, VoteRequest] = {}
        self._begun_ms: int | None = None

    def handled(self, event: Event, effects: Sequence[Effect], now_ms: int) -> None:
        """See `Meter.handled`. Only events that concern votes, or change the role, need to be passed."""
        match event:
            case ResponseReceived(response=VoteResponse() as response):
                self._count_response(self._in_flight.pop(event.number, None), response)
            case RequestReceived(request=VoteRequest() as request):
                self._count_cast(request, effects)
            case _:
                pass
        changes = [effect for effect in effects if isinstance(effect, RoleChanged)]
        for position, change in enumerate(changes):
            self._count_change(change, changes[position + 1 :], now_ms)
        if changes:
            # A new role expects none of the responses to the requests of the role before.
            self._in_flight.clear()
        for effect in effects:
            if isinstance(effect, SendRequest) and isinstance(effect.request, VoteRequest):
                self._in_flight[effect.number] = effect.request
                self.asked[_ballot_of(effect.request)] += 1

    def _count_response(self, request: VoteRequest | None, response: VoteResponse) -> None:
        if request is None or response.error != ErrorCode.NONE or response.leader.epoch < request.epoch:
            return
        outcome = ElectionOutcome.GRANTED if response.vote_granted else ElectionOutcome.REFUSED
        self.received[Vote(_ballot_of(request), outcome)] += 1

    def _count_cast(self, request: VoteRequest, effects: Sequence[Effect]) -> None:
        for effect in effects:
            if isinstance(effect, SendResponse) and isinstance(effect.response, VoteResponse):
                outcome = ElectionOutcome.GRANTED if effect.response.vote_granted else ElectionOutcome.REFUSED
                self.cast[Vote(_ballot_of(request), outcome)] += 1

    def _count_change(self, change: RoleChanged, following: Sequence[RoleChanged], now_ms: int) -> None:
        old, new = change.old, change.new
        match new:
            case Prospective() if isinstance(old, Prospective) and old.voted_key != new.voted_key:
                pass  # It has voted for another node, which begins no election of its own.
            case Prospective() | Candidate():
                self.rounds[Ballot.PRE_VOTE if isinstance(new, Prospective) else Ballot.STANDARD] += 1
                is_won_at_once = bool(following) and isinstance(following[0].new, Candidate | Leader)
                if not is_won_at_once:
                    self._begun_ms = now_ms
            case Leader() | Follower() if self._begun_ms is not None:
                self.latency_ms.record(now_ms - self._begun_ms, now_ms)
                self._begun_ms = None
            case _:
                pass
        if isinstance(old, Prospective | Candidate) and old.tally.is_won:
            self.won[Ballot.PRE_VOTE if isinstance(old, Prospective) else Ballot.STANDARD] += 1


def _ballot_of(request: VoteRequest) -> Ballot:
    return Ballot.PRE_VOTE if request.pre_vote else Ballot.STANDARD
