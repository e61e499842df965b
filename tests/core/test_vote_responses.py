"""The responses to votes and pre-votes, and what a won or lost round leads to (rules VOTE, PREVOTE, CONTROL-1, 2)."""

from __future__ import annotations

import pytest

from raft.core.events import Failure
from raft.core.log_view import LogView
from raft.errors import ErrorCode
from raft.types import NodeId, ReplicaKey
from tests.core.builder import a_candidate, a_follower, a_leader, a_log, a_prospective, a_resigned
from tests.core.orders import becomes, flushes, opens_epoch, sends, stores
from tests.core.states import candidate, follower, leader, prospective, tally, unattached
from tests.core.wording import begin_request, endpoint, our_fetch, pre_vote_request, vote_request, vote_response

FIVE = (1, 2, 3, 4, 5)


@pytest.mark.rule("VOTE-1", "PREVOTE-12", "ROLE-12", "STATE-5", "TIMER-3")
def test_prospective_node_raises_its_epoch_and_stores_its_own_vote_when_a_majority_would_elect_it() -> None:
    asker = a_prospective(epoch=5)
    before = asker.role

    effects = asker.gets(vote_response(epoch=5, granted=True), of=2, now_ms=300)

    won = prospective(epoch=5, until=1000, votes=tally(1, 2))
    after = candidate(epoch=6, until=1300)
    assert before == prospective(epoch=5, until=1000)
    assert effects == [
        stores(epoch=6, voted=1),
        becomes(after, was=won, reason="won pre-votes of [1, 2]"),
        sends(vote_request(epoch=6, by=1, to=2), to=2),
        sends(vote_request(epoch=6, by=1, to=3), to=3, number=1),
    ]
    assert asker.role == after


@pytest.mark.rule("VOTE-20", "VOTE-18", "STATE-5", "BEGIN-1", "BEGIN-4", "CONTROL-1", "CONTROL-2", "TIMER-5", "ROLE-3")
def test_candidate_leads_opens_its_epoch_and_then_announces_itself_when_a_majority_elects_it() -> None:
    asker = a_candidate(epoch=5)

    effects = asker.gets(vote_response(epoch=5, granted=True), of=3, now_ms=300)

    won = candidate(epoch=5, until=1000, votes=tally(1, 3))
    after = leader(epoch=5, start=10)
    assert effects == [
        stores(epoch=5, leader=1, voted=1),
        becomes(after, was=won, reason="won with votes of [1, 3]"),
        opens_epoch(5, at=10, granted_by=(1, 3)),
        flushes(11),
        sends(begin_request(epoch=5, leader=1, endpoints=(endpoint(1),), to=2), to=2),
        sends(begin_request(epoch=5, leader=1, endpoints=(endpoint(1),), to=3), to=3, number=1),
    ]
    assert asker.role == after


@pytest.mark.rule("VOTE-20", "DIVERGE-9", "GEN-13")
@pytest.mark.parametrize(
    ("log", "epochs"), [(a_log(((3, 0),), 10), [(3, 0), (5, 10)]), (a_log((), 0), [(5, 0)])], ids=["records", "empty"]
)
def test_new_leader_enters_its_epoch_into_the_cache(log: LogView, epochs: list[tuple[int, int]]) -> None:
    node = a_leader(epoch=5, log=log)

    assert [(entry.epoch, entry.start_offset) for entry in node.core.log.epochs] == epochs


@pytest.mark.rule("ROLE-6", "STATE-3")
def test_new_leader_keeps_its_vote_beside_its_leadership() -> None:
    node = a_leader(epoch=5)

    assert node.role == leader(epoch=5, start=10)
    assert node.role.voted_key == ReplicaKey(NodeId(1))


@pytest.mark.rule("HW-4", "ROLE-16")
def test_node_keeps_the_high_watermark_until_it_leads_and_then_knows_none() -> None:
    node = a_follower(of=2, epoch=5, high_watermark=8)

    node.waits(until=2000)
    assert (node.role_name, node.high_watermark) == ("Prospective", 8)
    node.gets(vote_response(epoch=5, granted=True), of=3, now_ms=2000)
    assert (node.role_name, node.high_watermark) == ("Candidate", 8)
    node.gets(vote_response(epoch=6, granted=True), of=3, now_ms=2000)
    assert (node.role_name, node.high_watermark) == ("Leader", None)


@pytest.mark.rule("ROLE-16")
def test_node_keeps_the_high_watermark_when_it_loses_its_leader() -> None:
    node = a_follower(of=2, epoch=5, high_watermark=8)

    node.receives(vote_request(epoch=6))

    assert (node.role_name, node.high_watermark) == ("Unattached", 8)


