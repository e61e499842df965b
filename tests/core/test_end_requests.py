"""A leader resigns (rules END, PREVOTE-23)."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from raft.types import NodeId, ReplicaKey, Uuid
from tests.core.builder import (
    Node,
    a_candidate,
    a_follower,
    a_prospective,
    an_unattached,
    voter_set_with_directories,
)
from tests.core.orders import becomes, replies, sends, stores
from tests.core.states import follower, prospective
from tests.core.wording import end_request, end_response, fetch_response, our_fetch, pre_vote_request, vote_response


@pytest.mark.parametrize(
    ("successors", "delay_ms"),
    [
        pytest.param((3, 1), 500, id="second of two"),
        pytest.param((3, 1, 4), 250, id="second of three"),
        pytest.param((3, 4, 1), 500, id="third of three"),
        pytest.param((3, 1, 4, 5), 125, id="second of four"),
        pytest.param((3, 4, 1, 5), 250, id="third of four"),
        pytest.param((3, 4, 5, 1), 500, id="fourth of four"),
        pytest.param((3, 4), 1000, marks=pytest.mark.rule("END-10", "SCENARIO-24"), id="not listed"),
    ],
)
@pytest.mark.rule("END-6", "END-7", "END-8", "TIMER-2", "PREVOTE-23", "GEN-4")
def test_follower_waits_for_its_successor_delay_when_its_leader_resigns(
    successors: tuple[int, ...], delay_ms: int
) -> None:
    voter = a_follower(of=2, epoch=5, has_fetched=True, voters=(1, 2, 3, 4, 5))

    effects = voter.receives(end_request(epoch=5, leader=2, successors=successors), now_ms=300)

    assert effects == [replies(end_response(epoch=5, leader=2)), sends(our_fetch(epoch=5), to=2)]
    assert voter.role == follower(of=2, epoch=5, until=300 + delay_ms, has_fetched=False)
    assert voter.core.deadline_ms == 300 + delay_ms


@pytest.mark.parametrize("successors", [(1,), (1, 3), ()], ids=["alone in the list", "first of two", "empty list"])
@pytest.mark.rule("END-8", "END-11", "SCENARIO-37")
def test_first_successor_requests_pre_votes_at_once(successors: tuple[int, ...]) -> None:
    voter = a_follower(of=2, epoch=5, has_fetched=True)

    effects = voter.receives(end_request(epoch=5, leader=2, successors=successors), now_ms=300)

    freed = follower(of=2, epoch=5, until=300)
    after = prospective(epoch=5, leader=2, until=1300)
    assert effects == [
        replies(end_response(epoch=5, leader=2)),
        becomes(after, was=freed, reason="fetch timeout expired"),
        sends(pre_vote_request(epoch=5, by=1, to=2), to=2),
        sends(pre_vote_request(epoch=5, by=1, to=3), to=3, number=1),
    ]
    assert voter.role == after


@pytest.mark.rule("END-9")
@pytest.mark.parametrize(
    ("ours", "delay_ms"), [("disk-1", 500), ("disk-0", 1000)], ids=["our disk is listed", "another disk is listed"]
)
def test_follower_finds_itself_by_directory_id_too_when_the_list_has_one(ours: str, delay_ms: int) -> None:
    voter = a_follower(of=2, epoch=5, voters=voter_set_with_directories(), directory="disk-1")
    successors = (ReplicaKey(NodeId(3), Uuid("disk-3")), ReplicaKey(NodeId(1), Uuid(ours)))

    voter.receives(end_request(epoch=5, leader=2, successors=successors), now_ms=300)

    assert voter.role == follower(of=2, epoch=5, until=300 + delay_ms)


@pytest.mark.rule("END-6", "END-7", "GEN-10", "ROLE-10")
@pytest.mark.parametrize(
    ("node", "epoch"),
    [
        pytest.param(lambda: an_unattached(epoch=5), 5, id="unattached, at this epoch"),
        pytest.param(lambda: a_prospective(epoch=5), 5, id="prospective, at this epoch"),
        pytest.param(lambda: a_candidate(epoch=5), 6, id="candidate, at a higher epoch"),
        pytest.param(lambda: a_follower(of=3, epoch=5), 6, id="follower of an older leader"),
    ],
)
def test_node_that_did_not_know_the_leader_adopts_it_and_then_waits(node: Callable[[], Node], epoch: int) -> None:
    voter = node()
    before = voter.role

    effects = voter.receives(end_request(epoch=epoch, leader=2, successors=(3, 1)), now_ms=300)

    followed = follower(of=2, epoch=epoch, until=2300)
    assert effects == [
        stores(epoch=epoch, leader=2),
        becomes(followed, was=before, reason=f"node 2 resigned from epoch {epoch}"),
        replies(end_response(epoch=epoch, leader=2)),
        sends(our_fetch(epoch=epoch), to=2),
    ]
    assert voter.role == follower(of=2, epoch=epoch, until=800)


@pytest.mark.rule("PREVOTE-23", "SCENARIO-24")
def test_follower_grants_a_pre_vote_to_the_successor_after_its_leader_resigned() -> None:
    voter = a_follower(of=2, epoch=5, has_fetched=True, voters=(1, 2, 3, 4))
    refused, granted = vote_response(epoch=5, leader=2), vote_response(epoch=5, leader=2, granted=True)
    assert voter.receives(pre_vote_request(epoch=5, by=3)) == [replies(refused)]

    voter.receives(end_request(epoch=5, leader=2, successors=(3, 1, 4)))

    assert voter.receives(pre_vote_request(epoch=5, by=3)) == [replies(granted)]


@pytest.mark.rule("PREVOTE-23", "END-7", "GEN-7")
def test_response_from_before_the_leader_resigned_does_not_extend_the_fetch_timeout() -> None:
    voter = a_follower(of=2, epoch=5, has_fetched=True, voters=(1, 2, 3, 4))
    late = voter.response_event(fetch_response(epoch=5, leader=2), of=2)
    voter.receives(end_request(epoch=5, leader=2, successors=(3, 1, 4)), now_ms=100)

    assert voter.handle(late, now_ms=101) == []
    assert voter.role == follower(of=2, epoch=5, until=350, has_fetched=False)


@pytest.mark.rule("ROLE-7")
def test_observer_starts_no_election_when_its_leader_resigns() -> None:
    observer = a_follower(of=2, epoch=5, has_fetched=True, voters=(2, 3))

    effects = observer.receives(end_request(epoch=5, leader=2, successors=(3,)))

    assert effects == [replies(end_response(epoch=5, leader=2)), sends(our_fetch(epoch=5), to=2)]
    assert observer.role == follower(of=2, epoch=5, until=None, has_fetched=False)
