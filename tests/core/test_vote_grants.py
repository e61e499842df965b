"""Requests for a standard vote that change the node: it grants, or adopts a higher epoch (rules VOTE-6, VOTE-11)."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from raft.errors import ErrorCode
from tests.core.builder import Node, a_candidate, a_follower, a_leader, a_node, a_prospective, a_resigned, an_unattached
from tests.core.orders import becomes, replies, sends, stores
from tests.core.states import prospective, tally, unattached
from tests.core.wording import our_fetch, pre_vote_request, vote_request, vote_response


@pytest.mark.rule("VOTE-2", "VOTE-10", "VOTE-11", "STATE-5", "TIMER-3", "SCENARIO-20")
@pytest.mark.parametrize("log_end", [(3, 10), (3, 11), (4, 1)], ids=["as good", "longer", "of a later epoch"])
def test_unattached_node_stores_its_vote_then_grants_it_when_the_log_is_up_to_date(log_end: tuple[int, int]) -> None:
    voter = an_unattached(epoch=5)
    before = voter.role

    effects = voter.receives(vote_request(epoch=5, log_end=log_end), now_ms=300)

    after = unattached(epoch=5, voted=2, until=1300)
    assert effects == [
        stores(epoch=5, voted=2),
        becomes(after, was=before, reason="voted for node 2"),
        replies(vote_response(epoch=5, granted=True)),
        sends(our_fetch(epoch=5), to=2),
    ]
    assert voter.role == after


@pytest.mark.rule("VOTE-11", "TIMER-3")
def test_unattached_node_draws_its_election_timeout_again_when_it_grants() -> None:
    draws = iter([17, 0, 400, 0])
    voter = a_node(epoch=5, draw=lambda _sides: next(draws))
    assert voter.role == unattached(epoch=5, until=1017)

    voter.receives(vote_request(epoch=5), now_ms=300)

    assert voter.role == unattached(epoch=5, voted=2, until=1700)


@pytest.mark.rule("PREVOTE-15", "VOTE-11", "ROLE-5", "GEN-7")
def test_prospective_node_grants_and_starts_its_round_again_when_it_has_not_voted() -> None:
    voter = a_prospective(epoch=5, voters=(1, 2, 3, 4, 5))
    first_response = voter.response_event(vote_response(epoch=5, granted=True), of=4)
    voter.gets(vote_response(epoch=5, granted=True), of=3, now_ms=10)
    before = voter.role

    effects = voter.receives(vote_request(epoch=5, by=2), now_ms=300)

    after = prospective(epoch=5, voted=2, until=1300, votes=tally(1, of=(1, 2, 3, 4, 5)))
    assert effects == [
        stores(epoch=5, voted=2),
        becomes(after, was=before, reason="voted for node 2"),
        replies(vote_response(epoch=5, granted=True)),
        *(
            sends(pre_vote_request(epoch=5, by=1, to=voter_id), to=voter_id, number=number)
            for number, voter_id in enumerate([2, 3, 4, 5])
        ),
    ]
    assert voter.role == after
    assert voter.handle(first_response, now_ms=310) == [], "its round is over"


@pytest.mark.parametrize(
    ("node", "until", "log_end"),
    [
        pytest.param(lambda: an_unattached(epoch=5), 1000, (3, 10), id="unattached"),
        pytest.param(lambda: a_prospective(epoch=5, leader=3), 1000, (3, 10), id="prospective"),
        pytest.param(lambda: a_candidate(epoch=5), 1000, (3, 10), marks=pytest.mark.rule("VOTE-21"), id="candidate"),
        pytest.param(lambda: a_leader(epoch=5), 1300, (5, 11), id="leader, which draws a fresh timeout"),
        pytest.param(lambda: a_resigned(epoch=5), 1000, (5, 11), id="resigned"),
        pytest.param(
            lambda: a_follower(of=3, epoch=5, voted=3), 1300, (3, 10), id="follower, which draws a fresh timeout"
        ),
    ],
)
@pytest.mark.rule("VOTE-6", "ROLE-5", "ROLE-10", "STATE-5", "TIMER-3")
def test_node_of_any_role_adopts_a_higher_epoch_first_when_it_then_refuses(
    node: Callable[[], Node], until: int, log_end: tuple[int, int]
) -> None:
    voter = node()
    before = voter.role

    effects = voter.receives(vote_request(epoch=6, log_end=(2, 50)), now_ms=300)

    after = unattached(epoch=6, until=until)
    assert effects == [
        stores(epoch=6),
        becomes(after, was=before, reason="vote request of node 2 at epoch 6"),
        replies(vote_response(epoch=6)),
        sends(our_fetch(epoch=6, log_end=log_end), to=2),
    ]
    assert voter.role == after


@pytest.mark.parametrize(
    ("node", "until"),
    [
        pytest.param(lambda: an_unattached(epoch=5, voted=3), 1000, id="unattached, voted in the old epoch"),
        pytest.param(lambda: a_candidate(epoch=5), 1000, marks=pytest.mark.rule("VOTE-21"), id="candidate"),
        pytest.param(lambda: a_follower(of=3, epoch=5, has_fetched=True), 1300, id="follower"),
    ],
)
@pytest.mark.rule("VOTE-6", "STATE-5")
def test_node_stores_the_epoch_and_then_its_vote_when_it_grants_at_a_higher_epoch(
    node: Callable[[], Node], until: int
) -> None:
    voter = node()
    before = voter.role

    effects = voter.receives(vote_request(epoch=6), now_ms=300)

    adopted = unattached(epoch=6, until=until)
    after = unattached(epoch=6, voted=2, until=1300)
    assert effects == [
        stores(epoch=6),
        becomes(adopted, was=before, reason="vote request of node 2 at epoch 6"),
        stores(epoch=6, voted=2),
        becomes(after, was=adopted, reason="voted for node 2"),
        replies(vote_response(epoch=6, granted=True)),
        sends(our_fetch(epoch=6), to=2),
    ]
    assert voter.role == after


@pytest.mark.rule("VOTE-14", "ROLE-10")
def test_node_adopts_a_higher_epoch_when_the_vote_was_meant_for_another() -> None:
    voter = an_unattached(epoch=5)
    before = voter.role

    effects = voter.receives(vote_request(epoch=6, to=3))

    after = unattached(epoch=6, until=1000)
    assert effects == [
        stores(epoch=6),
        becomes(after, was=before, reason="vote request of node 2 at epoch 6"),
        replies(vote_response(epoch=6, error=ErrorCode.INVALID_VOTER_KEY)),
        sends(our_fetch(epoch=6), to=2),
    ]
    assert voter.role == after


@pytest.mark.rule("VOTE-13", "SCENARIO-40")
def test_node_grants_its_vote_when_the_candidate_is_no_voter_it_knows() -> None:
    voter = an_unattached(epoch=5)

    effects = voter.receives(vote_request(epoch=6, by=42), now_ms=300)

    assert replies(vote_response(epoch=6, granted=True)) in effects
    assert voter.role == unattached(epoch=6, voted=42, until=1300)


@pytest.mark.rule("VOTE-13", "ROLE-7")
def test_observer_grants_its_vote_and_still_has_no_election_timeout() -> None:
    observer = an_unattached(epoch=5, voters=(2, 3))

    effects = observer.receives(vote_request(epoch=5), now_ms=300)

    assert effects[0] == stores(epoch=5, voted=2)
    assert replies(vote_response(epoch=5, granted=True)) in effects
    assert observer.role == unattached(epoch=5, voted=2, until=None)


@pytest.mark.rule("VOTE-6", "ROLE-7", "TIMER-3")
def test_observer_adopts_a_higher_epoch_without_a_timer() -> None:
    observer = a_follower(of=3, epoch=5, voters=(2, 3))

    observer.receives(vote_request(epoch=6, log_end=(2, 50)), now_ms=300)

    assert observer.role == unattached(epoch=6, until=None)