@pytest.mark.rule("VOTE-18", "PREVOTE-12", "SCENARIO-18")
@pytest.mark.parametrize(
    ("voters", "granting", "wins"),
    [
        pytest.param((1, 2), [2], True, id="two of two"),
        pytest.param((1, 2, 3), [2], True, id="two of three"),
        pytest.param((1, 2, 3, 4), [2], False, id="two of four: an even split elects no leader"),
        pytest.param((1, 2, 3, 4), [2, 3], True, id="three of four"),
        pytest.param(FIVE, [2], False, id="two of five"),
        pytest.param(FIVE, [2, 3], True, id="three of five"),
    ],
)
def test_round_is_won_by_a_majority_of_all_voters(voters: tuple[int, ...], granting: list[int], wins: bool) -> None:
    forecast, election = a_prospective(epoch=5, voters=voters), a_candidate(epoch=5, voters=voters)

    for voter in granting:
        forecast.gets(vote_response(epoch=5, granted=True), of=voter)
        election.gets(vote_response(epoch=5, granted=True), of=voter)

    assert forecast.role_name == ("Candidate" if wins else "Prospective")
    assert election.role_name == ("Leader" if wins else "Candidate")


@pytest.mark.rule("VOTE-18", "VOTE-19", "VOTE-16", "TIMER-7", "SCENARIO-19", "ROLE-13")
@pytest.mark.parametrize(
    ("voters", "refusing"), [((1, 2), [2]), ((1, 2, 3), [2, 3]), (FIVE, [2, 3, 4])], ids=["two", "three", "five"]
)
def test_candidate_that_lost_sends_no_request_and_waits_for_its_timeout(
    voters: tuple[int, ...], refusing: list[int]
) -> None:
    asker = a_candidate(epoch=5, voters=voters)

    for voter in refusing:
        assert asker.gets(vote_response(epoch=5), of=voter, now_ms=100) == []

    assert asker.role == candidate(epoch=5, until=1000, votes=tally(1, refused=refusing, of=voters))
    assert asker.waits(until=999) == []
    asker.waits(until=1000)
    assert asker.role == prospective(epoch=5, voted=1, until=2000, votes=tally(1, of=voters))


@pytest.mark.rule("VOTE-19", "VOTE-16")
def test_candidate_that_lost_does_not_repeat_a_request_that_failed() -> None:
    asker = a_candidate(epoch=5, voters=FIVE)
    for voter in (2, 3, 4):
        asker.gets(vote_response(epoch=5), of=voter)

    assert asker.fails_to_reach(5, now_ms=200) == []
    assert asker.waits(until=300) == []


@pytest.mark.rule("VOTE-16")
def test_candidate_sends_vote_only_to_those_that_have_not_responded() -> None:
    asker = a_candidate(epoch=5, voters=FIVE)

    assert asker.gets(vote_response(epoch=5), of=2, now_ms=100) == []
    assert asker.gets(vote_response(epoch=5, granted=True), of=3, now_ms=100) == []
    asker.fails_to_reach(4, now_ms=100)

    assert asker.waits(until=120) == [sends(vote_request(epoch=5, by=1, to=4), to=4)]
    assert asker.role == candidate(epoch=5, until=1000, votes=tally(1, 3, refused=[2], of=FIVE))


@pytest.mark.rule("PREVOTE-13", "PREVOTE-10", "SCENARIO-42")
def test_prospective_node_returns_to_its_leader_when_it_lost() -> None:
    asker = a_prospective(epoch=5, leader=2, voted=3)
    asker.gets(vote_response(epoch=5, leader=2), of=2, now_ms=100)

    effects = asker.gets(vote_response(epoch=5, leader=2), of=3, now_ms=300)

    lost = prospective(epoch=5, leader=2, voted=3, until=1000, votes=tally(1, refused=[2, 3]))
    after = follower(of=2, epoch=5, voted=3, until=2300, has_fetched=False)
    assert effects == [
        becomes(after, was=lost, reason="lost pre-votes, refused by [2, 3]"),
        sends(our_fetch(epoch=5), to=2),
    ]
    assert asker.role == after


@pytest.mark.rule("PREVOTE-13", "PREVOTE-14", "ROLE-5", "ROLE-6", "TIMER-3", "SCENARIO-42")
@pytest.mark.parametrize("known", [None, 9], ids=["no leader known", "a leader known by id alone"])
def test_prospective_node_waits_and_looks_for_the_leader_when_it_lost(known: int | None) -> None:
    asker = a_prospective(epoch=5, leader=known, voted=3)
    asker.gets(vote_response(epoch=5), of=2, now_ms=100)

    effects = asker.gets(vote_response(epoch=5), of=3, now_ms=300)

    lost = prospective(epoch=5, leader=known, at=(), voted=3, until=1000, votes=tally(1, refused=[2, 3]))
    after = unattached(epoch=5, leader=known, voted=3, until=1300)
    assert effects == [
        becomes(after, was=lost, reason="lost pre-votes, refused by [2, 3]"),
        sends(our_fetch(epoch=5), to=2),
    ]
    assert asker.role == after


