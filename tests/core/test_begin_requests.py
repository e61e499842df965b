"""A leader announces itself (rules BEGIN; GEN-10..12)."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from raft.core.effects import ReportFault
from raft.core.messages import BeginQuorumEpochResponse
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
from tests.core.orders import becomes, replies, sends, stores
from tests.core.states import follower, unattached
from tests.core.wording import begin_request, begin_response, endpoint, led_by, our_fetch, vote_response

FORMER_LEADER_RULES = pytest.mark.rule("ROLE-5", "ROLE-9")


@pytest.mark.parametrize(
    ("node", "epoch", "log_end"),
    [
        pytest.param(lambda: an_unattached(epoch=5), 5, (3, 10), id="unattached at this epoch"),
        pytest.param(lambda: an_unattached(epoch=5), 6, (3, 10), id="unattached, at a higher epoch"),
        pytest.param(
            lambda: a_prospective(epoch=5), 5, (3, 10), marks=pytest.mark.rule("PREVOTE-16"), id="prospective"
        ),
        pytest.param(lambda: a_prospective(epoch=5, leader=3), 6, (3, 10), id="prospective with an older leader"),
        pytest.param(lambda: a_candidate(epoch=5), 5, (3, 10), id="candidate that lost"),
        pytest.param(lambda: a_candidate(epoch=5), 6, (3, 10), id="candidate of an older epoch"),
        pytest.param(lambda: a_follower(of=3, epoch=5, has_fetched=True), 6, (3, 10), id="follower of an older leader"),
        pytest.param(lambda: a_leader(epoch=5), 6, (5, 11), marks=FORMER_LEADER_RULES, id="leader of an older epoch"),
        pytest.param(
            lambda: a_resigned(epoch=5), 6, (5, 11), marks=FORMER_LEADER_RULES, id="resigned leader of an older epoch"
        ),
    ],
)
@pytest.mark.rule("BEGIN-5", "GEN-10", "STATE-5", "ROLE-10", "GEN-4")
def test_node_follows_and_fetches_at_once_when_a_leader_announces_itself(
    node: Callable[[], Node], epoch: int, log_end: tuple[int, int]
) -> None:
    voter = node()
    before = voter.role

    effects = voter.receives(begin_request(epoch=epoch, leader=2), now_ms=300)

    voted = before.voted_key if epoch == before.epoch else None
    after = follower(of=2, epoch=epoch, voted=voted, until=2300)
    assert effects == [
        stores(epoch=epoch, leader=2, voted=voted),
        becomes(after, was=before, reason=f"node 2 leads epoch {epoch}"),
        replies(begin_response(epoch=epoch, leader=2)),
        sends(our_fetch(epoch=epoch, log_end=log_end), to=2),
    ]
    assert voter.role == after


@pytest.mark.rule("BEGIN-5", "ROLE-5")
def test_node_keeps_its_vote_when_it_follows_another_in_the_same_epoch() -> None:
    voter = an_unattached(epoch=5, voted=3)
    before = voter.role

    effects = voter.receives(begin_request(epoch=5, leader=2), now_ms=300)

    after = follower(of=2, epoch=5, voted=3, until=2300)
    assert effects[:2] == [
        stores(epoch=5, leader=2, voted=3),
        becomes(after, was=before, reason="node 2 leads epoch 5"),
    ]
    assert voter.role == after


@pytest.mark.rule("PREVOTE-24", "PREVOTE-10", "ROLE-5")
def test_prospective_node_follows_its_leader_again_when_that_announces_itself() -> None:
    voter = a_prospective(epoch=5, leader=2, voted=3)
    before = voter.role

    effects = voter.receives(begin_request(epoch=5, leader=2), now_ms=300)

    after = follower(of=2, epoch=5, voted=3, until=2300)
    assert effects == [
        becomes(after, was=before, reason="leader 2 announces itself again"),
        replies(begin_response(epoch=5, leader=2)),
        sends(our_fetch(epoch=5), to=2),
    ]
    assert voter.gets(vote_response(epoch=5, granted=True, leader=2), of=3, now_ms=400) == []
    assert voter.role == after


@pytest.mark.rule("PREVOTE-24", "GEN-11")
def test_prospective_node_goes_on_when_the_address_of_its_leader_is_unknown() -> None:
    voter = a_prospective(epoch=5, leader=9)
    before = voter.role

    voter.receives(begin_request(epoch=5, leader=9))

    assert voter.role == before


@pytest.mark.rule("BEGIN-9")
@pytest.mark.parametrize(
    "addressee", [ReplicaKey(NodeId(3)), ReplicaKey(NodeId(1), Uuid("disk-0"))], ids=["another voter", "another disk"]
)
def test_node_follows_even_when_the_announcement_was_meant_for_another(addressee: ReplicaKey) -> None:
    voter = an_unattached(epoch=5, voters=voter_set_with_directories(), directory="disk-1")
    before = voter.role

    effects = voter.receives(begin_request(epoch=5, leader=2, to=addressee), now_ms=300)

    after = follower(of=2, epoch=5, until=2300)
    assert effects == [
        stores(epoch=5, leader=2),
        becomes(after, was=before, reason="node 2 leads epoch 5"),
        replies(begin_response(epoch=5, leader=2, error=ErrorCode.INVALID_VOTER_KEY)),
        sends(our_fetch(epoch=5, by=ReplicaKey(NodeId(1), Uuid("disk-1"))), to=2),
    ]
    assert voter.role == after


@pytest.mark.rule("BEGIN-9", "ROLE-7")
def test_observer_follows_without_a_fetch_timeout_when_the_leader_announces_itself_to_it() -> None:
    observer = an_unattached(epoch=5, voters=(2, 3))

    effects = observer.receives(begin_request(epoch=5, leader=2), now_ms=300)

    assert replies(begin_response(epoch=5, leader=2)) in effects
    assert observer.role == follower(of=2, epoch=5, until=None)


@pytest.mark.rule("BEGIN-8", "GEN-10", "PREVOTE-10")
def test_follower_starts_to_follow_again_when_its_leader_names_more_endpoints() -> None:
    voter = a_follower(of=2, epoch=5, has_fetched=True)
    before = voter.role
    endpoints = (Endpoint("inside", 1), Endpoint("outside", 2))

    effects = voter.receives(begin_request(epoch=5, leader=2, endpoints=endpoints), now_ms=300)

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

    effects = voter.receives(begin_request(epoch=5, leader=2, endpoints=(moved,)), now_ms=300)

    assert effects[-1] == sends(our_fetch(epoch=5), to=2, at=moved)
    assert voter.role == follower(of=2, epoch=5, at=(moved,), until=2300)


@pytest.mark.rule("GEN-11", "BEGIN-4")
def test_node_goes_to_the_endpoint_of_the_voter_set_when_the_announcement_has_none() -> None:
    voter = an_unattached(epoch=5)

    effects = voter.receives(begin_request(epoch=5, leader=3, endpoints=()), now_ms=300)

    assert effects[-1] == sends(our_fetch(epoch=5), to=3, at=endpoint(3))
    assert voter.role == follower(of=3, epoch=5, until=2300)


@pytest.mark.rule("GEN-11", "ROLE-6")
def test_node_knows_a_leader_by_id_alone_when_its_address_is_unknown() -> None:
    voter = an_unattached(epoch=5)
    before = voter.role

    effects = voter.receives(begin_request(epoch=6, leader=9), now_ms=300)

    after = unattached(epoch=6, leader=9, until=1000)
    assert effects == [
        stores(epoch=6, leader=9),
        becomes(after, was=before, reason="node 9 leads epoch 6"),
        replies(begin_response(epoch=6, leader=9, address_known=False)),
        sends(our_fetch(epoch=6), to=2),
    ]
    assert voter.role == after
    assert voter.receives(begin_request(epoch=6, leader=9), now_ms=310) == [
        replies(begin_response(epoch=6, leader=9, address_known=False))
    ], "the same again is no news"


@pytest.mark.rule("GEN-10", "GEN-11")
def test_node_that_knew_a_leader_by_id_alone_follows_it_when_a_message_has_its_address() -> None:
    voter = an_unattached(epoch=5, leader=9)
    before = voter.role

    effects = voter.receives(begin_request(epoch=5, leader=9, endpoints=(endpoint(9),)), now_ms=300)

    after = follower(of=9, epoch=5, until=2300)
    assert effects == [
        becomes(after, was=before, reason="node 9 leads epoch 5"),
        replies(begin_response(epoch=5, leader=9)),
        sends(our_fetch(epoch=5), to=9),
    ]
    assert voter.role == after


def test_candidate_stays_one_when_the_leader_of_its_epoch_is_a_stranger_without_an_address() -> None:
    voter = a_candidate(epoch=5)
    before = voter.role

    effects = voter.receives(begin_request(epoch=5, leader=9))

    assert effects == [
        ReportFault(message="a message names node 9 leader of epoch 5, but no address, and no voter has that id"),
        replies(begin_response(epoch=5, leader=None)),
    ]
    assert voter.role == before


@pytest.mark.rule("FETCH-25", "HW-7")
def test_replaced_leader_waits_for_its_disk_before_it_fetches() -> None:
    voter = a_leader(epoch=5, flushed=False)

    effects = voter.receives(begin_request(epoch=6, leader=2), now_ms=300)

    assert effects[-1] == replies(begin_response(epoch=6, leader=2))
    assert voter.has_flushed(now_ms=310) == [sends(our_fetch(epoch=6, log_end=(5, 11)), to=2)]


@pytest.mark.rule("GEN-13", "FETCH-19")
def test_node_with_an_empty_log_fetches_from_offset_0_after_epoch_0() -> None:
    voter = a_node(epoch=1, config=a_config(), log=a_log((), 0))

    effects = voter.receives(begin_request(epoch=1, leader=2), now_ms=300)

    assert effects[-1] == sends(our_fetch(epoch=1, log_end=(0, 0)), to=2)
