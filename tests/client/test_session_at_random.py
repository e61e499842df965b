"""The shipped session against a quorum whose leaders are suspended, replaced and resumed, at times that a seed draws.

Time is virtual. A suspended node sends nothing. When it continues, it still considers itself the leader until it
gets the new epoch. What a leader appended just before it was suspended may or may not be in its successor's log.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass, field

import pytest

from raft.client import calls
from raft.client.discovery import LeaderNode
from raft.client.results import Appended
from raft.client.session import Deadline, Session
from raft.client.settings import ClientSettings
from raft.client.steps import Ask, Await, GiveUp, Operation, Pause, Reply, Step
from raft.codec import Message
from raft.errors import ErrorCode
from raft.types import Endpoint
from raft.wire.messages.api_versions import ApiVersionsRequest
from raft.wire.messages.metadata import MetadataRequest
from raft.wire.messages.produce import (
    ProduceRequest,
    ProduceResponse,
    ProduceResponsePartition,
    ProduceResponseTopic,
)
from tests.client.table import OUR_VERSIONS, PLACES, TOPIC, metadata

SEEDS = range(200)
APPENDS = 12
ELECTION_MS = (1_500, 2_500)
RETURN_MS = (100, 6_000)
LATE_NEWS_MS = 300
RESPONSE_MS = (1, 30)
SLOW_RESPONSE_MS = (400, 3_000)
REQUEST_TIMEOUT_MS = 5_000
SLACK_MS = 1_500
"""From the election of a leader to the end of a call: two lookups at suspended nodes, a pause, the slowest response."""

SERVERS = {endpoint: node_id for node_id, endpoint in PLACES.items()}


class BrokenRuleError(AssertionError):
    """A session broke a rule."""


@dataclass(slots=True)
class NodeState:
    """Which leader a node knows, and until when it is suspended."""

    leader_id: int
    epoch: int
    frozen_until_ms: int = 0
    hears_at_ms: int | None = None


@dataclass(slots=True)
class InFlight:
    """A request, and when its response comes; None for no response."""

    response: Message | None
    due_ms: int
    timeout_ms: int


@dataclass(slots=True)
class Quorum:
    """Three nodes, one log, and the driver of one session's steps."""

    dice: random.Random
    now_ms: int = 0
    leader_id: int = 1
    epoch: int = 1
    elected_ms: int = 0
    election_ms: int | None = None
    log: list[bytes] = field(default_factory=list)
    nodes: dict[int, NodeState] = field(default_factory=lambda: {node_id: NodeState(1, 1) for node_id in PLACES})
    in_flight: dict[Endpoint, InFlight] = field(default_factory=dict)
    highest_seen: int = 0

    def freeze_leader(self) -> None:
        """Suspend the leader, and let the others elect another one later."""
        frozen = self.nodes[self.leader_id]
        self.election_ms = self.now_ms + self.dice.randint(*ELECTION_MS)
        frozen.frozen_until_ms = self.election_ms + self.dice.randint(*RETURN_MS)
        frozen.hears_at_ms = frozen.frozen_until_ms + self.dice.randint(0, LATE_NEWS_MS)

    def run(self, operation: Operation[Appended]) -> Appended:
        """Carry out a call to its end."""
        try:
            step = next(operation)
            while True:
                step = operation.send(self._carry_out(step))
        except StopIteration as end:
            appended: Appended = end.value
            return appended

    def _carry_out(self, step: Step) -> Reply:
        match step:
            case Pause():
                self._pass_time_to(self.now_ms + step.duration_ms)
            case GiveUp():
                del self.in_flight[step.endpoint]
            case Ask():
                return self._ask(step)
            case Await():
                return self._await(step.endpoint, step.patience_ms)
        return Reply(now_ms=self.now_ms)

    def _ask(self, step: Ask) -> Reply:
        if step.endpoint in self.in_flight:
            raise BrokenRuleError(f"a second request to {step.endpoint} while one is in flight")
        node_id = SERVERS[step.endpoint]
        node = self.nodes[node_id]
        if isinstance(step.request, ProduceRequest) and node.leader_id == node_id and node.epoch < self.highest_seen:
            raise BrokenRuleError(f"an append to a leader of epoch {node.epoch} after one of epoch {self.highest_seen}")
        is_frozen = node.frozen_until_ms > self.now_ms
        response = None if is_frozen else self._response(node_id, node, step.request)
        slow = isinstance(response, ProduceResponse) and self.dice.random() < 0.1
        takes_ms = self.dice.randint(*(SLOW_RESPONSE_MS if slow else RESPONSE_MS))
        if is_frozen and isinstance(step.request, ProduceRequest) and self.dice.random() < 0.5:
            self._append(
                step.request
            )  # It was appended and replicated, but the leader was suspended before it responded.
        self.in_flight[step.endpoint] = InFlight(response, self.now_ms + takes_ms, self.now_ms + step.timeout_ms)
        return self._await(step.endpoint, step.patience_ms)

    def _await(self, endpoint: Endpoint, patience_ms: int | None) -> Reply:
        request = self.in_flight[endpoint]
        ends_ms = request.timeout_ms if request.response is None else min(request.due_ms, request.timeout_ms)
        if patience_ms is not None and self.now_ms + patience_ms < ends_ms:
            self._pass_time_to(self.now_ms + patience_ms)
            return Reply(now_ms=self.now_ms, is_pending=True)
        self._pass_time_to(ends_ms)
        del self.in_flight[endpoint]
        if request.response is None or request.due_ms > request.timeout_ms:
            return Reply(now_ms=self.now_ms, failure="no response in time")
        return Reply(now_ms=self.now_ms, response=request.response)

    def _response(self, node_id: int, node: NodeState, request: Message) -> Message:
        match request:
            case ApiVersionsRequest():
                return OUR_VERSIONS
            case MetadataRequest():
                self.highest_seen = max(self.highest_seen, node.epoch)
                return metadata(node.leader_id, epoch=node.epoch)
            case ProduceRequest() if node_id == self.leader_id:
                return _produced(ErrorCode.NONE, self._append(request))
            case ProduceRequest():
                return _produced(ErrorCode.NOT_LEADER_OR_FOLLOWER, -1)
            case _:
                raise AssertionError(f"nothing asks for {request}")

    def _append(self, request: ProduceRequest) -> int:
        """Append as a leader that knows the keys: a repeated write gets its old offset."""
        ((partition,),) = (topic.partition_data for topic in request.topic_data)
        batch = partition.records or b""
        if batch not in self.log:
            self.log.append(batch)
        return self.log.index(batch)

    def _pass_time_to(self, until_ms: int) -> None:
        for at_ms in (*range(self.now_ms, until_ms, 10), until_ms):
            self.now_ms = at_ms
            self._happen()

    def _happen(self) -> None:
        if self.election_ms is not None and self.now_ms >= self.election_ms:
            live = [node_id for node_id, node in self.nodes.items() if node.frozen_until_ms <= self.now_ms]
            self.election_ms, self.elected_ms = None, self.now_ms
            self.epoch += 1
            self.leader_id = self.dice.choice(live)
            for node_id in live:
                self.nodes[node_id].leader_id, self.nodes[node_id].epoch = self.leader_id, self.epoch
        for node in self.nodes.values():
            if node.hears_at_ms is not None and self.now_ms >= node.hears_at_ms:
                node.hears_at_ms = None
                node.leader_id, node.epoch = self.leader_id, self.epoch


