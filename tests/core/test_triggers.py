"""Each arrow of the diagram of roles: what triggers the move, shown by an event that does (docs/roles.md)."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from raft.core.effects import Effect, RoleChanged
from raft.core.events import DiskMeasured, Failure, ResignRequested, ShutdownRequested, Started
from raft.core.transitions import ALLOWED, FIRST_ROLES
from raft.types import ElectionState, Endpoint, Epoch, NodeId, ReplicaKey
from tests.core.builder import (
    Node,
    a_candidate,
    a_config,
    a_follower,
    a_leader,
    a_prospective,
    a_resigned,
    an_unattached,
    not_started,
)
from tests.core.wording import begin_request, end_request, fetch_request, vote_request, vote_response

HIGHER_EPOCH = "higher epoch in a message"
LEADER = "a message names the leader and its address"
LEADER_WITHOUT_ADDRESS = "a message names the leader, whose address is unknown"
NEXT_LEADER = "a message names the leader of a higher epoch"
VOTE_GRANTED = "grants its vote"
ELECTION_TIMEOUT = "election timeout"

Act = Callable[[Node], list[Effect]]


def learns_of_a_higher_epoch(node: Node) -> list[Effect]:
    return node.receives(vote_request(epoch=9))


def learns_of_the_leader(node: Node) -> list[Effect]:
    return node.receives(begin_request(epoch=5, leader=3))


def learns_of_the_next_leader(node: Node) -> list[Effect]:
    return node.receives(begin_request(epoch=6, leader=3))


def learns_of_a_leader_without_address(node: Node) -> list[Effect]:
    return node.receives(begin_request(epoch=5, leader=9))


def grants_its_vote(node: Node) -> list[Effect]:
    return node.receives(vote_request(epoch=5))


def waits_for_its_turn(node: Node) -> list[Effect]:
    node.receives(end_request(epoch=5, leader=2, successors=(3, 1)), now_ms=0)
    return node.waits(until=1000)


def loses_its_pre_votes(node: Node) -> list[Effect]:
    node.gets(vote_response(epoch=5), of=2)
    return node.gets(vote_response(epoch=5), of=3)


def finds_no_process_at_the_leaders_address(node: Node) -> list[Effect]:
    node.fails_to_reach(2, Failure.CONNECTION_REFUSED, now_ms=100)
    node.waits(until=150)
    return node.fails_to_reach(2, Failure.CONNECTION_REFUSED, now_ms=151)


def waits(until: int) -> Act:
    return lambda node: node.waits(until=until)


def gets_a_vote(node: Node) -> list[Effect]:
    return node.gets(vote_response(epoch=5, granted=True), of=2)


def asks_a_voter_without_pre_votes(node: Node) -> list[Effect]:
    return node.fails_to_reach(2, Failure.UNSUPPORTED_VERSION)


def is_shut_down(node: Node) -> list[Effect]:
    return node.handle(ShutdownRequested(timeout_ms=5000), now_ms=100)


def is_asked_to_resign(node: Node) -> list[Effect]:
    return node.handle(ResignRequested(epoch=Epoch(5)), now_ms=100)


def has_a_full_disk(node: Node) -> list[Effect]:
    node.handle(DiskMeasured(room_bytes=0, appended_bytes=0), now_ms=100)
    return node.receives(fetch_request(by=2, epoch=5, offset=11, last_epoch=5), now_ms=2600)


def learns_of_more_endpoints(node: Node) -> list[Effect]:
    return node.receives(begin_request(epoch=5, leader=2, endpoints=(Endpoint("a", 1), Endpoint("b", 2))))


NODES: dict[str, Callable[[], Node]] = {
    "Unattached": lambda: an_unattached(epoch=5),
    "Prospective": lambda: a_prospective(epoch=5),
    "Prospective after Follower": lambda: a_prospective(epoch=5, leader=3),
    "Candidate": lambda: a_candidate(epoch=5),
    "Leader": lambda: a_leader(epoch=5),
    "Resigned": lambda: a_resigned(epoch=5),
    "Follower": lambda: a_follower(of=2, epoch=5),
}

CASES: list[tuple[str, str, str, Act]] = [
    ("Unattached", "Unattached", HIGHER_EPOCH, learns_of_a_higher_epoch),
    ("Unattached", "Unattached", LEADER_WITHOUT_ADDRESS, learns_of_a_leader_without_address),
    ("Unattached", "Unattached", VOTE_GRANTED, grants_its_vote),
    ("Unattached", "Prospective", ELECTION_TIMEOUT, waits(1000)),
    ("Unattached", "Follower", LEADER, learns_of_the_leader),
    ("Prospective", "Unattached", HIGHER_EPOCH, learns_of_a_higher_epoch),
    ("Prospective", "Unattached", LEADER_WITHOUT_ADDRESS, learns_of_a_leader_without_address),
    ("Prospective", "Unattached", "pre-votes lost, no leader known", loses_its_pre_votes),
    ("Prospective", "Unattached", "election timeout, no leader known", waits(1000)),
    ("Prospective", "Prospective", VOTE_GRANTED, grants_its_vote),
    ("Prospective", "Candidate", "majority of pre-votes", gets_a_vote),
    ("Prospective", "Candidate", "a voter does not support pre-votes", asks_a_voter_without_pre_votes),
    ("Prospective", "Follower", LEADER, learns_of_the_leader),
    ("Prospective after Follower", "Follower", "pre-votes lost, leader known", loses_its_pre_votes),
    ("Prospective after Follower", "Follower", "election timeout, leader known", waits(1000)),
    ("Candidate", "Unattached", HIGHER_EPOCH, learns_of_a_higher_epoch),
    ("Candidate", "Prospective", ELECTION_TIMEOUT, waits(1000)),
    ("Candidate", "Leader", "majority of votes", gets_a_vote),
    ("Candidate", "Follower", LEADER, learns_of_the_leader),
    ("Leader", "Unattached", HIGHER_EPOCH, learns_of_a_higher_epoch),
    ("Leader", "Resigned", "check-quorum timeout", waits(3000)),
    ("Leader", "Resigned", "shutdown", is_shut_down),
    ("Leader", "Resigned", "request to resign", is_asked_to_resign),
    ("Leader", "Resigned", "full disk, and a voter has room", has_a_full_disk),
    ("Leader", "Follower", NEXT_LEADER, learns_of_the_next_leader),
    ("Resigned", "Unattached", HIGHER_EPOCH, learns_of_a_higher_epoch),
    ("Resigned", "Unattached", ELECTION_TIMEOUT, waits(1000)),
    ("Resigned", "Follower", NEXT_LEADER, learns_of_the_next_leader),
    ("Follower", "Unattached", HIGHER_EPOCH, learns_of_a_higher_epoch),
    ("Follower", "Prospective", "fetch timeout", waits(2000)),
    ("Follower", "Prospective", "its delay after the leader's EndQuorumEpoch", waits_for_its_turn),
    ("Follower", "Prospective", "the leader's address refuses connections", finds_no_process_at_the_leaders_address),
    ("Follower", "Follower", NEXT_LEADER, learns_of_the_next_leader),
    ("Follower", "Follower", "the leader names more endpoints", learns_of_more_endpoints),
]


@pytest.mark.parametrize(
    ("old", "new", "act"),
    [pytest.param(old, new, act, id=f"{old} to {new}: {trigger}") for old, new, trigger, act in CASES],
)
@pytest.mark.rule("ROLE-1", "TEST-15")
def test_node_makes_the_move_of_the_table_when_it_is_triggered(old: str, new: str, act: Act) -> None:
    effects = act(NODES[old]())

    move = next(effect for effect in effects if isinstance(effect, RoleChanged))
    assert (type(move.old).__name__, type(move.new).__name__) == (old.split()[0], new)


@pytest.mark.rule("TEST-15")
def test_every_trigger_of_the_table_is_shown() -> None:
    table = [
        (old.__name__, new.__name__, trigger)
        for old, moves in ALLOWED.items()
        for new, move in moves.items()
        for trigger in move.triggers
    ]

    assert sorted(table) == sorted((old.split()[0], new, trigger) for old, new, trigger, _ in CASES)


@pytest.mark.parametrize(
    ("stored", "voters", "first"),
    [
        pytest.param(ElectionState(epoch=Epoch(5)), (1, 2, 3), "Unattached", id="knows no leader"),
        pytest.param(None, (1,), "Prospective", id="the only voter"),
        pytest.param(
            ElectionState(epoch=Epoch(5), voted_key=ReplicaKey(NodeId(1))), (1, 2, 3), "Candidate", id="was a candidate"
        ),
        pytest.param(ElectionState(epoch=Epoch(5), leader_id=NodeId(1)), (1, 2, 3), "Resigned", id="was the leader"),
        pytest.param(ElectionState(epoch=Epoch(5), leader_id=NodeId(2)), (1, 2, 3), "Follower", id="knows the leader"),
    ],
)
@pytest.mark.rule("STATE-15")
def test_node_starts_in_a_role_of_the_table(stored: ElectionState | None, voters: tuple[int, ...], first: str) -> None:
    effects = not_started(stored, config=a_config(voters)).handle(Started(), now_ms=0)

    started = next(effect for effect in effects if isinstance(effect, RoleChanged))
    assert type(started.new).__name__ == first
    assert first in {role.__name__ for role in FIRST_ROLES}
