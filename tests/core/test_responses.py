"""What the responses to all requests have in common (rules GEN-6..12, CLUSTERID-5, ERROR-6)."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from raft.core.effects import Disconnect, Effect, HaltCause, ReportFault
from raft.core.messages import RequestRefused, Response
from raft.errors import ErrorCode
from raft.types import NodeId
from tests.core.builder import Node, a_candidate, a_follower, a_leader, a_prospective, a_resigned, an_unattached
from tests.core.orders import becomes, halts, replies, sends, stores
from tests.core.states import follower, unattached
from tests.core.wording import (
    begin_response,
    end_response,
    fetch_response,
    our_fetch,
    pre_vote_request,
    vote_request,
    vote_response,
)

FENCED = ErrorCode.FENCED_LEADER_EPOCH
NOT_LEADER = ErrorCode.NOT_LEADER_OR_FOLLOWER

asking_nodes = pytest.mark.parametrize(
    ("node", "kind", "response", "until", "log_end"),
    [
        pytest.param(lambda: an_unattached(epoch=5), "Fetch", fetch_response, 1000, (3, 10), id="unattached"),
        pytest.param(
            lambda: a_follower(of=2, epoch=5, has_fetched=True), "Fetch", fetch_response, 1300, (3, 10), id="follower"
        ),
        pytest.param(lambda: a_prospective(epoch=5), "pre-vote", vote_response, 1000, (3, 10), id="prospective"),
        pytest.param(lambda: a_candidate(epoch=5), "Vote", vote_response, 1000, (3, 10), id="candidate"),
        pytest.param(
            lambda: a_leader(epoch=5),
            "BeginQuorumEpoch",
            begin_response,
            1300,
            (5, 11),
            marks=pytest.mark.rule("BEGIN-10"),
            id="leader",
        ),
        pytest.param(
            lambda: a_resigned(epoch=5),
            "EndQuorumEpoch",
            end_response,
            1000,
            (5, 11),
            marks=pytest.mark.rule("END-12"),
            id="resigned",
        ),
    ],
)


@pytest.mark.parametrize("error", [0, FENCED, NOT_LEADER], ids=["without error", "fenced", "not the leader"])
@asking_nodes
@pytest.mark.rule("GEN-9", "GEN-10", "ROLE-10", "STATE-5", "VOTE-21")
def test_node_follows_the_leader_of_a_higher_epoch_when_a_response_names_it(
    node: Callable[[], Node],
    kind: str,
    response: Callable[..., Response],
    until: int,
    log_end: tuple[int, int],
    error: int,
) -> None:
    asker = node()
    before = asker.role

    effects = asker.gets(response(epoch=6, leader=3, error=error), of=2, now_ms=300)

    after = follower(of=3, epoch=6, until=2300)
    assert effects == [
        stores(epoch=6, leader=3),
        becomes(after, was=before, reason=f"{kind} response of node 2 names leader 3 of epoch 6"),
        sends(our_fetch(epoch=6, log_end=log_end), to=3),
    ]
    assert asker.role == after


@pytest.mark.parametrize("error", [0, FENCED], ids=["without error", "fenced"])
@asking_nodes
@pytest.mark.rule("GEN-9", "GEN-10", "ROLE-10", "STATE-5", "TIMER-3")
def test_node_adopts_a_higher_epoch_when_a_response_names_no_leader(
    node: Callable[[], Node],
    kind: str,
    response: Callable[..., Response],
    until: int,
    log_end: tuple[int, int],
    error: int,
) -> None:
    asker = node()
    before = asker.role

    effects = asker.gets(response(epoch=6, leader=None, error=error), of=2, now_ms=300)

    after = unattached(epoch=6, until=until)
    assert effects == [
        stores(epoch=6),
        becomes(after, was=before, reason=f"{kind} response of node 2 names no leader of epoch 6"),
        sends(our_fetch(epoch=6, log_end=log_end), to=2),
    ]
    assert asker.role == after


@pytest.mark.parametrize(
    ("node", "response", "kind"),
    [
        pytest.param(lambda: an_unattached(epoch=5), fetch_response, "Fetch", id="unattached"),
        pytest.param(
            lambda: a_prospective(epoch=5),
            vote_response,
            "pre-vote",
            marks=pytest.mark.rule("PREVOTE-16"),
            id="prospective",
        ),
        pytest.param(
            lambda: a_candidate(epoch=5), vote_response, "Vote", marks=pytest.mark.rule("VOTE-22"), id="candidate"
        ),
    ],
)
@pytest.mark.parametrize("error", [FENCED, NOT_LEADER], ids=["fenced", "not the leader"])
@pytest.mark.rule("GEN-9", "GEN-10", "BOOT-5", "BOOT-7")
def test_node_follows_the_leader_of_its_own_epoch_when_an_error_names_it(
    node: Callable[[], Node], response: Callable[..., Response], kind: str, error: int
) -> None:
    asker = node()
    before = asker.role

    effects = asker.gets(response(epoch=5, leader=3, error=error), of=2, now_ms=300)

    after = follower(of=3, epoch=5, voted=before.voted_key, until=2300)
    assert effects == [
        stores(epoch=5, leader=3, voted=before.voted_key),
        becomes(after, was=before, reason=f"{kind} response of node 2 names leader 3 of epoch 5"),
        sends(our_fetch(epoch=5), to=3),
    ]
    assert asker.role == after


@pytest.mark.rule("GEN-9")
def test_node_fetches_from_the_leader_at_once_even_when_the_leader_sent_the_error() -> None:
    asker = an_unattached(epoch=5)

    effects = asker.gets(fetch_response(epoch=5, leader=2, error=ErrorCode.BROKER_NOT_AVAILABLE), of=2, now_ms=300)

    assert effects[-1] == sends(our_fetch(epoch=5), to=2)
    assert asker.role == follower(of=2, epoch=5, until=2300)


def asks_again(node: Node) -> list[Effect]:
    """What the node sends once the back-off is over, 20 ms later."""
    assert node.waits(until=319) == []
    return node.waits(until=320)


@pytest.mark.parametrize(
    ("response", "fault"),
    [
        pytest.param(vote_response(epoch=4, granted=True), None, id="a response of an older epoch"),
        pytest.param(vote_response(epoch=4, leader=3), None, id="a leader of an older epoch"),
        pytest.param(
            vote_response(epoch=5, leader=3, error=ErrorCode.UNKNOWN_LEADER_EPOCH),
            None,
            id="one that has yet to hear of our epoch",
        ),
        pytest.param(
            vote_response(epoch=5, error=ErrorCode.BROKER_NOT_AVAILABLE), None, id="one that is about to stop"
        ),
        pytest.param(vote_response(epoch=5, error=NOT_LEADER), None, id="one that knows no leader either"),
        pytest.param(
            vote_response(epoch=5, error=ErrorCode.INVALID_VOTER_KEY),
            "node 2 responds INVALID_VOTER_KEY to our VoteRequest in epoch 5",
            id="one that is not whom we meant",
        ),
        pytest.param(
            vote_response(epoch=5, error=ErrorCode.INVALID_REQUEST),
            "node 2 responds INVALID_REQUEST to our VoteRequest in epoch 5",
            id="one that finds a bug of ours",
        ),
        pytest.param(
            vote_response(epoch=5, error=4711),
            "node 2 responds error 4711 to our VoteRequest in epoch 5",
            id="an unknown error",
        ),
        pytest.param(
            RequestRefused(error=ErrorCode.UNKNOWN_SERVER_ERROR),
            "node 2 refuses VoteRequest: UNKNOWN_SERVER_ERROR",
            marks=pytest.mark.rule("ERROR-6"),
            id="a node that fails",
        ),
    ],
)
@pytest.mark.rule("GEN-9")
def test_node_backs_off_and_repeats_the_request_when_a_response_names_no_leader(
    response: Response, fault: str | None
) -> None:
    asker = a_candidate(epoch=5)
    before = asker.role

    effects = asker.gets(response, of=2, now_ms=300)

    assert effects == ([ReportFault(message=fault)] if fault else [])
    assert asker.role == before
    assert asks_again(asker) == [sends(vote_request(epoch=5, by=1, to=2), to=2)]


@pytest.mark.rule("GEN-16")
def test_connection_is_closed_when_a_node_does_not_lead_and_names_itself_as_the_leader() -> None:
    follows = a_follower(of=2, epoch=5)

    effects = follows.gets(fetch_response(epoch=5, leader=2, error=NOT_LEADER), of=2, now_ms=300)

    assert effects == [Disconnect(node_id=NodeId(2)), sends(our_fetch(epoch=5), to=3)]


@pytest.mark.parametrize(
    "error",
    [
        pytest.param(ErrorCode.INCONSISTENT_CLUSTER_ID, marks=pytest.mark.rule("CLUSTERID-5"), id="another cluster"),
        pytest.param(ErrorCode.INVALID_REQUEST, id="another topic"),
    ],
)
@pytest.mark.rule("ERROR-6", "ERROR-10")
def test_node_waits_a_second_after_an_error_that_only_an_operator_can_correct(error: ErrorCode) -> None:
    observer = an_unattached(epoch=5, voters=(2,))

    effects = observer.gets(RequestRefused(error=error), of=2, now_ms=300)

    assert effects == [ReportFault(message=f"node 2 refuses FetchRequest: {error.name}")]
    assert observer.waits(until=1299) == []
    assert observer.waits(until=1300) == [sends(our_fetch(epoch=5), to=2)]


@pytest.mark.parametrize(
    ("node", "response", "reason"),
    [
        pytest.param(
            lambda: a_follower(of=2, epoch=5),
            fetch_response(epoch=5, leader=3, error=NOT_LEADER),
            "two leaders in epoch 5: 2 is known, a message names 3",
            id="a request names another leader to a follower",
        ),
        pytest.param(
            lambda: a_leader(epoch=5),
            begin_response(epoch=5, leader=3),
            "two leaders in epoch 5: 1 is known, a message names 3",
            id="a request names another leader to a leader",
        ),
        pytest.param(
            lambda: a_prospective(epoch=5, leader=2),
            vote_response(epoch=5, leader=3),
            "two leaders in epoch 5: 2 is known, a message names 3",
            marks=pytest.mark.rule("ROLE-6"),
            id="a request names another leader to a prospective node than the one before",
        ),
        pytest.param(
            lambda: a_candidate(epoch=5),
            vote_response(epoch=5, leader=1),
            "a message names this node leader of epoch 5, which it never led",
            id="a request names a candidate as the leader",
        ),
        pytest.param(
            lambda: a_resigned(epoch=5),
            end_response(epoch=6, leader=1),
            "a message names this node leader of epoch 6, which it never led",
            id="a request names a resigned leader as leader of a later epoch",
        ),
    ],
)
@pytest.mark.rule("GEN-12")
def test_node_writes_nothing_and_stops_when_a_response_names_an_impossible_leader(
    node: Callable[[], Node], response: Response, reason: str
) -> None:
    asker = node()
    before = asker.role

    effects = asker.gets(response, of=2)

    assert effects == [halts(HaltCause.CONTRADICTING_LEADER, reason)]
    assert asker.role == before
    assert asker.waits(until=9999) == []


@pytest.mark.rule("PREVOTE-17")
def test_prospective_node_only_counts_a_response_that_names_the_leader_it_knows() -> None:
    asker = a_prospective(epoch=5, leader=2, voters=(1, 2, 3, 4, 5))

    effects = asker.gets(vote_response(epoch=5, leader=2, granted=True), of=3)

    assert effects == []
    assert asker.role_name == "Prospective"


@pytest.mark.rule("PREVOTE-16", "SCENARIO-14")
def test_prospective_node_follows_when_a_granted_pre_vote_names_the_leader() -> None:
    asker = a_prospective(epoch=5)
    before = asker.role

    effects = asker.gets(vote_response(epoch=5, leader=3, granted=True), of=2, now_ms=300)

    after = follower(of=3, epoch=5, until=2300)
    assert effects == [
        stores(epoch=5, leader=3),
        becomes(after, was=before, reason="pre-vote response of node 2 names leader 3 of epoch 5"),
        sends(our_fetch(epoch=5), to=3),
    ]
    assert asker.role == after


@pytest.mark.rule("GEN-10", "GEN-11")
def test_follower_of_a_higher_epoch_is_unattached_when_the_address_of_the_leader_is_unknown() -> None:
    asker = a_follower(of=2, epoch=5, has_fetched=True)
    before = asker.role

    effects = asker.gets(fetch_response(epoch=6, leader=9, error=FENCED, address_known=False), of=2, now_ms=300)

    after = unattached(epoch=6, leader=9, until=1300)
    assert effects == [
        stores(epoch=6, leader=9),
        becomes(after, was=before, reason="Fetch response of node 2 names leader 9 of epoch 6"),
        sends(our_fetch(epoch=6), to=2),
    ]
    assert asker.role == after


@pytest.mark.rule("GEN-3", "GEN-4")
def test_node_names_its_new_leader_and_epoch_in_the_next_response() -> None:
    asker = a_follower(of=2, epoch=5)
    asker.gets(fetch_response(epoch=6, leader=3, error=FENCED), of=2)

    effects = asker.receives(pre_vote_request(epoch=5, by=2))

    assert effects == [replies(vote_response(epoch=6, leader=3, error=FENCED))]