def _produced(error: ErrorCode, offset: int) -> ProduceResponse:
    partition = ProduceResponsePartition(index=0, error_code=error, base_offset=offset)
    return ProduceResponse(responses=(ProduceResponseTopic(name=TOPIC, partition_responses=(partition,)),))


def batches() -> Iterator[bytes]:
    """Batches, each with another key."""
    yield from (b"batch %d" % number for number in range(APPENDS))


def run(seed: int, kind: type[Session] = Session) -> None:
    """Append through one session while leaders are suspended.

    Raises:
        BrokenRuleError: the session broke a rule.
    """
    dice = random.Random(seed)
    quorum = Quorum(dice)
    settings = ClientSettings(
        bootstrap_servers=tuple(dice.sample([*PLACES.values()], 2)), request_timeout_ms=REQUEST_TIMEOUT_MS
    )
    session = kind(settings)
    acknowledged: dict[bytes, int] = {}
    for batch in batches():
        is_settled = all(node.hears_at_ms is None for node in quorum.nodes.values())
        if is_settled and quorum.election_ms is None and dice.random() < 0.4:
            quorum.freeze_leader()
        began_ms = quorum.now_ms
        deadline = Deadline(started_ms=began_ms, timeout_ms=60_000)
        acknowledged[batch] = quorum.run(calls.append(session, deadline, batch)).base_offset
        ended_ms = max(began_ms, quorum.elected_ms) + SLOW_RESPONSE_MS[1] + SLACK_MS
        if quorum.now_ms > ended_ms:
            raise BrokenRuleError(
                f"an append took until {quorum.now_ms} ms; a leader was there for it by {ended_ms} ms"
            )
    if quorum.log != [*batches()] or acknowledged != {batch: at for at, batch in enumerate(quorum.log)}:
        raise BrokenRuleError(f"acknowledged {acknowledged}, in the log {quorum.log}")


def test_each_append_is_there_once_and_no_call_waits_for_a_leader_that_is_replaced() -> None:
    for seed in SEEDS:
        try:
            run(seed)
        except BrokenRuleError as error:
            raise AssertionError(f"seed {seed}: {error}") from error


class StaysWithTheFrozen(Session):
    """Planted: never leaves a suspended leader."""

    def _is_newer(self, found: LeaderNode, *, than: LeaderNode) -> bool:
        return False


class LeavesForAnyEpoch(Session):
    """Planted: accepts any leader that another node names, of any epoch."""

    def _is_newer(self, found: LeaderNode, *, than: LeaderNode) -> bool:
        return found.endpoint != than.endpoint


class KeepsTheRequest(Session):
    """Planted: goes to a newer leader, but does not give the request up."""

    def _await_or_switch(self, leader: LeaderNode, deadline: Deadline, now_ms: int) -> Operation[Reply]:
        waiting = super()._await_or_switch(leader, deadline, now_ms)
        step = next(waiting)
        while True:
            outcome = Reply(now_ms=now_ms) if isinstance(step, GiveUp) else (yield step)
            now_ms = outcome.now_ms
            try:
                step = waiting.send(outcome)
            except StopIteration as end:
                last: Reply = end.value
                return last


class WaitsOutEachLook(Session):
    """Planted: gives a suspended server the whole request timeout when it looks for the leader."""

    def __init__(self, settings: ClientSettings) -> None:
        super().__init__(settings)
        self.settings = ClientSettings(
            bootstrap_servers=settings.bootstrap_servers,
            request_timeout_ms=settings.request_timeout_ms,
            patience_ms=settings.request_timeout_ms,
        )


@pytest.mark.parametrize("kind", [StaysWithTheFrozen, LeavesForAnyEpoch, KeepsTheRequest, WaitsOutEachLook])
def test_planted_bug_is_found(kind: type[Session]) -> None:
    def run_all() -> None:
        for seed in SEEDS:
            run(seed, kind)

    with pytest.raises(BrokenRuleError):
        run_all()
