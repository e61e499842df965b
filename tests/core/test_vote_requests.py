"""Requests for a vote or a pre-vote that change nothing (rules VOTE, PREVOTE). For the others see test_vote_grants."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

from raft.core.messages import VoteRequest, VoteResponse
from raft.errors import ErrorCode
from raft.types import NodeId, ReplicaKey, Uuid
from tests.core.builder import Node, a_config, a_node, a_prospective, an_unattached, voter_set_with_directories
from tests.core.orders import becomes, replies, sends, stores
from tests.core.states import follower, prospective, unattached
from tests.core.tables import CANDIDATE, FOLLOWER_OF_3, LEADER, PROSPECTIVE, RESIGNED, UNATTACHED, table
from tests.core.wording import begin_request, our_fetch, pre_vote_request, vote_request, vote_response

GRANTED, REFUSED = vote_response(epoch=5, granted=True), vote_response(epoch=5)
FENCED = vote_response(epoch=5, error=ErrorCode.FENCED_LEADER_EPOCH)
MALFORMED = vote_response(epoch=5, error=ErrorCode.INVALID_REQUEST)
WRONG_VOTER = vote_response(epoch=5, error=ErrorCode.INVALID_VOTER_KEY)

WITH_DIRECTORIES = partial(UNATTACHED, voters=voter_set_with_directories(), directory="disk-1")


def voter_2(directory: str) -> ReplicaKey:
    return ReplicaKey(NodeId(2), Uuid(directory))


def led_by_3(*, error: int = ErrorCode.NONE, granted: bool = False) -> VoteResponse:
    return vote_response(epoch=5, leader=3, error=error, granted=granted)


Row = tuple[str, Callable[[], Node], dict[str, Any], VoteResponse, str]
"""Name, receiver, what the request says (epoch 5 by default), the response, and the rules."""

BOTH: list[Row] = [
    ("an older epoch is fenced", UNATTACHED, {"epoch": 4}, FENCED, "VOTE-5 PREVOTE-5 ERROR-3"),
    (
        "an older epoch is fenced, and told of the leader",
        FOLLOWER_OF_3,
        {"epoch": 4},
        led_by_3(error=ErrorCode.FENCED_LEADER_EPOCH),
        "VOTE-5 PREVOTE-5 GEN-4 ERROR-4",
    ),
    (
        "an older last epoch loses, however long the log",
        UNATTACHED,
        {"epoch": 5, "log_end": (2, 50)},
        REFUSED,
        "VOTE-2 VOTE-10 VOTE-12 PREVOTE-6 SCENARIO-20",
    ),
    (
        "a shorter log of the same epoch loses",
        UNATTACHED,
        {"epoch": 5, "log_end": (3, 9)},
        REFUSED,
        "VOTE-2 VOTE-3 VOTE-10 VOTE-12 PREVOTE-6 SCENARIO-20",
    ),
    ("another voter was meant", UNATTACHED, {"epoch": 5, "to": 3}, WRONG_VOTER, "VOTE-14"),
    (
        "our id on another disk was meant",
        WITH_DIRECTORIES,
        {"epoch": 5, "to": ReplicaKey(NodeId(1), Uuid("disk-0"))},
        WRONG_VOTER,
        "VOTE-14",
    ),
    ("a negative log end is malformed", UNATTACHED, {"epoch": 6, "log_end": (3, -1)}, MALFORMED, "VOTE-4 PREVOTE-4"),
    (
        "a negative last epoch is malformed",
        UNATTACHED,
        {"epoch": 6, "log_end": (-1, 10)},
        MALFORMED,
        "VOTE-4 PREVOTE-4",
    ),
    ("a negative candidate is malformed, its epoch not adopted", UNATTACHED, {"epoch": 6, "by": -1}, MALFORMED, ""),
]
"""Requests that are handled in the same way."""

VOTES: list[Row] = [
    ("a leader never votes in its epoch", LEADER, {}, vote_response(epoch=5, leader=1), "VOTE-7 VOTE-12 GEN-4"),
    ("a candidate votes for itself only", CANDIDATE, {}, REFUSED, "VOTE-7 VOTE-12"),
    (
        "a resigned leader never votes in its epoch",
        RESIGNED,
        {},
        vote_response(epoch=5, leader=1),
        "VOTE-7 ROLE-15 STATE-11",
    ),
    ("a follower does not repeat its vote", partial(FOLLOWER_OF_3, voted=2), {"by": 2}, led_by_3(), "VOTE-7"),
    (
        "a leader is known by id",
        partial(UNATTACHED, leader=9),
        {},
        vote_response(epoch=5, leader=9, address_known=False),
        "VOTE-9",
    ),
    (
        "a prospective node still knows the leader",
        partial(PROSPECTIVE, leader=3),
        {},
        led_by_3(),
        "VOTE-9 PREVOTE-15",
    ),
    (
        "the vote went to another",
        partial(UNATTACHED, voted=3),
        {"by": 2, "log_end": (4, 99)},
        REFUSED,
        "VOTE-8 SCENARIO-21",
    ),
    (
        "the vote is repeated, whatever the log",
        partial(UNATTACHED, voted=2),
        {"by": 2, "log_end": (0, 0)},
        GRANTED,
        "VOTE-8 VOTE-15 SCENARIO-21",
    ),
    (
        "the vote went to the same id on another disk",
        partial(UNATTACHED, voted=voter_2("disk-a")),
        {"by": voter_2("disk-b")},
        REFUSED,
        "VOTE-8",
    ),
    (
        "the vote is repeated to the same disk",
        partial(UNATTACHED, voted=voter_2("disk-a")),
        {"by": voter_2("disk-a")},
        GRANTED,
        "VOTE-8 VOTE-15",
    ),
    (
        "the vote was stored without a disk, so any disk will do",
        partial(UNATTACHED, voted=2),
        {"by": voter_2("disk-b")},
        GRANTED,
        "VOTE-8",
    ),
    (
        "a prospective node has voted for another",
        partial(PROSPECTIVE, voted=3),
        {"by": 2},
        REFUSED,
        "PREVOTE-15 VOTE-8",
    ),
    (
        "a vote already given is not repeated when another voter was meant",
        partial(UNATTACHED, voted=2),
        {"by": 2, "to": 3},
        WRONG_VOTER,
        "VOTE-14",
    ),
    (
        "a log of the epoch that is only being voted on is malformed, its epoch not adopted",
        UNATTACHED,
        {"epoch": 6, "log_end": (6, 10)},
        MALFORMED,
        "VOTE-4",
    ),
]

PRE_VOTES: list[Row] = [
    ("unattached grants", UNATTACHED, {}, GRANTED, "PREVOTE-6"),
    (
        "unattached grants though it has voted for another",
        partial(UNATTACHED, voted=3),
        {"by": 2},
        GRANTED,
        "PREVOTE-6 PREVOTE-7",
    ),
    (
        "unattached grants though it knows a leader",
        partial(UNATTACHED, leader=9),
        {},
        vote_response(epoch=5, granted=True, leader=9, address_known=False),
        "PREVOTE-6",
    ),
    (
        "prospective grants, whatever it knows and has voted",
        partial(PROSPECTIVE, leader=3, voted=3),
        {},
        led_by_3(granted=True),
        "PREVOTE-6",
    ),
    ("prospective refuses a shorter log", PROSPECTIVE, {"log_end": (3, 9)}, REFUSED, "PREVOTE-6"),
    ("candidate grants", CANDIDATE, {}, GRANTED, "PREVOTE-6"),
    ("candidate refuses a shorter log", CANDIDATE, {"log_end": (3, 9)}, REFUSED, "PREVOTE-6"),
    (
        "resigned grants",
        RESIGNED,
        {"log_end": (5, 11)},
        vote_response(epoch=5, granted=True, leader=1),
        "PREVOTE-6 SCENARIO-37",
    ),
    (
        "resigned refuses a shorter log",
        RESIGNED,
        {"log_end": (5, 10)},
        vote_response(epoch=5, leader=1),
        "PREVOTE-6",
    ),
    ("leader never grants", LEADER, {"log_end": (5, 50)}, vote_response(epoch=5, leader=1), "PREVOTE-8"),
    (
        "follower that has fetched refuses",
        partial(FOLLOWER_OF_3, has_fetched=True),
        {"log_end": (4, 50)},
        led_by_3(),
        "PREVOTE-9",
    ),
    ("follower that has not fetched yet grants", FOLLOWER_OF_3, {}, led_by_3(granted=True), "PREVOTE-9"),
    (
        "follower that has not fetched yet refuses a shorter log",
        FOLLOWER_OF_3,
        {"log_end": (3, 9)},
        led_by_3(),
        "PREVOTE-9",
    ),
    ("whether the candidate is a voter is not checked", UNATTACHED, {"by": 42}, GRANTED, "PREVOTE-11"),
    ("a log of the present epoch is valid", UNATTACHED, {"log_end": (5, 1)}, GRANTED, "PREVOTE-4"),
    ("a log of a later epoch is malformed", UNATTACHED, {"epoch": 6, "log_end": (7, 10)}, MALFORMED, "PREVOTE-4"),
]


def at_epoch_5(asked: dict[str, Any]) -> dict[str, Any]:
    return {"epoch": 5, **asked}


CASES = [
    *(
        (f"vote: {name}", node, vote_request(**at_epoch_5(asked)), response, rules)
        for name, node, asked, response, rules in BOTH + VOTES
    ),
    *(
        (f"pre-vote: {name}", node, pre_vote_request(**at_epoch_5(asked)), response, rules)
        for name, node, asked, response, rules in BOTH + PRE_VOTES
    ),
]


@pytest.mark.parametrize(("node", "request_", "response"), table(CASES))
@pytest.mark.rule("PREVOTE-3")
def test_node_responds_to_a_vote_or_a_pre_vote_and_does_not_change(
    node: Callable[[], Node], request_: VoteRequest, response: VoteResponse
) -> None:
    voter = node()
    before, deadline_ms = voter.role, voter.core.deadline_ms

    effects = voter.receives(request_)

    assert effects == [replies(response)]
    assert voter.role == before
    assert voter.core.deadline_ms == deadline_ms


@pytest.mark.parametrize("asked", [vote_request, pre_vote_request], ids=["vote", "pre-vote"])
@pytest.mark.parametrize("disk", [None, Uuid("disk-2")], ids=["the same disk", "another disk"])
@pytest.mark.parametrize("node", [UNATTACHED, PROSPECTIVE, CANDIDATE, LEADER, RESIGNED, FOLLOWER_OF_3])
@pytest.mark.rule("VOTE-25")
def test_node_never_votes_for_a_process_with_its_own_id_nor_adopts_its_epoch(
    node: Callable[[], Node], disk: Uuid | None, asked: Callable[..., VoteRequest]
) -> None:
    voter, candidate = node(), ReplicaKey(NodeId(1), disk)
    before = voter.role

    effects = voter.receives(asked(epoch=6, by=candidate, log_end=(5, 99)))

    refused = vote_response(epoch=5, leader=voter.core.leader_id, error=ErrorCode.INVALID_REQUEST)
    assert effects == [replies(refused)]
    assert voter.role == before


@pytest.mark.rule("SCENARIO-13", "ROLE-5", "VOTE-8", "VOTE-9", "STATE-13")
def test_node_refuses_a_second_candidate_in_every_state_that_follows_its_vote() -> None:
    voter = an_unattached(epoch=5, voted=3)
    assert voter.receives(vote_request(epoch=5, by=2), now_ms=0) == [replies(REFUSED)]

    voter.receives(begin_request(epoch=5, leader=3), now_ms=0)
    voters_without_the_leader = a_config((1, 2))
    states = [
        (voter, follower(of=3, epoch=5, voted=3, until=2000), True),
        (a_node(epoch=5, leader=3, voted=3), follower(of=3, epoch=5, voted=3, until=2000), True),
        (a_prospective(epoch=5, leader=3, voted=3), prospective(epoch=5, leader=3, voted=3, until=1000), True),
        (
            a_node(epoch=5, leader=3, voted=3, config=voters_without_the_leader),
            unattached(epoch=5, leader=3, voted=3, until=1000),
            False,
        ),
    ]

    for node, role, address_known in states:
        assert node.role == role
        refusal = replies(vote_response(epoch=5, leader=3, address_known=address_known))
        assert node.receives(vote_request(epoch=5, by=2)) == [refusal]
        assert node.role == role


@pytest.mark.rule("PREVOTE-3", "PREVOTE-7")
def test_node_grants_any_number_of_pre_votes_and_then_still_has_its_vote() -> None:
    voter = an_unattached(epoch=5)

    for asker in (2, 3, 42):
        assert voter.receives(pre_vote_request(epoch=5, by=asker)) == [replies(GRANTED)]
    voter.receives(vote_request(epoch=5, by=3), now_ms=300)

    assert voter.role == unattached(epoch=5, voted=3, until=1300)


@pytest.mark.parametrize(
    ("node", "until", "log_end"),
    table(
        [
            ("unattached", partial(UNATTACHED, voted=3), 1000, (3, 10), ""),
            ("leader", LEADER, 1300, (5, 11), "SCENARIO-15"),
            ("resigned", RESIGNED, 1000, (5, 11), ""),
            ("follower that has fetched", partial(FOLLOWER_OF_3, has_fetched=True), 1300, (3, 10), ""),
        ]
    ),
)
@pytest.mark.rule("PREVOTE-5", "ROLE-10", "ROLE-5")
def test_node_of_any_role_adopts_a_higher_epoch_then_judges_a_pre_vote_as_unattached(
    node: Callable[[], Node], until: int, log_end: tuple[int, int]
) -> None:
    voter = node()
    before = voter.role

    effects = voter.receives(pre_vote_request(epoch=6, log_end=log_end), now_ms=300)

    after = unattached(epoch=6, until=until)
    assert effects == [
        stores(epoch=6),
        becomes(after, was=before, reason="pre-vote request of node 2 at epoch 6"),
        replies(vote_response(epoch=6, granted=True)),
        sends(our_fetch(epoch=6, log_end=log_end), to=2),
    ]
    assert voter.role == after
