"""Connections between nodes: in order, behind the versions of the other node, and broken by a lost message."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import combinations

import pytest

from raft.core.messages import (
    BeginQuorumEpochRequest,
    FetchRequest,
    OutgoingRequest,
    VoteRequest,
)
from raft.types import Epoch, LeaderAndEpoch, OffsetAndEpoch, ReplicaKey
from tests.simulation.connections import Connection, ConnectionKind
from tests.simulation.dice import Dice
from tests.simulation.faultless import follower_of, leader_of, send
from tests.simulation.machine import Machine
from tests.simulation.marks import Mark, Marks
from tests.simulation.message import Message
from tests.simulation.network import Fate, Network
from tests.simulation.plan import RELIABLE_NETWORK
from tests.simulation.starting import CLUSTER_ID
from tests.simulation.stream import Stream
from tests.simulation.timeline import Timeline
from tests.simulation.world import World

_A_ROUND_MS = 200
_MESSAGE = Message(1, 2)


class Posted:
    """The requests and responses of nodes that were sent since then, in order."""

    def __init__(self, world: World) -> None:
        self._messages: list[Message] = []
        world.post_office.posted = lambda message, _: self._messages.append(message)

    def of(self, request: OutgoingRequest) -> list[str]:
        """Return which messages of a round trip were sent."""
        return [
            "response" if message.is_response else "request" for message in self._messages if message.request is request
        ]

    def responses_to(self, *requests: OutgoingRequest) -> list[int]:
        """Return for each response to one of the requests, in order, which request it was."""
        numbers = {id(request): number for number, request in enumerate(requests)}
        return [
            numbers[id(message.request)]
            for message in self._messages
            if message.is_response and id(message.request) in numbers
        ]


def _run(world: World, duration_ms: int = _A_ROUND_MS) -> None:
    world.timeline.run(world.timeline.now_ms + duration_ms)


def _pre_vote(candidate: Machine) -> VoteRequest:
    return VoteRequest(
        cluster_id=CLUSTER_ID,
        epoch=candidate.core.epoch,
        candidate=ReplicaKey(candidate.node_id),
        candidate_log_end=OffsetAndEpoch(epoch=candidate.core.log.last_epoch, offset=candidate.core.log.end_offset),
        pre_vote=True,
    )


def _fetch(sender: Machine, *, max_wait_ms: int) -> FetchRequest:
    """Return a fetch of an observer from the end of its log."""
    return FetchRequest(
        cluster_id=CLUSTER_ID,
        replica=ReplicaKey(sender.node_id),
        epoch=sender.core.epoch,
        fetch_offset=sender.core.log.end_offset,
        last_fetched_epoch=sender.core.log.last_epoch,
        high_watermark=sender.core.high_watermark,
        max_wait_ms=max_wait_ms,
        max_bytes=1,
    )


@pytest.fixture
def idle_world(world: World) -> World:
    """The same world when its clients have written everything. All connections between nodes are new ones."""
    world.end_faults()
    _run(world, 3_000)
    for one, other in combinations(world.machines, 2):
        world.post_office.reset(one.node_id, other.node_id)
    return world


def test_stream_delivers_in_order_when_an_earlier_message_is_late() -> None:
    timeline, stream, done = Timeline(), Stream(), list[tuple[str, int]]()
    stream.send(lambda: done.append(("late", timeline.now_ms)), 9, timeline)
    stream.send(lambda: done.append(("fast", timeline.now_ms)), 1, timeline)

    timeline.run(100)

    assert done == [("late", 9), ("fast", 9)]


def _network(timeline: Timeline, **plan: int) -> Network:
    network_plan = replace(RELIABLE_NETWORK, late_ms=(70, 70), **plan)  # type: ignore[arg-type]  # not `negotiates`
    return Network(network_plan, timeline=timeline, dice=Dice(1, "network"), marks=Marks())


@pytest.mark.parametrize(
    ("plan", "outcome"),
    [
        pytest.param({}, [("delivered", 3)], id="carried"),
        pytest.param({"held_percent": 100}, [("delivered", 70)], id="held"),
        pytest.param({"loss_percent": 100}, [("lost", 0)], id="lost"),
    ],
)
def test_network_delivers_or_loses_a_message_of_a_connection_once(
    plan: dict[str, int], outcome: list[tuple[str, int]]
) -> None:
    timeline, done = Timeline(), list[tuple[str, int]]()
    network = _network(timeline, **plan)

    network.carry_on(
        Stream(),
        _MESSAGE,
        lambda: done.append(("delivered", max(timeline.now_ms, 3))),
        lambda: done.append(("lost", timeline.now_ms)),
    )
    timeline.run(100)

    assert done == outcome


def test_network_loses_what_is_sent_on_a_cut_link_and_what_it_holds_when_faults_end() -> None:
    timeline, lost = Timeline(), list[str]()
    network = _network(timeline, held_percent=100)
    cut = network.cut([(1, 2)])
    fate = network.carry_on(Stream(), _MESSAGE, lambda: None, lambda: lost.append("cut"))
    network.mend(cut)
    network.carry_on(Stream(), _MESSAGE, lambda: None, lambda: lost.append("held"))
    network.end_faults()

    timeline.run(100)

    assert (fate, lost) == (Fate.LOST, ["cut", "held"])


@pytest.mark.rule("GEN-7")
def test_request_is_not_sent_when_its_node_forgets_it_before_the_connection_is_ready(idle_world: World) -> None:
    posted = Posted(idle_world)
    follower, leader = follower_of(idle_world), leader_of(idle_world)
    request, before = _pre_vote(follower), idle_world.marks.counts[Mark.FORGOTTEN_REQUEST_NOT_SENT]
    number = send(idle_world, follower, leader, request)
    assert follower.process is not None
    follower.process.core.expects_also.remove(number)

    _run(idle_world)

    assert posted.of(request) == []
    assert idle_world.marks.counts[Mark.FORGOTTEN_REQUEST_NOT_SENT] > before


def test_request_is_sent_when_the_other_node_has_told_its_versions(idle_world: World) -> None:
    posted = Posted(idle_world)
    follower, leader = follower_of(idle_world), leader_of(idle_world)
    request = _pre_vote(follower)
    send(idle_world, follower, leader, request)
    before = posted.of(request)

    _run(idle_world)

    assert (before, posted.of(request)) == ([], ["request", "response"])


def test_fetch_waits_for_the_response_to_the_one_before_it_and_other_requests_do_not(idle_world: World) -> None:
    posted = Posted(idle_world)
    follower, leader = follower_of(idle_world), leader_of(idle_world)
    parked, behind = _fetch(follower, max_wait_ms=1_000), _fetch(follower, max_wait_ms=0)
    send(idle_world, follower, leader, parked, 1)
    send(idle_world, follower, leader, behind, 2)
    vote = _pre_vote(follower)
    send(idle_world, follower, leader, vote, 3)

    _run(idle_world)
    soon = posted.responses_to(parked, behind, vote)
    _run(idle_world, 2_000)

    assert soon == [2]
    assert posted.responses_to(parked, behind, vote) == [2, 0, 1]
    assert idle_world.marks.counts[Mark.FETCH_WAITED_FOR_ANOTHER] > 0


def test_connection_ends_when_the_process_of_the_receiver_is_another_one(idle_world: World) -> None:
    posted = Posted(idle_world)
    follower, leader = follower_of(idle_world), leader_of(idle_world)
    request = BeginQuorumEpochRequest(
        cluster_id=CLUSTER_ID, leader=LeaderAndEpoch(epoch=Epoch(1), leader_id=leader.node_id)
    )
    send(idle_world, leader, follower, request, 1)
    _run(idle_world)
    idle_world.keep_down(frozenset([follower.node_id]))
    idle_world.keep_down(frozenset())
    unknown, again = replace(request), replace(request)

    send(idle_world, leader, follower, unknown, 2)
    _run(idle_world)
    send(idle_world, leader, follower, again, 3)
    _run(idle_world)

    assert [posted.of(each) for each in (request, unknown, again)] == [
        ["request", "response"],
        ["request"],
        ["request", "response"],
    ]


@pytest.mark.parametrize("is_told", [True, False])
def test_lost_message_breaks_its_connection(idle_world: World, monkeypatch: pytest.MonkeyPatch, is_told: bool) -> None:
    posted = Posted(idle_world)
    follower, leader = follower_of(idle_world), leader_of(idle_world)
    first, lost, later = _pre_vote(follower), _pre_vote(follower), _pre_vote(follower)
    send(idle_world, follower, leader, first, 1)
    _run(idle_world)
    monkeypatch.setattr(idle_world.post_office, "is_loss_reported", lambda: is_told)
    cut = idle_world.network.cut([(follower.node_id, leader.node_id)])
    send(idle_world, follower, leader, lost, 2)
    idle_world.network.mend(cut)

    _run(idle_world)
    send(idle_world, follower, leader, later, 3)
    _run(idle_world)

    assert [posted.of(each) for each in (first, lost)] == [["request", "response"], ["request"]]
    assert posted.of(later) == (["request", "response"] if is_told else ["request"])


def _make_half_open(world: World, sender: Machine, receiver: Machine) -> None:
    world.post_office.make_half_open(Connection(sender.node_id, receiver.node_id, ConnectionKind.OTHERS))


def _refuse(world: World, sender: Machine, receiver: Machine) -> None:
    world.post_office.refuse(sender.node_id, receiver.node_id)


@pytest.mark.parametrize("fault", [_make_half_open, _refuse], ids=["half open", "refused"])
def test_request_gets_no_response_when_its_connection_has_a_fault(
    idle_world: World, fault: Callable[[World, Machine, Machine], None]
) -> None:
    posted = Posted(idle_world)
    follower, leader = follower_of(idle_world), leader_of(idle_world)
    request = _pre_vote(follower)
    fault(idle_world, follower, leader)

    send(idle_world, follower, leader, request)
    _run(idle_world)

    assert posted.of(request) == []
