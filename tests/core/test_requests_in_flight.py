"""Requests that are in flight, fail, or are forgotten (rules GEN-6..8)."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from raft.core.effects import Disconnect, Effect
from raft.core.events import Failure, ResponseReceived, ShutdownRequested
from raft.core.messages import Response
from raft.types import NodeId
from tests.core.builder import Node, a_candidate, a_follower, a_leader, a_prospective, a_resigned, an_unattached
from tests.core.orders import sends
from tests.core.wording import (
    begin_request,
    begin_response,
    end_response,
    fetch_response,
    our_end_request,
    vote_request,
    vote_response,
)


def asks_again(node: Node) -> list[Effect]:
    """What the node sends once the back-off is over, 20 ms later."""
    assert node.waits(until=319) == []
    return node.waits(until=320)


@pytest.mark.rule("GEN-7", "FETCH-28", "VOTE-17", "PREVOTE-19")
@pytest.mark.parametrize(
    ("node", "response"),
    [
        pytest.param(lambda: an_unattached(epoch=5), fetch_response(epoch=7, leader=3), id="unattached"),
        pytest.param(lambda: a_follower(of=2, epoch=5), fetch_response(epoch=7, leader=3), id="follower"),
        pytest.param(lambda: a_prospective(epoch=5), vote_response(epoch=5, granted=True), id="prospective"),
        pytest.param(lambda: a_candidate(epoch=5), vote_response(epoch=5, granted=True), id="candidate"),
        pytest.param(lambda: a_leader(epoch=5), begin_response(epoch=7, leader=3), id="leader"),
        pytest.param(lambda: a_resigned(epoch=5), end_response(epoch=7, leader=3), id="resigned"),
    ],
)
def test_node_drops_a_response_when_its_role_has_changed_since_the_request(
    node: Callable[[], Node], response: Response
) -> None:
    asker = node()
    late = asker.response_event(response, of=2)
    asker.receives(begin_request(epoch=6, leader=3))
    before = asker.role

    assert asker.handle(late, now_ms=200) == []
    assert asker.role == before


@pytest.mark.rule("GEN-7")
def test_node_drops_a_response_to_a_request_it_never_sent() -> None:
    asker = a_follower(of=2, epoch=5)

    assert asker.handle(ResponseReceived(number=4711, response=fetch_response(epoch=7, leader=3)), now_ms=100) == []


@pytest.mark.rule("GEN-6")
def test_node_sends_no_node_a_second_request_while_one_is_in_flight() -> None:
    asker = a_candidate(epoch=5)

    assert asker.waits(until=999) == []


@pytest.mark.rule("GEN-8")
def test_node_sends_a_peer_no_request_during_the_back_off_when_a_request_fails() -> None:
    asker = a_candidate(epoch=5)

    assert asker.fails_to_reach(2, now_ms=300) == []
    assert asker.core.deadline_ms == 320
    assert asks_again(asker) == [sends(vote_request(epoch=5, by=1, to=2), to=2)]
    assert asker.core.deadline_ms == 1000, "a back-off that is over wakes no node"


@pytest.mark.rule("GEN-8", "GEN-7")
def test_node_drops_the_connection_and_repeats_the_request_when_it_times_out() -> None:
    asker = a_resigned(epoch=5, voters=(1, 2))
    asker.handle(ShutdownRequested(timeout_ms=5000), now_ms=0)
    late = asker.response_event(end_response(epoch=7, leader=2), of=2)
    assert asker.waits(until=1999) == []

    effects = asker.waits(until=2000)

    announcement = our_end_request(epoch=5, successors=(2,))
    assert effects == [Disconnect(node_id=NodeId(2)), sends(announcement, to=2)]
    assert asker.handle(late, now_ms=2010) == []


@pytest.mark.rule("GEN-7", "GEN-8")
def test_failure_of_a_request_that_is_forgotten_changes_nothing() -> None:
    asker = a_follower(of=2, epoch=5)
    asker.receives(begin_request(epoch=6, leader=3))
    before = asker.role

    assert asker.fails_to_reach(2, now_ms=200) == []
    assert asker.role == before


@pytest.mark.rule("GEN-7")
def test_node_expects_the_response_to_a_request_until_its_role_changes() -> None:
    asker = a_follower(of=2, epoch=5)
    number = asker.response_event(fetch_response(epoch=5, leader=2), of=2).number
    before = asker.core.expects_response(number)

    asker.receives(begin_request(epoch=6, leader=3))

    assert (before, asker.core.expects_response(number)) == (True, False)
    assert asker.core.expects_response(asker.response_event(fetch_response(epoch=6, leader=3), of=3).number)


@pytest.mark.rule("GEN-7", "GEN-8")
def test_request_that_was_forgotten_and_not_sent_does_not_time_out() -> None:
    asker = a_follower(of=2, epoch=5)
    asker.receives(begin_request(epoch=6, leader=3))
    asker.gets(fetch_response(epoch=6, leader=3), of=3, now_ms=1900)

    asker.fails_to_reach(2, Failure.NOT_SENT, now_ms=1950)

    assert Disconnect(node_id=NodeId(2)) not in asker.waits(until=2100)
