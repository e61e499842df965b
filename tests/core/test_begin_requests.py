"""A leader announces itself (rules BEGIN; GEN-10..12)."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from raft.core.effects import HaltCause, ReportFault
from raft.core.messages import BeginQuorumEpochRequest, BeginQuorumEpochResponse, RequestRefused
from raft.errors import ErrorCode
from raft.types import Endpoint, NodeId, ReplicaKey, Uuid
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
    an_unattached,
    voter_set_with_directories,
)
from tests.core.orders import becomes, halts, replies, sends, stores
from tests.core.states import follower, unattached
from tests.core.wording import begin_answer, begin_request, endpoint, led_by, our_fetch

ANNOUNCED = "node 2 leads epoch {epoch}"


@pytest.mark.parametrize(
    ("node", "epoch"),
    [
        pytest.param(lambda: an_unattached(epoch=5), 5, id="unattached at this epoch"),
        pytest.param(lambda: an_unattached(epoch=5), 6, id="unattached, at a higher epoch"),
        pytest.param(lambda: a_prospective(epoch=5), 5, marks=pytest.mark.rule("PREVOTE-16"), id="prospective"),
        pytest.param(lambda: a_prospective(epoch=5, leader=3), 6, id="prospective with an older leader"),
        pytest.param(lambda: a_candidate(epoch=5), 5, id="candidate that lost"),
        pytest.param(lambda: a_candidate(epoch=5), 6, id="candidate of an older epoch"),
        pytest.param(lambda: a_follower(of=3, epoch=5, has_fetched=True), 6, id="follower of an older leader"),
    ],
)
@pytest.mark.rule("BEGIN-5", "GEN-10", "STATE-5", "ROLE-10", "GEN-4")
def test_node_follows_and_fetches_at_once_when_a_leader_announces_itself(node: Callable[[], Node], epoch: int) -> None:
    voter = node()
    before = voter.role

    effects = voter.hears(begin_request(epoch=epoch, leader=2), now_ms=300)

    voted = before.voted_key if epoch == before.epoch else None
    after = follower(of=2, epoch=epoch, voted=voted, until=2300)
    assert effects == [
        stores(epoch=epoch, leader=2, voted=voted),
        becomes(after, was=before, reason=ANNOUNCED.format(epoch=epoch)),
        replies(begin_answer(epoch=epoch, leader=2)),
        sends(our_fetch(epoch=epoch), to=2),
    ]
    assert voter.role == after


@pytest.mark.parametrize(
    "node",
    [pytest.param(lambda: a_leader(epoch=5), id="leader"), pytest.param(lambda: a_resigned(epoch=5), id="resigned")],
)
@pytest.mark.rule("BEGIN-5", "ROLE-5", "ROLE-9")
def test_leader_of_an_older_epoch_follows_the_new_one(node: Callable[[], Node]) -> None:
    voter = node()
    before = voter.role

    effects = voter.hears(begin_request(epoch=6, leader=2), now_ms=300)

    after = follower(of=2, epoch=6, until=2300)
    assert effects == [
        stores(epoch=6, leader=2),
        becomes(after, was=before, reason="node 2 leads epoch 6"),
        replies(begin_answer(epoch=6, leader=2)),
        sends(our_fetch(epoch=6, log_end=(5, 11)), to=2),
    ]
    assert voter.role == after


@pytest.mark.rule("BEGIN-5", "ROLE-5")
def test_node_keeps_its_vote_when_it_follows_another_in_the_same_epoch() -> None:
    voter = an_unattached(epoch=5, voted=3)
    before = voter.role

    effects = voter.hears(begin_request(epoch=5, leader=2), now_ms=300)

    after = follower(of=2, epoch=5, voted=3, until=2300)
    assert effects[:2] == [
        stores(epoch=5, leader=2, voted=3),
        becomes(after, was=before, reason="node 2 leads epoch 5"),
    ]
    assert voter.role == after


@pytest.mark.parametrize(
    ("node", "request_", "answer"),
    [
        pytest.param(
            lambda: a_follower(of=3, epoch=5),
            begin_request(epoch=4, leader=2),
            begin_answer(epoch=5, leader=3, error=ErrorCode.FENCED_LEADER_EPOCH),
            marks=pytest.mark.rule("BEGIN-6", "GEN-3", "GEN-4", "ERROR-3", "ERROR-4"),
            id="an older leader is fenced, and told of the new one",
        ),
        pytest.param(
            lambda: an_unattached(epoch=5),
            begin_request(epoch=4, leader=1),
            begin_answer(epoch=5, leader=None, error=ErrorCode.FENCED_LEADER_EPOCH),
            marks=pytest.mark.rule("BEGIN-6"),
            id="an older epoch is fenced, even when it names this node its leader",
        ),
        pytest.param(
            lambda: a_follower(of=2, epoch=5, has_fetched=True),
            begin_request(epoch=5, leader=2),
            begin_answer(epoch=5, leader=2),
            marks=pytest.mark.rule("BEGIN-8", "TIMER-2"),
            id="a follower of that leader hears nothing new",
        ),
        pytest.param(
            lambda: a_follower(of=2, epoch=5, has_fetched=True),
            begin_request(epoch=5, leader=2, endpoints=(Endpoint("moved", 1),)),
            begin_answer(epoch=5, leader=2),
            marks=pytest.mark.rule("BEGIN-8", "GEN-10"),
            id="as many endpoints as before are no news",
        ),
        pytest.param(
            lambda: a_prospective(epoch=5, leader=2),
            begin_request(epoch=5, leader=2),
            begin_answer(epoch=5, leader=2),
            marks=pytest.mark.rule("PREVOTE-16", "PREVOTE-17"),
            id="a prospective node that gave this leader up goes on asking",
        ),
        pytest.param(
            lambda: a_leader(epoch=5),
            begin_request(epoch=5, leader=1),
            begin_answer(epoch=5, leader=1),
            id="a leader hears its own name",
        ),
        pytest.param(
            lambda: an_unattached(epoch=5),
            begin_request(epoch=6, leader=None),
            begin_answer(epoch=5, leader=None, error=ErrorCode.INVALID_REQUEST),
            id="a negative leader is malformed, and its epoch not adopted",
        ),
        pytest.param(
            lambda: an_unattached(epoch=0, log=a_log((), 0)),
            begin_request(epoch=0, leader=2),
            begin_answer(epoch=0, leader=None, error=ErrorCode.INVALID_REQUEST),
            marks=pytest.mark.rule("GEN-13"),
            id="epoch 0 never has a leader",
        ),
        pytest.param(
            lambda: a_follower(of=2, epoch=5),
            begin_request(epoch=5, leader=2, to=3),
            begin_answer(epoch=5, leader=2, error=ErrorCode.INVALID_VOTER_KEY),
            marks=pytest.mark.rule("BEGIN-9"),
            id="another voter was meant",
        ),
    ],
)
def test_node_answers_and_stays_as_it_is_when_an_announcement_is_no_news(
    node: Callable[[], Node], request_: BeginQuorumEpochRequest, answer: BeginQuorumEpochResponse
) -> None:
    voter = node()
    before, deadline_ms = voter.role, voter.core.deadline_ms

    effects = voter.hears(request_)

    assert effects == [replies(answer)]
    assert voter.role == before
    assert voter.core.deadline_ms == deadline_ms


@pytest.mark.rule("BEGIN-9")
@pytest.mark.parametrize(
    "addressee", [ReplicaKey(NodeId(3)), ReplicaKey(NodeId(1), Uuid("disk-0"))], ids=["another voter", "another disk"]
)
def test_node_follows_all_the_same_when_the_announcement_was_meant_for_another(addressee: ReplicaKey) -> None:
    voter = an_unattached(epoch=5, voters=voter_set_with_directories(), directory="disk-1")
    before = voter.role

    effects = voter.hears(begin_request(epoch=5, leader=2, to=addressee), now_ms=300)

    after = follower(of=2, epoch=5, until=2300)
    assert effects == [
        stores(epoch=5, leader=2),
        becomes(after, was=before, reason="node 2 leads epoch 5"),
        replies(begin_answer(epoch=5, leader=2, error=ErrorCode.INVALID_VOTER_KEY)),
        sends(our_fetch(epoch=5, by=ReplicaKey(NodeId(1), Uuid("disk-1"))), to=2),
    ]
    assert voter.role == after


@pytest.mark.rule("BEGIN-9", "ROLE-7")
def test_observer_follows_without_a_fetch_timeout_when_it_is_taken_for_a_voter() -> None:
    observer = an_unattached(epoch=5, voters=(2, 3))

    effects = observer.hears(begin_request(epoch=5, leader=2), now_ms=300)

    assert replies(begin_answer(epoch=5, leader=2)) in effects
    assert observer.role == follower(of=2, epoch=5, until=None)


@pytest.mark.rule("BEGIN-8", "GEN-10", "PREVOTE-10")
def test_follower_begins_anew_when_its_leader_names_more_endpoints() -> None:
    voter = a_follower(of=2, epoch=5, has_fetched=True)
    before = voter.role
    endpoints = (Endpoint("inside", 1), Endpoint("outside", 2))

    effects = voter.hears(begin_request(epoch=5, leader=2, endpoints=endpoints), now_ms=300)

    after = follower(of=2, epoch=5, at=endpoints, until=2300)
    response = BeginQuorumEpochResponse(leader=led_by(2, epoch=5, at=endpoints))
    assert effects == [
        becomes(after, was=before, reason="node 2 leads epoch 5"),
        replies(response),
        sends(our_fetch(epoch=5), to=2, at=endpoints[0]),
    ]
    assert voter.role == after


@pytest.mark.rule("GEN-11", "BEGIN-4")
def test_node_goes_to_the_endpoint_in_the_announcement_when_there_is_one() -> None:
    voter = an_unattached(epoch=5)
    moved = Endpoint("moved", 1)

    effects = voter.hears(begin_request(epoch=5, leader=2, endpoints=(moved,)), now_ms=300)

    assert effects[-1] == sends(our_fetch(epoch=5), to=2, at=moved)
    assert voter.role == follower(of=2, epoch=5, at=(moved,), until=2300)


@pytest.mark.rule("GEN-11", "BEGIN-4")
def test_node_goes_to_the_endpoint_of_the_voter_set_when_the_announcement_has_none() -> None:
    voter = an_unattached(epoch=5)

    effects = voter.hears(begin_request(epoch=5, leader=3, endpoints=()), now_ms=300)

    assert effects[-1] == sends(our_fetch(epoch=5), to=3, at=endpoint(3))
    assert voter.role == follower(of=3, epoch=5, until=2300)


@pytest.mark.rule("GEN-11", "ROLE-6")
def test_node_knows_a_leader_by_id_alone_when_nobody_says_where_it_is() -> None:
    voter = an_unattached(epoch=5)
    before = voter.role

    effects = voter.hears(begin_request(epoch=6, leader=9), now_ms=300)

    after = unattached(epoch=6, leader=9, until=1000)
    assert effects == [
        stores(epoch=6, leader=9),
        becomes(after, was=before, reason="node 9 leads epoch 6"),
        replies(begin_answer(epoch=6, leader=9, address_known=False)),
        sends(our_fetch(epoch=6), to=2),
    ]
    assert voter.role == after
    assert voter.hears(begin_request(epoch=6, leader=9), now_ms=310) == [
        replies(begin_answer(epoch=6, leader=9, address_known=False))
    ], "the same again is no news"


@pytest.mark.rule("GEN-10", "GEN-11")
def test_node_that_knew_a_leader_by_id_alone_follows_it_when_told_where_it_is() -> None:
    voter = an_unattached(epoch=5, leader=9)
    before = voter.role

    effects = voter.hears(begin_request(epoch=5, leader=9, endpoints=(endpoint(9),)), now_ms=300)

    after = follower(of=9, epoch=5, until=2300)
    assert effects == [
        becomes(after, was=before, reason="node 9 leads epoch 5"),
        replies(begin_answer(epoch=5, leader=9)),
        sends(our_fetch(epoch=5), to=9),
    ]
    assert voter.role == after


@pytest.mark.parametrize(
    ("node", "request_", "reason"),
    [
        pytest.param(
            lambda: a_follower(of=3, epoch=5),
            begin_request(epoch=5, leader=2),
            "two leaders in epoch 5: 3 is known, a message names 2",
            marks=pytest.mark.rule("BEGIN-7", "SCENARIO-22"),
            id="a follower hears of another leader",
        ),
        pytest.param(
            lambda: a_leader(epoch=5),
            begin_request(epoch=5, leader=2),
            "two leaders in epoch 5: 1 is known, a message names 2",
            marks=pytest.mark.rule("BEGIN-7"),
            id="the leader hears of another leader",
        ),
        pytest.param(
            lambda: a_resigned(epoch=5),
            begin_request(epoch=5, leader=2),
            "two leaders in epoch 5: 1 is known, a message names 2",
            marks=pytest.mark.rule("BEGIN-7"),
            id="the resigned leader hears of another leader",
        ),
        pytest.param(
            lambda: a_prospective(epoch=5, leader=3),
            begin_request(epoch=5, leader=2),
            "two leaders in epoch 5: 3 is known, a message names 2",
            marks=pytest.mark.rule("BEGIN-7", "ROLE-6"),
            id="a prospective node has not forgotten the leader",
        ),
        pytest.param(
            lambda: an_unattached(epoch=5, leader=9),
            begin_request(epoch=5, leader=2),
            "two leaders in epoch 5: 9 is known, a message names 2",
            marks=pytest.mark.rule("BEGIN-7", "ROLE-6"),
            id="an unattached node has not forgotten the leader",
        ),
        pytest.param(
            lambda: a_follower(of=3, epoch=5),
            begin_request(epoch=6, leader=1),
            "a message names this node leader of epoch 6, which it never led",
            id="a node hears that it leads a later epoch",
        ),
        pytest.param(
            lambda: an_unattached(epoch=5),
            begin_request(epoch=5, leader=1),
            "a message names this node leader of epoch 5, which it never led",
            id="a node hears that it leads its own epoch",
        ),
        pytest.param(
            lambda: a_leader(epoch=5),
            begin_request(epoch=6, leader=1),
            "a message names this node leader of epoch 6, which it never led",
            id="a leader hears that it leads a later epoch",
        ),
    ],
)
@pytest.mark.rule("GEN-12")
def test_node_writes_nothing_and_stops_when_an_announcement_cannot_be_true(
    node: Callable[[], Node], request_: BeginQuorumEpochRequest, reason: str
) -> None:
    voter = node()
    before = voter.role

    effects = voter.hears(request_)

    assert effects == [
        replies(RequestRefused(error=ErrorCode.UNKNOWN_SERVER_ERROR)),
        halts(HaltCause.CONTRADICTING_LEADER, reason),
    ]
    assert voter.role == before
    assert voter.hears(begin_request(epoch=9, leader=3)) == []
    assert voter.core.deadline_ms is None


def test_candidate_stays_one_when_the_leader_of_its_epoch_is_a_stranger_without_an_address() -> None:
    voter = a_candidate(epoch=5)
    before = voter.role

    effects = voter.hears(begin_request(epoch=5, leader=9))

    assert effects == [
        ReportFault(message="a message names node 9 leader of epoch 5, but no address, and no voter has that id"),
        replies(begin_answer(epoch=5, leader=None)),
    ]
    assert voter.role == before


@pytest.mark.rule("FETCH-25", "HW-7")
def test_deposed_leader_waits_for_its_disk_before_it_fetches() -> None:
    voter = a_leader(epoch=5, flushed=False)

    effects = voter.hears(begin_request(epoch=6, leader=2), now_ms=300)

    assert effects[-1] == replies(begin_answer(epoch=6, leader=2))
    assert voter.has_flushed(now_ms=310) == [sends(our_fetch(epoch=6, log_end=(5, 11)), to=2)]


@pytest.mark.rule("GEN-13", "FETCH-19")
def test_node_with_an_empty_log_fetches_from_offset_0_after_epoch_0() -> None:
    voter = a_node(epoch=1, config=a_config(), log=a_log((), 0))

    effects = voter.hears(begin_request(epoch=1, leader=2), now_ms=300)

    assert effects[-1] == sends(our_fetch(epoch=1, log_end=(0, 0)), to=2)
