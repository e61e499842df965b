"""What is always true of a state: each check can fail, and none does on a sound node (raft.core.invariants)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from raft.core.epochs import LAST_EPOCH
from raft.core.events import TimePassed
from raft.core.invariants import check_invariants
from raft.core.roles import Role
from raft.core.state import State
from raft.core.waiting_requests import ParkedFetch, PendingAppend
from raft.types import ElectionState, Epoch, NodeId, Offset
from tests.core.builder import (
    Node,
    a_candidate,
    a_config,
    a_follower,
    a_leader,
    a_log,
    a_node,
    a_prospective,
    a_resigned,
    a_state,
    an_unattached,
)
from tests.core.states import candidate, follower, leader, prospective, resigned, tally, unattached
from tests.core.wording import client_fetch, key, vote_request

BEFORE = unattached(epoch=4, until=1)
"""The role before an event that made a move."""

OBSERVER = a_config((2, 3))


def changed(state: State, **changes: Any) -> State:
    for name, value in changes.items():
        setattr(state, name, value)
    return state


def with_role(state: State, **changes: Any) -> State:
    return changed(state, role=replace(state.role, **changes))


def in_role(role: Role, **changes: Any) -> Callable[[], State]:
    """A state in that role, which is stored; `changes` are what is wrong with the role."""
    return lambda: a_state(replace(role, **changes))


def observer_in(role: Role) -> Callable[[], State]:
    return lambda: a_state(role, config=OBSERVER)


def stored(**changes: Any) -> Callable[[], State]:
    state = ElectionState(epoch=Epoch(5), leader_id=NodeId(2), voted_key=key(3))
    return lambda: changed(a_state(follower(of=2, epoch=5, until=1, voted=3)), stored=replace(state, **changes))


def durable_past_the_end() -> State:
    state = a_follower(of=2, epoch=5).core._state
    state.flushes.durable_end = Offset(11)
    return state


def with_an_append(state: State) -> State:
    state.appends.add(
        PendingAppend(request_id=1, base_offset=Offset(10), end_offset=Offset(11), error=0, deadline_ms=1)
    )
    return state


def with_a_fetch(state: State) -> State:
    state.parked.add(ParkedFetch(request_id=1, request=client_fetch(10), deadline_ms=1))
    return state


def with_a_request_to(node_id: int, state: State) -> State:
    state.requests.on_request_sent(NodeId(node_id), vote_request(epoch=5), 0)
    return state


A_CANDIDATE = candidate(epoch=5, until=1)
A_FOLLOWER = follower(of=2, epoch=5, until=1)
A_PROSPECTIVE = prospective(epoch=5, until=1)
A_RESIGNED = resigned(epoch=5, until=1)
A_LEADER = leader(epoch=5, start=9)


@pytest.mark.parametrize(
    ("broken", "message"),
    [
        pytest.param(durable_past_the_end, "durable up to 11, log end 10", id="flushed past the end"),
        pytest.param(
            lambda: changed(a_state(A_FOLLOWER), known_committed=Offset(11)),
            "committed up to 11, log end 10",
            id="committed past the end",
        ),
        pytest.param(
            lambda: changed(
                a_follower(of=2, epoch=5, log=a_log([(3, 5)], 10, start=5)).core._state, high_watermark=Offset(4)
            ),
            "high watermark 4, log start 5",
            id="a high watermark below the log",
        ),
        pytest.param(
            lambda: changed(a_state(A_FOLLOWER), high_watermark=Offset(1)),
            "high watermark 1, committed up to 0",
            id="a high watermark that is not remembered",
        ),
        pytest.param(in_role(leader(epoch=5, start=10)), "epoch 5 starts at 10, log end 10", id="no LeaderChange"),
        pytest.param(
            lambda: changed(a_leader(epoch=5).core._state, high_watermark=Offset(10), known_committed=Offset(10)),
            "high watermark 10, epoch start 10",
            id="a high watermark without a record of the epoch",
        ),
        pytest.param(
            lambda: changed(a_state(A_FOLLOWER), stored=None), "None is stored, the role is Follower", id="not stored"
        ),
        pytest.param(
            lambda: changed(a_leader(epoch=5).core._state, shutdown_deadline_ms=1),
            "leader of epoch 5, and a shutdown was requested",
            id="a leader that does not resign when it is shut down",
        ),
        pytest.param(stored(epoch=Epoch(4)), "epoch=4, .* is stored, the role is Follower", id="another epoch stored"),
        pytest.param(stored(leader_id=None), "leader_id=None, .* is stored, the role is", id="no leader stored"),
        pytest.param(stored(voted_key=None), "voted_key=None.* is stored, the role is", id="no vote stored"),
        pytest.param(
            in_role(A_FOLLOWER, epoch=Epoch(LAST_EPOCH + 1)),
            "epoch 2147483648 is past the last one",
            id="no such epoch",
        ),
        pytest.param(
            in_role(A_FOLLOWER, epoch=Epoch(2)), "log of epoch 3, role of epoch 2", id="records of a later epoch"
        ),
        pytest.param(
            lambda: with_a_request_to(9, a_state(A_FOLLOWER)),
            r"requests are in flight to unknown nodes \[9\]",
            id="a request to a stranger",
        ),
        pytest.param(
            lambda: with_an_append(a_state(A_FOLLOWER)),
            "1 appends wait, the role is Follower",
            id="an append at a follower",
        ),
        pytest.param(
            lambda: with_a_fetch(a_state(A_CANDIDATE)),
            "1 fetches wait, the role is Candidate",
            id="a fetch at a candidate",
        ),
        pytest.param(
            in_role(A_FOLLOWER, leader_id=NodeId(1)),
            "Follower in epoch 5, whose leader is this node",
            id="it follows itself",
        ),
        pytest.param(
            in_role(unattached(epoch=5, until=1, leader=1)),
            "Unattached in epoch 5, whose leader is this node",
            id="it leads, and does not know it",
        ),
        pytest.param(in_role(A_FOLLOWER, fetch_deadline_ms=None), "voter: True, deadline: None", id="no fetch timeout"),
        pytest.param(in_role(unattached(epoch=5, until=None)), "voter: True, deadline: None", id="no election timeout"),
        pytest.param(observer_in(A_FOLLOWER), "voter: False, deadline: 1", id="an observer with a fetch timeout"),
        pytest.param(
            observer_in(unattached(epoch=5, until=1)),
            "voter: False, deadline: 1",
            id="an observer with an election timeout",
        ),
        pytest.param(in_role(A_FOLLOWER, leader_endpoints=()), "address of leader 2 is unknown", id="no address"),
        pytest.param(observer_in(A_PROSPECTIVE), "Prospective, but not a voter", id="an observer asks for pre-votes"),
        pytest.param(observer_in(A_LEADER), "Leader, but not a voter", id="an observer leads"),
        pytest.param(
            in_role(A_CANDIDATE, tally=tally(2)), "no vote of this node in", id="a round without its own vote"
        ),
        pytest.param(
            in_role(A_CANDIDATE, tally=tally(1, 2)), "Candidate, but .* is won", id="it won, and does not lead"
        ),
        pytest.param(
            in_role(A_PROSPECTIVE, tally=tally(1, refused=[2, 3])),
            "Prospective, but .* is lost",
            id="it lost, and sends requests again",
        ),
        pytest.param(
            in_role(A_CANDIDATE, voted_key=key(2)),
            "candidate of epoch 5 with a vote for .*node_id=2",
            id="a candidate that voted for another",
        ),
        pytest.param(
            in_role(A_LEADER, leader_id=NodeId(2)), "Leader in epoch 5 of leader 2", id="it leads in another's name"
        ),
        pytest.param(
            in_role(A_LEADER, voted_key=None), "leader of epoch 5 with a vote for None", id="a leader without a vote"
        ),
        pytest.param(
            in_role(A_RESIGNED, leader_id=NodeId(2)), "Resigned in epoch 5 of leader 2", id="it resigned for another"
        ),
        pytest.param(
            in_role(A_RESIGNED, unacknowledged=frozenset([NodeId(1)])),
            r"\[1\] are not all other voters",
            id="it tells itself",
        ),
    ],
)
def test_node_stops_when_an_invariant_is_broken(broken: Callable[[], State], message: str) -> None:
    with pytest.raises(AssertionError, match=message):
        check_invariants(broken(), role_before=BEFORE, moves_before=-1)


@pytest.mark.parametrize(
    "node",
    [
        pytest.param(lambda: an_unattached(epoch=5), id="unattached"),
        pytest.param(lambda: an_unattached(epoch=5, voters=(2, 3)), id="unattached observer"),
        pytest.param(lambda: a_prospective(epoch=5), id="prospective"),
        pytest.param(lambda: a_candidate(epoch=5), id="candidate"),
        pytest.param(lambda: a_leader(epoch=5, high_watermark_known=True), id="leader"),
        pytest.param(lambda: a_leader(epoch=5, voters=(1,)), id="the only voter"),
        pytest.param(lambda: a_resigned(epoch=5), id="resigned"),
        pytest.param(lambda: a_follower(of=2, epoch=5, high_watermark=10), id="follower"),
        pytest.param(lambda: a_follower(of=2, epoch=5, voters=(2, 3)), id="observer that follows"),
    ],
)
def test_invariants_hold_in_every_role(node: Callable[[], Node]) -> None:
    check_invariants(node().core._state, role_before=BEFORE, moves_before=-1)


def test_node_checks_its_invariants_after_every_event() -> None:
    node = a_node(epoch=5)
    node.core._state.known_committed = Offset(11)

    with pytest.raises(AssertionError, match="committed up to 11, log end 10"):
        node.handle(TimePassed(), now_ms=1)


def test_update_of_a_role_is_checked_and_its_stored_state_is_not() -> None:
    state = a_state(A_FOLLOWER)
    later = follower(of=2, epoch=5, until=1, has_fetched=True)
    check_invariants(changed(state, role=later, stored=None), role_before=A_FOLLOWER, moves_before=0)

    with pytest.raises(AssertionError, match="voter: True, deadline: None"):
        check_invariants(with_role(state, fetch_deadline_ms=None), role_before=A_FOLLOWER, moves_before=0)
