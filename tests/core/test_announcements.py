"""A message names the leader of an epoch: BeginQuorumEpoch and EndQuorumEpoch (rules BEGIN, END, GEN-10..13)."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

from raft.core.effects import HaltCause
from raft.core.messages import (
    BeginQuorumEpochRequest,
    BeginQuorumEpochResponse,
    EndQuorumEpochRequest,
    EndQuorumEpochResponse,
    RequestRefused,
)
from raft.errors import ErrorCode
from raft.types import Endpoint
from tests.core.builder import Node, a_log, an_unattached
from tests.core.orders import halts, replies
from tests.core.tables import FOLLOWER_OF_2, FOLLOWER_OF_3, LEADER, PROSPECTIVE, RESIGNED, UNATTACHED, table
from tests.core.wording import begin_request, begin_response, end_request, end_response

Row = tuple[str, Callable[[], Node], dict[str, Any], dict[str, Any], str]
"""Name, receiver, what the request says, what the response says, and the rules."""

EMPTY = partial(an_unattached, epoch=0, log=a_log((), 0))
FENCED, MALFORMED = ErrorCode.FENCED_LEADER_EPOCH, ErrorCode.INVALID_REQUEST

BOTH: list[Row] = [
    (
        "an older leader is fenced, and told of the new one",
        partial(FOLLOWER_OF_3, has_fetched=True),
        {"epoch": 4, "leader": 2},
        {"epoch": 5, "leader": 3, "error": FENCED},
        "BEGIN-6 END-6 GEN-3 GEN-4 ERROR-3 ERROR-4",
    ),
    (
        "an older epoch is fenced, even when it names this node its leader",
        UNATTACHED,
        {"epoch": 4, "leader": 1},
        {"epoch": 5, "leader": None, "error": FENCED},
        "BEGIN-6",
    ),
    (
        "no leader is malformed, its epoch not adopted",
        UNATTACHED,
        {"epoch": 6, "leader": None},
        {"epoch": 5, "leader": None, "error": MALFORMED},
        "END-5",
    ),
    (
        "epoch 0 never has a leader",
        EMPTY,
        {"epoch": 0, "leader": 2},
        {"epoch": 0, "leader": None, "error": MALFORMED},
        "GEN-13",
    ),
    (
        "a leader whose address is unknown is known already",
        partial(UNATTACHED, leader=9),
        {"epoch": 5, "leader": 9},
        {"epoch": 5, "leader": 9, "address_known": False},
        "END-7",
    ),
]

BEGINS: list[Row] = [
    (
        "a follower of that leader learns nothing new",
        partial(FOLLOWER_OF_2, has_fetched=True),
        {"epoch": 5, "leader": 2},
        {"epoch": 5, "leader": 2},
        "BEGIN-8 TIMER-2",
    ),
    (
        "as many endpoints as before are no news",
        partial(FOLLOWER_OF_2, has_fetched=True),
        {"epoch": 5, "leader": 2, "endpoints": (Endpoint("moved", 1),)},
        {"epoch": 5, "leader": 2},
        "BEGIN-8 GEN-10",
    ),
    ("a leader is named itself", LEADER, {"epoch": 5, "leader": 1}, {"epoch": 5, "leader": 1}, ""),
    (
        "another voter was meant",
        FOLLOWER_OF_2,
        {"epoch": 5, "leader": 2, "to": 3},
        {"epoch": 5, "leader": 2, "error": ErrorCode.INVALID_VOTER_KEY},
        "BEGIN-9",
    ),
]

ENDS: list[Row] = [
    (
        "a prospective node has no turn to wait for",
        partial(PROSPECTIVE, leader=2),
        {"epoch": 5, "leader": 2, "successors": (3, 1)},
        {"epoch": 5, "leader": 2},
        "END-7 PREVOTE-24",
    ),
]

CASES = [
    *(
        (f"begin: {name}", node, begin_request(**asked), begin_response(**responded), rules)
        for name, node, asked, responded, rules in BOTH + BEGINS
    ),
    *(
        (f"end: {name}", node, end_request(**asked), end_response(**responded), rules)
        for name, node, asked, responded, rules in BOTH + ENDS
    ),
]


@pytest.mark.parametrize(("node", "request_", "response"), table(CASES))
def test_node_responds_and_does_not_change_when_the_named_leader_is_known(
    node: Callable[[], Node],
    request_: BeginQuorumEpochRequest | EndQuorumEpochRequest,
    response: BeginQuorumEpochResponse | EndQuorumEpochResponse,
) -> None:
    voter = node()
    before, deadline_ms = voter.role, voter.core.deadline_ms

    effects = voter.receives(request_)

    assert effects == [replies(response)]
    assert voter.role == before
    assert voter.core.deadline_ms == deadline_ms


def two_leaders(*, known: int) -> str:
    return f"two leaders in epoch 5: {known} is known, a message names 2"


def never_led(epoch: int) -> str:
    return f"a message names this node leader of epoch {epoch}, which it never led"


IMPOSSIBLE = [
    ("a follower of another leader", FOLLOWER_OF_3, 5, 2, two_leaders(known=3), "BEGIN-7 SCENARIO-22"),
    ("the leader", LEADER, 5, 2, two_leaders(known=1), "BEGIN-7"),
    ("the resigned leader", RESIGNED, 5, 2, two_leaders(known=1), "BEGIN-7"),
    (
        "a prospective node that has not forgotten the leader",
        partial(PROSPECTIVE, leader=3),
        5,
        2,
        two_leaders(known=3),
        "BEGIN-7 ROLE-6",
    ),
    (
        "an unattached node that has not forgotten the leader",
        partial(UNATTACHED, leader=9),
        5,
        2,
        two_leaders(known=9),
        "BEGIN-7 ROLE-6",
    ),
    ("a follower is named in a later epoch", FOLLOWER_OF_3, 6, 1, never_led(6), ""),
    ("an unattached node is named in its epoch", UNATTACHED, 5, 1, never_led(5), ""),
    ("a leader is named in a later epoch", LEADER, 6, 1, never_led(6), ""),
    ("a resigned leader is named in a later epoch", RESIGNED, 6, 1, never_led(6), ""),
]


@pytest.mark.parametrize("ask", [begin_request, end_request], ids=["begin", "end"])
@pytest.mark.parametrize(("node", "epoch", "leader", "reason"), table(IMPOSSIBLE))
@pytest.mark.rule("GEN-12")
def test_node_writes_nothing_and_stops_when_the_named_leader_is_impossible(
    node: Callable[[], Node],
    epoch: int,
    leader: int,
    reason: str,
    ask: Callable[..., BeginQuorumEpochRequest | EndQuorumEpochRequest],
) -> None:
    voter = node()
    before = voter.role

    effects = voter.receives(ask(epoch=epoch, leader=leader))

    assert effects == [
        replies(RequestRefused(error=ErrorCode.UNKNOWN_SERVER_ERROR)),
        halts(HaltCause.CONTRADICTING_LEADER, reason),
    ]
    assert voter.role == before
    assert voter.receives(begin_request(epoch=9, leader=3)) == []
    assert voter.core.deadline_ms is None
