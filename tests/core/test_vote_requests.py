"""A standard vote is asked for (rules VOTE)."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from raft.core.messages import VoteRequest, VoteResponse
from raft.errors import ErrorCode
from raft.types import NodeId, ReplicaKey, Uuid
from tests.core.builder import (
    Node,
    a_candidate,
    a_config,
    a_follower,
    a_leader,
    a_node,
    a_prospective,
    a_resigned,
    an_unattached,
    voter_set_with_directories,
)
from tests.core.orders import replies
from tests.core.states import follower, prospective, unattached
from tests.core.wording import begin_request, vote_answer, vote_request

FENCED = ErrorCode.FENCED_LEADER_EPOCH
MALFORMED = ErrorCode.INVALID_REQUEST


def voter_2(directory: str | None = None) -> ReplicaKey:
    return ReplicaKey(NodeId(2), Uuid(directory) if directory else None)


@pytest.mark.parametrize(
    ("node", "request_", "answer"),
    [
        pytest.param(
            lambda: an_unattached(epoch=5),
            vote_request(epoch=4),
            vote_answer(epoch=5, error=FENCED),
            marks=pytest.mark.rule("VOTE-5", "ERROR-3"),
            id="an older epoch is fenced",
        ),
        pytest.param(
            lambda: a_follower(of=3, epoch=5),
            vote_request(epoch=4),
            vote_answer(epoch=5, leader=3, error=FENCED),
            marks=pytest.mark.rule("VOTE-5", "GEN-4", "ERROR-4"),
            id="an older epoch is fenced, and told of the leader",
        ),
        pytest.param(
            lambda: a_leader(epoch=5),
            vote_request(epoch=5),
            vote_answer(epoch=5, leader=1),
            marks=pytest.mark.rule("VOTE-7", "VOTE-12", "GEN-4"),
            id="a leader never votes in its epoch",
        ),
        pytest.param(
            lambda: a_candidate(epoch=5),
            vote_request(epoch=5),
            vote_answer(epoch=5),
            marks=pytest.mark.rule("VOTE-7", "VOTE-12"),
            id="a candidate votes for itself only",
        ),
        pytest.param(
            lambda: a_candidate(epoch=5),
            vote_request(epoch=5, by=1),
            vote_answer(epoch=5),
            marks=pytest.mark.rule("VOTE-7"),
            id="a candidate refuses even its own id",
        ),
        pytest.param(
            lambda: a_resigned(epoch=5),
            vote_request(epoch=5, by=1),
            vote_answer(epoch=5, leader=1),
            marks=pytest.mark.rule("VOTE-7", "ROLE-15", "STATE-11"),
            id="a resigned leader never votes in its epoch",
        ),
        pytest.param(
            lambda: a_follower(of=3, epoch=5, voted=2),
            vote_request(epoch=5, by=2),
            vote_answer(epoch=5, leader=3),
            marks=pytest.mark.rule("VOTE-7"),
            id="a follower does not even repeat its vote",
        ),
        pytest.param(
            lambda: an_unattached(epoch=5, leader=9),
            vote_request(epoch=5),
            vote_answer(epoch=5, leader=9, address_known=False),
            marks=pytest.mark.rule("VOTE-9"),
            id="a leader is known by id",
        ),
        pytest.param(
            lambda: a_prospective(epoch=5, leader=3),
            vote_request(epoch=5),
            vote_answer(epoch=5, leader=3),
            marks=pytest.mark.rule("VOTE-9", "PREVOTE-15"),
            id="a prospective node still knows the leader",
        ),
        pytest.param(
            lambda: an_unattached(epoch=5, voted=3),
            vote_request(epoch=5, by=2, log_end=(4, 99)),
            vote_answer(epoch=5),
            marks=pytest.mark.rule("VOTE-8", "SCENARIO-21"),
            id="the vote went to another",
        ),
        pytest.param(
            lambda: an_unattached(epoch=5, voted=2),
            vote_request(epoch=5, by=2, log_end=(0, 0)),
            vote_answer(epoch=5, granted=True),
            marks=pytest.mark.rule("VOTE-8", "VOTE-15", "SCENARIO-21"),
            id="the vote is repeated, whatever the log",
        ),
        pytest.param(
            lambda: an_unattached(epoch=5, voted=voter_2("disk-a")),
            vote_request(epoch=5, by=voter_2("disk-b")),
            vote_answer(epoch=5),
            marks=pytest.mark.rule("VOTE-8"),
            id="the vote went to the same id on another disk",
        ),
        pytest.param(
            lambda: an_unattached(epoch=5, voted=voter_2("disk-a")),
            vote_request(epoch=5, by=voter_2("disk-a")),
            vote_answer(epoch=5, granted=True),
            marks=pytest.mark.rule("VOTE-8", "VOTE-15"),
            id="the vote is repeated to the same disk",
        ),
        pytest.param(
            lambda: an_unattached(epoch=5, voted=2),
            vote_request(epoch=5, by=voter_2("disk-b")),
            vote_answer(epoch=5, granted=True),
            marks=pytest.mark.rule("VOTE-8"),
            id="no disk was stored, so any will do",
        ),
        pytest.param(
            lambda: a_prospective(epoch=5, voted=3),
            vote_request(epoch=5, by=2),
            vote_answer(epoch=5),
            marks=pytest.mark.rule("PREVOTE-15", "VOTE-8"),
            id="a prospective node has voted for another",
        ),
        pytest.param(
            lambda: an_unattached(epoch=5),
            vote_request(epoch=5, log_end=(2, 50)),
            vote_answer(epoch=5),
            marks=pytest.mark.rule("VOTE-2", "VOTE-10", "VOTE-12", "SCENARIO-20"),
            id="an older last epoch loses, however long the log",
        ),
        pytest.param(
            lambda: an_unattached(epoch=5),
            vote_request(epoch=5, log_end=(3, 9)),
            vote_answer(epoch=5),
            marks=pytest.mark.rule("VOTE-2", "VOTE-3", "VOTE-10", "SCENARIO-20"),
            id="a shorter log of the same epoch loses",
        ),
        pytest.param(
            lambda: an_unattached(epoch=5),
            vote_request(epoch=5, to=3),
            vote_answer(epoch=5, error=ErrorCode.INVALID_VOTER_KEY),
            marks=pytest.mark.rule("VOTE-14"),
            id="another voter was meant",
        ),
        pytest.param(
            lambda: an_unattached(epoch=5, voters=voter_set_with_directories(), directory="disk-1"),
            vote_request(epoch=5, to=ReplicaKey(NodeId(1), Uuid("disk-0"))),
            vote_answer(epoch=5, error=ErrorCode.INVALID_VOTER_KEY),
            marks=pytest.mark.rule("VOTE-14"),
            id="our id on another disk was meant",
        ),
        pytest.param(
            lambda: an_unattached(epoch=5, voted=2),
            vote_request(epoch=5, by=2, to=3),
            vote_answer(epoch=5, error=ErrorCode.INVALID_VOTER_KEY),
            marks=pytest.mark.rule("VOTE-14"),
            id="not even a vote already given is repeated to one who meant another",
        ),
        pytest.param(
            lambda: an_unattached(epoch=5),
            vote_request(epoch=5, log_end=(3, -1)),
            vote_answer(epoch=5, error=MALFORMED),
            marks=pytest.mark.rule("VOTE-4"),
            id="a negative log end is malformed",
        ),
        pytest.param(
            lambda: an_unattached(epoch=5),
            vote_request(epoch=5, log_end=(-1, 10)),
            vote_answer(epoch=5, error=MALFORMED),
            marks=pytest.mark.rule("VOTE-4"),
            id="a negative last epoch is malformed",
        ),
        pytest.param(
            lambda: an_unattached(epoch=5),
            vote_request(epoch=6, log_end=(6, 10)),
            vote_answer(epoch=5, error=MALFORMED),
            marks=pytest.mark.rule("VOTE-4"),
            id="a log of the epoch that is only being voted on is malformed, and its epoch not adopted",
        ),
        pytest.param(
            lambda: an_unattached(epoch=5),
            vote_request(epoch=6, by=-1),
            vote_answer(epoch=5, error=MALFORMED),
            id="a negative candidate is malformed, and its epoch not adopted",
        ),
    ],
)
def test_node_answers_and_stays_as_it_is_when_asked_for_its_vote(
    node: Callable[[], Node], request_: VoteRequest, answer: VoteResponse
) -> None:
    voter = node()
    before = voter.role

    effects = voter.hears(request_)

    assert effects == [replies(answer)]
    assert voter.role == before


@pytest.mark.rule("SCENARIO-13", "ROLE-5", "VOTE-8", "VOTE-9", "STATE-13")
def test_node_refuses_a_second_candidate_in_every_state_that_follows_its_vote() -> None:
    voter = an_unattached(epoch=5, voted=3)
    assert voter.hears(vote_request(epoch=5, by=2), now_ms=0) == [replies(vote_answer(epoch=5))]

    voter.hears(begin_request(epoch=5, leader=3), now_ms=0)
    voters_of_no_use = a_config((1, 2))
    states = [
        (voter, follower(of=3, epoch=5, voted=3, until=2000), True),
        (a_node(epoch=5, leader=3, voted=3), follower(of=3, epoch=5, voted=3, until=2000), True),
        (a_prospective(epoch=5, leader=3, voted=3), prospective(epoch=5, leader=3, voted=3, until=1000), True),
        (
            a_node(epoch=5, leader=3, voted=3, config=voters_of_no_use),
            unattached(epoch=5, leader=3, voted=3, until=1000),
            False,
        ),
    ]

    for node, role, address_known in states:
        assert node.role == role
        refusal = replies(vote_answer(epoch=5, leader=3, address_known=address_known))
        assert node.hears(vote_request(epoch=5, by=2)) == [refusal]
        assert node.role == role
