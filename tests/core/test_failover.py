"""A leader whose address refuses connections (rules FAILOVER-1, FAILOVER-2, END-15)."""

from __future__ import annotations

from dataclasses import replace

import pytest

from raft.core.effects import ShutdownFinished
from raft.core.events import Failure, ShutdownRequested
from raft.core.roles import Follower
from raft.errors import ErrorCode
from tests.core.builder import Node, a_config, a_follower, a_node, a_prospective, a_resigned
from tests.core.orders import becomes, replies, sends
from tests.core.states import follower, prospective, tally
from tests.core.wording import fetch_response, our_fetch, pre_vote_request, vote_response

REFUSED = Failure.CONNECTION_REFUSED


def refused_once(*, at_ms: int = 100) -> Node:
    """A follower of node 2 that has fetched; the leader's address refused a connection, and it connects again."""
    node = a_follower(of=2, epoch=5, has_fetched=True)
    node.fails_to_reach(2, REFUSED, now_ms=at_ms)
    node.waits(until=at_ms + 50)
    return node.count_from_here()


@pytest.mark.rule("FAILOVER-1", "FETCH-20")
def test_follower_connects_again_soon_after_a_refused_connection() -> None:
    node = a_follower(of=2, epoch=5, has_fetched=True)

    effects = node.fails_to_reach(2, REFUSED, now_ms=100)

    assert effects == [], "nor does it ask the other, whose silence would hold up the second look"
    assert node.role == follower(of=2, epoch=5, until=2000, is_leader_refusing=True)
    assert node.waits(until=149) == []
    assert node.waits(until=150) == [sends(our_fetch(epoch=5), to=2)]


@pytest.mark.rule("FAILOVER-1")
def test_second_refusal_begins_with_pre_votes() -> None:
    node = refused_once()
    before = node.role

    effects = node.fails_to_reach(2, REFUSED, now_ms=151)

    after = prospective(epoch=5, leader=2, until=1151, votes=tally(1))
    assert effects[0] == becomes(after, was=before, reason="leader 2 refuses connections")
    assert len(effects) == 3
    assert node.role == after


@pytest.mark.rule("FAILOVER-1")
def test_refused_connections_start_no_second_election_in_the_same_epoch() -> None:
    node = refused_once()
    node.fails_to_reach(2, REFUSED, now_ms=151)
    for voter in (2, 3):
        node.gets(vote_response(epoch=5, leader=2), of=voter, now_ms=160)
    assert node.role == follower(of=2, epoch=5, until=2160)

    node.fails_to_reach(2, REFUSED, now_ms=200)
    node.gets(fetch_response(epoch=5, leader=2, error=ErrorCode.NOT_LEADER_OR_FOLLOWER), of=3, now_ms=210)
    assert node.waits(until=250)[-1] == sends(our_fetch(epoch=5), to=2, number=4)
    node.fails_to_reach(2, REFUSED, now_ms=251)

    assert node.role == follower(of=2, epoch=5, until=2160, is_leader_refusing=True)


@pytest.mark.rule("FAILOVER-1")
def test_response_of_the_leader_resets_the_count_of_refusals() -> None:
    node = refused_once()

    node.gets(fetch_response(epoch=5, leader=2), of=2, now_ms=151)
    node.fails_to_reach(2, REFUSED, now_ms=152)

    assert node.role == follower(of=2, epoch=5, until=2151, is_leader_refusing=True), "one refusal, not two"


@pytest.mark.rule("FAILOVER-1")
def test_broken_connection_is_not_a_refusal() -> None:
    node = refused_once()

    node.fails_to_reach(2, Failure.DISCONNECTED, now_ms=151)

    assert node.role_name == "Follower"


@pytest.mark.rule("FAILOVER-1", "PREVOTE-10")
def test_follower_of_a_leader_that_refuses_connections_grants_pre_votes() -> None:
    node = a_follower(of=2, epoch=5, has_fetched=True)
    refused = node.receives(pre_vote_request(epoch=5, by=3, to=1), now_ms=90)
    node.fails_to_reach(2, REFUSED, now_ms=100)

    granted = node.receives(pre_vote_request(epoch=5, by=3, to=1), now_ms=110)

    assert refused == [replies(vote_response(epoch=5, leader=2))]
    assert granted == [replies(vote_response(epoch=5, leader=2, granted=True))]


@pytest.mark.rule("FAILOVER-1")
def test_only_the_fetch_timeout_counts_after_refused_pre_votes() -> None:
    node = refused_once()
    node.fails_to_reach(2, REFUSED, now_ms=151)
    node.gets(vote_response(epoch=5, leader=2), of=3, now_ms=160)
    node.gets(vote_response(epoch=5, leader=2), of=2, now_ms=161)
    returned = node.role
    node.count_from_here()

    for now_ms in range(200, 2160, 40):
        node.waits(until=now_ms)
        node.fails_to_reach(2, REFUSED, now_ms=now_ms + 20)

    assert returned == follower(of=2, epoch=5, until=2161)
    assert node.role_name == "Follower"
    node.waits(until=2161)
    assert node.role_name == "Prospective"


@pytest.mark.rule("FAILOVER-1", "ROLE-7")
def test_observer_starts_no_election_after_refused_connections() -> None:
    node = a_node(epoch=5, leader=2, config=a_config((2, 3)))
    for now_ms in (100, 200, 300):
        node.fails_to_reach(2, REFUSED, now_ms=now_ms)
        node.waits(until=now_ms + 20)

    assert node.role_name == "Follower"


@pytest.mark.rule("FAILOVER-2", "TIMER-2")
def test_fetch_timeout_is_drawn_once_each_time_a_node_begins_to_follow() -> None:
    config = replace(a_config(), fetch_timeout_spread_ms=200)
    node = a_node(epoch=5, leader=2, config=config, draw=lambda sides: sides - 1)
    assert isinstance(node.role, Follower)
    first = node.role.fetch_deadline_ms

    node.gets(fetch_response(epoch=5, leader=2), of=2, now_ms=100)

    assert first == 2199
    assert isinstance(node.role, Follower)
    assert node.role.fetch_deadline_ms == 100 + 2199


@pytest.mark.rule("END-15")
def test_resigned_leader_shuts_down_once_no_majority_is_left() -> None:
    leaving = a_resigned(epoch=5)
    leaving.handle(ShutdownRequested(timeout_ms=5000), now_ms=100)

    first = leaving.fails_to_reach(2, REFUSED, now_ms=110)

    assert first == [ShutdownFinished(handed_over=False)], "voter 3 cannot lead alone"


@pytest.mark.rule("END-15")
def test_resigned_leader_of_five_waits_while_a_majority_is_left() -> None:
    leaving = a_resigned(epoch=5, voters=(1, 2, 3, 4, 5))
    leaving.handle(ShutdownRequested(timeout_ms=5000), now_ms=100)

    first = leaving.fails_to_reach(2, REFUSED, now_ms=110)
    second = leaving.fails_to_reach(3, REFUSED, now_ms=120)

    assert first == []
    assert second == [ShutdownFinished(handed_over=False)]


@pytest.mark.rule("END-15")
def test_voter_that_responds_again_counts_again() -> None:
    leaving = a_prospective(epoch=5, voters=(1, 2, 3, 4, 5))
    leaving.fails_to_reach(2, REFUSED, now_ms=10)
    leaving.waits(until=30)
    leaving.gets(vote_response(epoch=5), of=2, now_ms=40)
    leaving.handle(ShutdownRequested(timeout_ms=5000), now_ms=100)

    assert leaving.fails_to_reach(3, REFUSED, now_ms=110) == []