@pytest.mark.rule("PREVOTE-18", "COMPAT-5", "SCENARIO-9", "PREVOTE-19")
def test_prospective_node_requests_standard_votes_at_once_when_a_voter_does_not_support_pre_votes() -> None:
    asker = a_prospective(epoch=5)
    before = asker.role
    late = asker.response_event(vote_response(epoch=5, granted=True), of=3)

    effects = asker.fails_to_reach(2, Failure.UNSUPPORTED_VERSION, now_ms=300)

    after = candidate(epoch=6, until=1300)
    assert effects == [
        stores(epoch=6, voted=1),
        becomes(after, was=before, reason="node 2 does not support pre-votes"),
        sends(vote_request(epoch=6, by=1, to=2), to=2),
        sends(vote_request(epoch=6, by=1, to=3), to=3, number=1),
    ]
    assert asker.role == after
    assert asker.handle(late, now_ms=310) == []
    assert asker.role == after


@pytest.mark.rule("PREVOTE-18")
def test_prospective_node_stays_prospective_when_a_voter_cannot_be_reached() -> None:
    asker = a_prospective(epoch=5)
    before = asker.role

    assert asker.fails_to_reach(2, Failure.DISCONNECTED, now_ms=300) == []
    assert asker.role == before


@pytest.mark.rule("PREVOTE-18", "SCENARIO-10", "PREVOTE-19")
def test_candidate_stays_candidate_when_a_late_response_is_of_a_voter_without_pre_votes() -> None:
    asker = a_prospective(epoch=5)
    unsupported = asker.failure_of(2, Failure.UNSUPPORTED_VERSION)
    asker.gets(vote_response(epoch=5, granted=True), of=3, now_ms=300)
    after = candidate(epoch=6, until=1300)
    assert asker.role == after

    assert asker.handle(unsupported, now_ms=310) == []
    assert asker.role == after


@pytest.mark.rule("PREVOTE-18")
def test_candidate_tries_again_when_a_standard_vote_is_of_an_unsupported_version() -> None:
    asker = a_candidate(epoch=5)
    before = asker.role

    assert asker.fails_to_reach(2, Failure.UNSUPPORTED_VERSION, now_ms=300) == []
    assert asker.role == before
    assert asker.waits(until=320) == [sends(vote_request(epoch=5, by=1, to=2), to=2)]


@pytest.mark.rule("GEN-9")
def test_refused_election_does_not_count_a_vote_that_came_with_an_error() -> None:
    asker = a_candidate(epoch=5)

    asker.gets(vote_response(epoch=5, granted=True, error=ErrorCode.BROKER_NOT_AVAILABLE), of=2)

    assert asker.role == candidate(epoch=5, until=1000)


@pytest.mark.rule("PREVOTE-2", "PREVOTE-1", "VOTE-3", "TIMER-3", "ROLE-8", "ROLE-11", "STATE-6")
def test_candidate_requests_pre_votes_of_its_own_epoch_when_its_timeout_expires() -> None:
    asker = a_candidate(epoch=5)
    before = asker.role

    effects = asker.waits(until=1000)

    after = prospective(epoch=5, voted=1, until=2000)
    assert effects == [
        becomes(after, was=before, reason="election timeout without enough votes"),
        sends(pre_vote_request(epoch=5, by=1, to=2, log_end=(3, 10)), to=2),
        sends(pre_vote_request(epoch=5, by=1, to=3, log_end=(3, 10)), to=3, number=1),
    ]
    assert asker.role == after


@pytest.mark.rule("SCENARIO-11")
def test_isolated_candidate_never_raises_its_epoch_again() -> None:
    asker = a_candidate(epoch=5)

    for timeout in range(1, 50):
        asker.waits(until=timeout * 1000)

    assert asker.core.epoch == 5


@pytest.mark.rule("ROLE-9", "SCENARIO-8")
def test_resigned_leader_requests_pre_votes_one_epoch_up_when_its_timeout_expires() -> None:
    resigned = a_resigned(epoch=5)
    before = resigned.role

    effects = resigned.waits(until=1000)

    between = unattached(epoch=6, until=1000)
    after = prospective(epoch=6, until=2000)
    assert effects == [
        stores(epoch=6),
        becomes(between, was=before, reason="election timeout after it resigned"),
        becomes(after, was=between, reason="election timeout without a leader"),
        sends(pre_vote_request(epoch=6, by=1, to=2, log_end=(5, 11)), to=2),
        sends(pre_vote_request(epoch=6, by=1, to=3, log_end=(5, 11)), to=3, number=1),
    ]
    assert resigned.role == after
