"""A pre-vote is asked for (rules PREVOTE)."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from raft.core.messages import VoteRequest, VoteResponse
from raft.errors import ErrorCode
from raft.types import NodeId, ReplicaKey, Uuid
from tests.core.builder import (
    Node,
    a_candidate,
    a_follower,
    a_leader,
    a_prospective,
    a_resigned,
    an_unattached,
    voter_set_with_directories,
)
from tests.core.orders import becomes, replies, sends, stores
from tests.core.states import unattached
from tests.core.wording import our_fetch, pre_vote_request, vote_answer, vote_request

FENCED = ErrorCode.FENCED_LEADER_EPOCH
MALFORMED = ErrorCode.INVALID_REQUEST


@pytest.mark.parametrize(
    ("node", "request_", "answer"),
    [
        pytest.param(
            lambda: an_unattached(epoch=5),
            pre_vote_request(epoch=5),
            vote_answer(epoch=5, granted=True),
            marks=pytest.mark.rule("PREVOTE-6"),
            id="unattached grants",
        ),
        pytest.param(
            lambda: an_unattached(epoch=5, voted=3),
            pre_vote_request(epoch=5, by=2),
            vote_answer(epoch=5, granted=True),
            marks=pytest.mark.rule("PREVOTE-6", "PREVOTE-7"),
            id="unattached grants though it has voted for another",
        ),
        pytest.param(
            lambda: an_unattached(epoch=5, leader=9),
            pre_vote_request(epoch=5),
            vote_answer(epoch=5, granted=True, leader=9, address_known=False),
            marks=pytest.mark.rule("PREVOTE-6"),
            id="unattached grants though it knows a leader",
        ),
        pytest.param(
            lambda: an_unattached(epoch=5),
            pre_vote_request(epoch=5, log_end=(3, 9)),
            vote_answer(epoch=5),
            marks=pytest.mark.rule("PREVOTE-6", "VOTE-12"),
            id="unattached refuses a shorter log",
        ),
        pytest.param(
            lambda: an_unattached(epoch=5),
            pre_vote_request(epoch=5, log_end=(2, 50)),
            vote_answer(epoch=5),
            marks=pytest.mark.rule("PREVOTE-6"),
            id="unattached refuses an older last epoch",
        ),
        pytest.param(
            lambda: a_prospective(epoch=5, leader=3, voted=3),
            pre_vote_request(epoch=5),
            vote_answer(epoch=5, granted=True, leader=3),
            marks=pytest.mark.rule("PREVOTE-6"),
            id="prospective grants, whatever it knows and has voted",
        ),
        pytest.param(
            lambda: a_prospective(epoch=5),
            pre_vote_request(epoch=5, log_end=(3, 9)),
            vote_answer(epoch=5),
            marks=pytest.mark.rule("PREVOTE-6"),
            id="prospective refuses a shorter log",
        ),
        pytest.param(
            lambda: a_candidate(epoch=5),
            pre_vote_request(epoch=5),
            vote_answer(epoch=5, granted=True),
            marks=pytest.mark.rule("PREVOTE-6"),
            id="candidate grants",
        ),
        pytest.param(
            lambda: a_candidate(epoch=5),
            pre_vote_request(epoch=5, log_end=(3, 9)),
            vote_answer(epoch=5),
            marks=pytest.mark.rule("PREVOTE-6"),
            id="candidate refuses a shorter log",
        ),
        pytest.param(
            lambda: a_resigned(epoch=5),
            pre_vote_request(epoch=5, log_end=(5, 11)),
            vote_answer(epoch=5, granted=True, leader=1),
            marks=pytest.mark.rule("PREVOTE-6", "SCENARIO-37"),
            id="resigned grants",
        ),
        pytest.param(
            lambda: a_resigned(epoch=5),
            pre_vote_request(epoch=5, log_end=(5, 10)),
            vote_answer(epoch=5, leader=1),
            marks=pytest.mark.rule("PREVOTE-6"),
            id="resigned refuses a shorter log",
        ),
        pytest.param(
            lambda: a_leader(epoch=5),
            pre_vote_request(epoch=5, log_end=(5, 50)),
            vote_answer(epoch=5, leader=1),
            marks=pytest.mark.rule("PREVOTE-8"),
            id="leader never grants",
        ),
        pytest.param(
            lambda: a_follower(of=3, epoch=5, has_fetched=True),
            pre_vote_request(epoch=5, log_end=(4, 50)),
            vote_answer(epoch=5, leader=3),
            marks=pytest.mark.rule("PREVOTE-9"),
            id="follower that has fetched refuses",
        ),
        pytest.param(
            lambda: a_follower(of=3, epoch=5),
            pre_vote_request(epoch=5),
            vote_answer(epoch=5, granted=True, leader=3),
            marks=pytest.mark.rule("PREVOTE-9"),
            id="follower that has not fetched yet grants",
        ),
        pytest.param(
            lambda: a_follower(of=3, epoch=5),
            pre_vote_request(epoch=5, log_end=(3, 9)),
            vote_answer(epoch=5, leader=3),
            marks=pytest.mark.rule("PREVOTE-9"),
            id="follower that has not fetched yet refuses a shorter log",
        ),
        pytest.param(
            lambda: an_unattached(epoch=5),
            pre_vote_request(epoch=5, by=42),
            vote_answer(epoch=5, granted=True),
            marks=pytest.mark.rule("PREVOTE-11"),
            id="whether it is a voter is not asked",
        ),
        pytest.param(
            lambda: a_follower(of=3, epoch=5),
            pre_vote_request(epoch=4),
            vote_answer(epoch=5, leader=3, error=FENCED),
            marks=pytest.mark.rule("PREVOTE-5"),
            id="an older epoch is fenced",
        ),
        pytest.param(
            lambda: an_unattached(epoch=5),
            pre_vote_request(epoch=5, log_end=(5, 1)),
            vote_answer(epoch=5, granted=True),
            marks=pytest.mark.rule("PREVOTE-4"),
            id="a log of the present epoch is fine",
        ),
        pytest.param(
            lambda: an_unattached(epoch=5),
            pre_vote_request(epoch=6, log_end=(7, 10)),
            vote_answer(epoch=5, error=MALFORMED),
            marks=pytest.mark.rule("PREVOTE-4"),
            id="a log of a later epoch is malformed",
        ),
        pytest.param(
            lambda: an_unattached(epoch=5),
            pre_vote_request(epoch=6, log_end=(-1, 10)),
            vote_answer(epoch=5, error=MALFORMED),
            marks=pytest.mark.rule("PREVOTE-4"),
            id="a negative last epoch is malformed",
        ),
        pytest.param(
            lambda: an_unattached(epoch=5),
            pre_vote_request(epoch=6, log_end=(3, -1)),
            vote_answer(epoch=5, error=MALFORMED),
            marks=pytest.mark.rule("PREVOTE-4"),
            id="a negative log end is malformed",
        ),
        pytest.param(
            lambda: an_unattached(epoch=5),
            pre_vote_request(epoch=5, to=3),
            vote_answer(epoch=5, error=ErrorCode.INVALID_VOTER_KEY),
            marks=pytest.mark.rule("VOTE-14"),
            id="another voter was meant",
        ),
        pytest.param(
            lambda: an_unattached(epoch=5, voters=voter_set_with_directories(), directory="disk-1"),
            pre_vote_request(epoch=5, to=ReplicaKey(NodeId(1), Uuid("disk-0"))),
            vote_answer(epoch=5, error=ErrorCode.INVALID_VOTER_KEY),
            marks=pytest.mark.rule("VOTE-14"),
            id="our id on another disk was meant",
        ),
    ],
)
@pytest.mark.rule("PREVOTE-3")
def test_node_forecasts_its_vote_and_changes_nothing_when_asked_for_a_pre_vote(
    node: Callable[[], Node], request_: VoteRequest, answer: VoteResponse
) -> None:
    voter = node()
    before, deadline_ms = voter.role, voter.core.deadline_ms

    effects = voter.hears(request_)

    assert effects == [replies(answer)]
    assert voter.role == before
    assert voter.core.deadline_ms == deadline_ms


@pytest.mark.rule("PREVOTE-3", "PREVOTE-7")
def test_node_grants_any_number_of_pre_votes_and_then_still_has_its_vote() -> None:
    voter = an_unattached(epoch=5)

    for asker in (2, 3, 42):
        assert voter.hears(pre_vote_request(epoch=5, by=asker)) == [replies(vote_answer(epoch=5, granted=True))]
    voter.hears(vote_request(epoch=5, by=3), now_ms=300)

    assert voter.role == unattached(epoch=5, voted=3, until=1300)


@pytest.mark.parametrize(
    ("node", "until", "log_end"),
    [
        pytest.param(lambda: an_unattached(epoch=5, voted=3), 1000, (3, 10), id="unattached"),
        pytest.param(lambda: a_leader(epoch=5), 1300, (5, 11), marks=pytest.mark.rule("SCENARIO-15"), id="leader"),
        pytest.param(lambda: a_resigned(epoch=5), 1000, (5, 11), id="resigned"),
        pytest.param(
            lambda: a_follower(of=3, epoch=5, has_fetched=True), 1300, (3, 10), id="follower that has fetched"
        ),
    ],
)
@pytest.mark.rule("PREVOTE-5", "ROLE-10", "ROLE-5")
def test_node_of_any_role_adopts_a_higher_epoch_then_judges_as_unattached(
    node: Callable[[], Node], until: int, log_end: tuple[int, int]
) -> None:
    voter = node()
    before = voter.role

    effects = voter.hears(pre_vote_request(epoch=6, log_end=log_end), now_ms=300)

    after = unattached(epoch=6, until=until)
    assert effects == [
        stores(epoch=6),
        becomes(after, was=before, reason="pre-vote request of node 2 at epoch 6"),
        replies(vote_answer(epoch=6, granted=True)),
        sends(our_fetch(epoch=6, log_end=log_end), to=2),
    ]
    assert voter.role == after
