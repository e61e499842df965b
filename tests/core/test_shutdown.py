"""A node shuts down (rules END-1, END-14, VOTE-24)."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from raft.core.effects import Disconnect, ShutdownFinished
from raft.core.events import ShutdownRequested
from raft.errors import ErrorCode
from raft.types import NodeId
from tests.core.builder import Node, a_candidate, a_follower, a_leader, a_prospective, a_resigned, an_unattached
from tests.core.orders import becomes, replies, sends, stores
from tests.core.states import follower, resigned
from tests.core.wording import (
    append_of,
    append_response,
    begin_request,
    begin_response,
    client_fetch,
    end_response,
    fetch_response,
    our_end_request,
    vote_request,
    vote_response,
)

NOT_LEADER = ErrorCode.NOT_LEADER_OR_FOLLOWER
HANDED_OVER = ShutdownFinished(handed_over=True)
RAN_OUT = ShutdownFinished(handed_over=False)


def shut_down(node: Node, *, timeout_ms: int = 5000) -> list[object]:
    """A shutdown is requested at 100 ms."""
    return list(node.handle(ShutdownRequested(timeout_ms=timeout_ms), now_ms=100))


@pytest.mark.parametrize(
    "node",
    [
        pytest.param(lambda: an_unattached(epoch=5, voters=(2, 3)), id="an observer"),
        pytest.param(lambda: a_leader(epoch=5, voters=(1,)), id="the only voter"),
        pytest.param(lambda: a_follower(of=2, epoch=5), id="a follower"),
        pytest.param(lambda: a_prospective(epoch=5, leader=2), id="a prospective node that knows the leader"),
        pytest.param(lambda: an_unattached(epoch=5, leader=9), id="an unattached node that knows the leader"),
    ],
)
@pytest.mark.rule("END-14")
def test_node_shuts_down_at_once_when_another_leads_or_none_can(node: Callable[[], Node]) -> None:
    leaving = node()

    assert shut_down(leaving) == [HANDED_OVER]
    assert leaving.waits(until=9999) == []
    assert leaving.core.deadline_ms is None


@pytest.mark.rule("END-1", "END-4", "END-14")
def test_leader_resigns_announces_it_and_shuts_down_when_another_leads() -> None:
    leaving = a_leader(epoch=5)
    before = leaving.role

    effects = shut_down(leaving)

    after = resigned(epoch=5, until=1100, successors=(2, 3), unacknowledged=(2, 3))
    announcement = our_end_request(epoch=5, successors=(2, 3))
    assert effects == [
        becomes(after, was=before, reason="shutdown"),
        sends(announcement, to=2),
        sends(announcement, to=3, number=1),
    ]
    effects = list(leaving.receives(begin_request(epoch=6, leader=2), now_ms=700))
    followed = follower(of=2, epoch=6, until=2700)
    assert effects == [
        stores(epoch=6, leader=2),
        becomes(followed, was=after, reason="node 2 leads epoch 6"),
        replies(begin_response(epoch=6, leader=2)),
        HANDED_OVER,
    ]


@pytest.mark.rule("END-4", "END-14", "SCENARIO-25", "ROLE-9")
def test_resigned_leader_repeats_end_quorum_epoch_until_its_shutdown_ends() -> None:
    leaving = a_resigned(epoch=5, voters=(1, 2))
    shut_down(leaving)
    announcement = our_end_request(epoch=5, successors=(2,))

    for number in range(12):
        now_ms = 200 + 400 * number
        assert leaving.fails_to_reach(2, now_ms=now_ms) == []
        assert leaving.waits(until=now_ms + 20) == [sends(announcement, to=2, number=number)]
    assert leaving.role_name == "Resigned"

    assert leaving.waits(until=5099) == []
    assert leaving.waits(until=5100) == [RAN_OUT]
    assert leaving.waits(until=9999) == []


@pytest.mark.rule("END-14")
def test_unattached_node_that_shuts_down_neither_starts_an_election_nor_fetches() -> None:
    leaving = an_unattached(epoch=5)

    assert shut_down(leaving) == []
    assert leaving.core.deadline_ms == 2000, "the fetch that is under way"
    leaving.waits(until=2000)
    assert leaving.role_name == "Unattached"
    assert leaving.waits(until=2020) == []
    assert leaving.waits(until=5100) == [RAN_OUT]


@pytest.mark.rule("VOTE-24")
def test_candidate_that_shuts_down_keeps_requesting_votes_past_its_election_timeout() -> None:
    leaving = a_candidate(epoch=5)
    assert shut_down(leaving) == []

    leaving.fails_to_reach(2, now_ms=1500)

    assert leaving.waits(until=1520) == [sends(vote_request(epoch=5, by=1, to=2), to=2)]
    assert leaving.role_name == "Candidate"


@pytest.mark.rule("VOTE-24")
def test_prospective_node_that_shuts_down_keeps_requesting_votes_past_its_election_timeout() -> None:
    leaving = a_prospective(epoch=5)
    assert shut_down(leaving) == []

    # Its fetch from before it requested votes got no response.
    assert leaving.waits(until=1500) == [Disconnect(node_id=NodeId(2))]

    assert leaving.role_name == "Prospective"


@pytest.mark.rule("VOTE-24", "END-1")
def test_candidate_that_shuts_down_resigns_as_soon_as_it_leads() -> None:
    leaving = a_candidate(epoch=5)
    shut_down(leaving)

    leaving.gets(vote_response(epoch=5, granted=True), of=2, now_ms=200)

    assert leaving.role == resigned(epoch=5, until=1200, successors=(2, 3), unacknowledged=(2, 3))


@pytest.mark.rule("VOTE-24")
def test_candidate_that_shuts_down_ends_when_another_leads() -> None:
    leaving = a_candidate(epoch=5)
    shut_down(leaving)

    effects = leaving.gets(vote_response(epoch=5, leader=3), of=2, now_ms=200)

    assert effects[-1] == HANDED_OVER


@pytest.mark.rule("END-12", "END-14")
def test_resigned_leader_that_shuts_down_does_not_end_when_all_have_only_acknowledged() -> None:
    leaving = a_resigned(epoch=5)
    shut_down(leaving)

    for voter in (2, 3):
        assert leaving.gets(end_response(epoch=5, leader=1), of=voter, now_ms=200) == []

    assert leaving.core.deadline_ms == 5100


@pytest.mark.rule("END-12", "END-14")
def test_resigned_leader_that_shuts_down_ends_when_a_response_names_a_new_leader() -> None:
    leaving = a_resigned(epoch=5)
    shut_down(leaving)
    response = end_response(epoch=6, leader=3, error=ErrorCode.FENCED_LEADER_EPOCH)

    assert leaving.gets(response, of=2, now_ms=200)[-1] == HANDED_OVER


@pytest.mark.rule("CLIENT-6", "ROLE-14", "END-14")
def test_only_voter_that_shuts_down_responds_to_the_appends_that_wait() -> None:
    leaving = a_leader(epoch=5, voters=(1,))
    leaving.handle(append_of(), now_ms=0)

    assert shut_down(leaving) == [replies(append_response(epoch=5, error=NOT_LEADER)), HANDED_OVER]


@pytest.mark.rule("FETCH-12", "END-14")
def test_follower_that_shuts_down_responds_to_the_clients_that_wait() -> None:
    leaving = a_follower(of=2, epoch=5, high_watermark=10)
    assert leaving.receives(client_fetch(10), now_ms=0) == []

    response = fetch_response(epoch=5, leader=2, high_watermark=10, error=NOT_LEADER)
    assert shut_down(leaving) == [replies(response), HANDED_OVER]


@pytest.mark.rule("END-1", "END-14")
def test_leader_that_has_no_time_still_announces_that_it_resigns() -> None:
    leaving = a_leader(epoch=5)

    effects = shut_down(leaving, timeout_ms=0)

    announcement = our_end_request(epoch=5, successors=(2, 3))
    assert effects[1:] == [sends(announcement, to=2), sends(announcement, to=3, number=1), RAN_OUT]
