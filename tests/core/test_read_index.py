"""Linearizable reads: a leader responds once a majority has confirmed it (rules READ)."""

from __future__ import annotations

from collections.abc import Collection, Iterable

import pytest

from raft.core.effects import Effect, SendResponse
from raft.core.events import ReadIndexRequested, RequestAbandoned, ResignRequested, ShutdownRequested, TimePassed
from raft.core.messages import FetchResponse
from raft.errors import ErrorCode
from raft.types import Epoch
from tests.core.builder import Node, a_candidate, a_follower, a_leader, a_prospective, a_resigned, an_unattached
from tests.core.wording import begin_request, fetch_request

READ = 70
NOT_LEADER = ErrorCode.NOT_LEADER_OR_FOLLOWER


def leading(*, voters: Collection[int] = (1, 2, 3)) -> Node:
    """The leader of epoch 5: everything up to 11, its log end, is committed."""
    return a_leader(epoch=5, voters=voters, high_watermark_known=True)


def requests_read(node: Node, request_id: int = READ, *, timeout_ms: int = 1000) -> list[Effect]:
    return node.handle(ReadIndexRequested(request_id=request_id, timeout_ms=timeout_ms), now_ms=100)


def fetches(node: Node, voter: int, *, read_round: int, request_id: int = 1, now_ms: int = 100) -> list[Effect]:
    request = fetch_request(by=voter, epoch=5, offset=11, last_epoch=5, high_watermark=11, read_round=read_round)
    return node.receives(request, request_id=request_id, now_ms=now_ms)


def errors(effects: Iterable[Effect]) -> dict[int, int]:
    """The error of each response to a read, by its request id."""
    return {
        effect.request_id: effect.response.error
        for effect in effects
        if isinstance(effect, SendResponse) and effect.request_id >= READ
    }


def rounds(effects: Iterable[Effect]) -> dict[int, int]:
    """The round in each response to a fetch, by its request id."""
    return {
        effect.request_id: effect.response.read_round
        for effect in effects
        if isinstance(effect, SendResponse) and isinstance(effect.response, FetchResponse)
    }


@pytest.mark.rule("READ-1")
def test_leader_responds_when_a_voter_fetches_after_a_response_that_followed_the_read() -> None:
    node = leading()

    waits = requests_read(node)
    first = fetches(node, 2, read_round=0, request_id=1)
    second = fetches(node, 2, read_round=1, request_id=2)

    assert errors(waits) == {}
    assert rounds(first) == {1: 1}, "the voter has to fetch again, so it gets a response at once"
    assert errors(first) == {}, "this fetch may have been sent before the read was requested"
    assert errors(second) == {READ: ErrorCode.NONE}
    assert rounds(second) == {}, "parked, because nothing waits for its next fetch"


@pytest.mark.rule("READ-2")
def test_parked_fetches_of_voters_are_answered_when_a_read_is_requested() -> None:
    node = leading(voters=(1, 2, 3))
    fetches(node, 2, read_round=0, request_id=1)
    fetches(node, 3, read_round=0, request_id=2)
    fetches(node, 9, read_round=0, request_id=3)

    effects = requests_read(node)

    assert rounds(effects) == {1: 1, 2: 1}, "the fetch of the observer stays parked"


@pytest.mark.rule("READ-1")
@pytest.mark.parametrize(
    ("voters", "fetching", "is_confirmed"),
    [
        pytest.param((1,), (), True, id="1 voter"),
        pytest.param((1, 2), (), False, id="2 voters, none fetches"),
        pytest.param((1, 2), (2,), True, id="2 voters, one fetches"),
        pytest.param((1, 2, 3, 4, 5), (2,), False, id="5 voters, one fetches"),
        pytest.param((1, 2, 3, 4, 5), (2, 2), False, id="5 voters, the same one fetches twice"),
        pytest.param((1, 2, 3, 4, 5), (2, 5), True, id="5 voters, two fetch"),
        pytest.param((1, 2, 3), (9,), False, id="3 voters, an observer fetches"),
    ],
)
def test_read_waits_for_a_majority(voters: tuple[int, ...], fetching: tuple[int, ...], is_confirmed: bool) -> None:
    node = leading(voters=voters)

    effects = requests_read(node)
    for voter in fetching:
        effects += fetches(node, voter, read_round=1)

    assert errors(effects) == ({READ: ErrorCode.NONE} if is_confirmed else {})


@pytest.mark.rule("READ-2")
def test_one_round_serves_all_reads_that_were_requested_before_it() -> None:
    node = leading()
    for number in range(3):
        requests_read(node, READ + number)

    assert rounds(fetches(node, 2, read_round=0)) == {1: 3}
    assert errors(fetches(node, 2, read_round=2)) == {READ: ErrorCode.NONE, READ + 1: ErrorCode.NONE}
    assert errors(fetches(node, 3, read_round=3)) == {READ + 2: ErrorCode.NONE}


@pytest.mark.rule("READ-1")
@pytest.mark.parametrize(
    ("node", "error"),
    [
        pytest.param(an_unattached(epoch=5), NOT_LEADER, id="unattached"),
        pytest.param(a_follower(of=2, epoch=5), NOT_LEADER, id="follower"),
        pytest.param(a_prospective(epoch=5), NOT_LEADER, id="prospective"),
        pytest.param(a_candidate(epoch=5), NOT_LEADER, id="candidate"),
        pytest.param(a_resigned(epoch=5), NOT_LEADER, id="resigned"),
        pytest.param(a_leader(epoch=5), ErrorCode.OFFSET_NOT_AVAILABLE, id="leader without a high watermark"),
    ],
)
def test_read_is_refused_by_a_node_that_cannot_know_the_end(node: Node, error: ErrorCode) -> None:
    assert errors(requests_read(node)) == {READ: error}


@pytest.mark.rule("READ-3")
@pytest.mark.parametrize(
    "end",
    [
        pytest.param(ResignRequested(epoch=Epoch(5)), id="resignation"),
        pytest.param(ShutdownRequested(timeout_ms=5000), id="shutdown"),
    ],
)
def test_read_fails_when_the_leader_stops_leading(end: ResignRequested | ShutdownRequested) -> None:
    node = leading()
    requests_read(node)

    assert errors(node.handle(end, now_ms=150)) == {READ: NOT_LEADER}


@pytest.mark.rule("READ-3")
def test_read_fails_when_another_leader_announces_itself() -> None:
    node = leading()
    requests_read(node)

    assert errors(node.receives(begin_request(leader=2, epoch=6)))[READ] == NOT_LEADER


@pytest.mark.rule("READ-3")
def test_read_fails_at_its_timeout() -> None:
    node = leading()
    requests_read(node, timeout_ms=300)

    assert node.core.deadline_ms == 400
    assert errors(node.handle(TimePassed(), now_ms=399)) == {}
    assert errors(node.handle(TimePassed(), now_ms=400)) == {READ: ErrorCode.REQUEST_TIMED_OUT}


def test_read_is_dropped_when_its_client_has_disconnected() -> None:
    node = leading()
    requests_read(node)

    node.handle(RequestAbandoned(request_id=READ), now_ms=100)

    assert errors(fetches(node, 2, read_round=1)) == {}


@pytest.mark.rule("READ-2")
def test_rounds_are_not_counted_anew_in_a_later_epoch() -> None:
    node = leading()
    requests_read(node)

    effects = node.receives(begin_request(leader=2, epoch=6))
    effects += node.receives(fetch_request(by=3, epoch=6, offset=11, last_epoch=5), request_id=1)

    assert rounds(effects) == {1: 1}, "the connections remember rounds of the earlier epoch"
