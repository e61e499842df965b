"""From which node a node fetches, and how it finds its leader (rules FETCH-20, FETCH-21, BOOT, ROLE-13)."""

from __future__ import annotations

import pytest

from raft.core.effects import Disconnect
from raft.errors import ErrorCode
from raft.types import Endpoint, NodeId
from tests.core.builder import a_config, a_follower, a_node, an_unattached
from tests.core.orders import sends
from tests.core.states import follower
from tests.core.wording import begin_request, end_request, endpoint, fetch_response, our_fetch


@pytest.mark.rule("FETCH-20", "BOOT-7")
def test_follower_fetches_from_another_node_while_its_leader_fails_and_then_from_the_leader_again() -> None:
    node = a_follower(of=2, epoch=5)

    assert node.fails_to_reach(2, now_ms=300) == [sends(our_fetch(epoch=5), to=3)]
    error = ErrorCode.NOT_LEADER_OR_FOLLOWER
    assert node.gets(fetch_response(epoch=5, leader=2, error=error), of=3, now_ms=310) == []
    assert node.waits(until=319) == []
    assert node.waits(until=320) == [sends(our_fetch(epoch=5), to=2, number=1)]


@pytest.mark.rule("FETCH-20", "GEN-8")
def test_observer_fetches_from_another_node_when_its_leader_times_out_and_then_from_the_leader_again() -> None:
    node = a_node(epoch=5, leader=2, config=a_config((2, 3)))

    assert node.waits(until=2000) == [Disconnect(node_id=NodeId(2)), sends(our_fetch(epoch=5), to=3)]
    assert node.role == follower(of=2, epoch=5, until=None)

    response = fetch_response(epoch=5, leader=2)
    assert node.gets(response, of=3, now_ms=2010) == [sends(our_fetch(epoch=5), to=2, number=1)]


@pytest.mark.rule("FETCH-20", "BOOT-9")
def test_observer_recognizes_its_leader_by_address_among_the_bootstrap_servers() -> None:
    servers = (endpoint(2), Endpoint("server", 9092))
    node = a_node(epoch=5, leader=2, config=a_config((2, 3), bootstrap_servers=servers))

    assert node.fails_to_reach(2, now_ms=300) == [sends(our_fetch(epoch=5), to=-3, at=servers[1])]


@pytest.mark.rule("FETCH-20", "GEN-8")
def test_observer_does_not_fetch_from_the_old_address_of_a_leader_that_timed_out_at_its_new_one() -> None:
    node = a_node(epoch=5, config=a_config((2, 3)))
    node.receives(begin_request(epoch=5, leader=2, endpoints=(Endpoint("moved", 1),)), now_ms=0)

    assert node.waits(until=2000)[1:] == [sends(our_fetch(epoch=5), to=3, number=1)]


@pytest.mark.rule("FETCH-20", "GEN-8")
def test_observer_fetches_from_its_leader_again_when_it_timed_out_and_there_is_no_other_node() -> None:
    node = a_node(epoch=5, leader=2, config=a_config((2,)))

    assert node.waits(until=2000) == [Disconnect(node_id=NodeId(2)), sends(our_fetch(epoch=5), to=2)]


@pytest.mark.rule("FETCH-20", "GEN-6")
def test_follower_waits_when_there_is_no_other_node_to_fetch_from() -> None:
    node = a_follower(of=2, epoch=5, voters=(1, 2))

    assert node.fails_to_reach(2, now_ms=300) == []
    assert node.waits(until=320) == [sends(our_fetch(epoch=5), to=2)]


@pytest.mark.rule("FETCH-21", "BOOT-6", "SCENARIO-34")
def test_observer_fetches_from_another_node_when_the_first_knows_no_leader() -> None:
    node = an_unattached(epoch=5, voters=(2, 3))

    effects = node.gets(fetch_response(epoch=5, leader=None, error=ErrorCode.NOT_LEADER_OR_FOLLOWER), of=2, now_ms=300)
    assert effects == [sends(our_fetch(epoch=5), to=3)]

    node.gets(fetch_response(epoch=6, leader=2, error=ErrorCode.FENCED_LEADER_EPOCH), of=3, now_ms=310)
    assert node.role == follower(of=2, epoch=6, until=None)


@pytest.mark.rule("END-7", "ROLE-13")
def test_follower_still_fetches_while_it_waits_for_its_successor_delay() -> None:
    node = a_follower(of=2, epoch=5)
    node.receives(end_request(epoch=5, leader=2, successors=(3, 1)), now_ms=100)

    error = ErrorCode.NOT_LEADER_OR_FOLLOWER
    effects = node.gets(fetch_response(epoch=5, leader=2, error=error), of=2, now_ms=110)

    assert effects == [Disconnect(node_id=NodeId(2)), sends(our_fetch(epoch=5), to=3, number=1)]
    assert node.role == follower(of=2, epoch=5, until=600)
