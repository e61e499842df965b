"""Linearizable reads: a leader responds once a majority has confirmed it (rules READ)."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import replace

import pytest

from raft.core.effects import Effect, SendRequest, SendResponse
from raft.core.events import (
    Failure,
    ReadIndexRequested,
    RequestAbandoned,
    ResignRequested,
    ShutdownRequested,
    TimePassed,
)
from raft.core.messages import BeginQuorumEpochRequest, BeginQuorumEpochResponse, FetchRequest
from raft.errors import ErrorCode
from raft.types import Epoch
from tests.core.builder import Node, a_candidate, a_follower, a_leader, a_prospective, a_resigned, an_unattached
from tests.core.wording import (
    US,
    begin_request,
    begin_response,
    fetch_request,
    key,
    vote_request,
    vote_response,
)

READ = 70
NOT_LEADER = ErrorCode.NOT_LEADER_OR_FOLLOWER


def leading(*, voters: Collection[int] = (1, 2, 3)) -> Node:
    """The leader of epoch 5: everything up to 11, its log end, is committed, and no request is in flight."""
    node = a_leader(epoch=5, voters=voters, high_watermark_known=True)
    for voter in voters:
        if voter != US:
            accepts(node, voter)
    return node.count_from_here()


def requests_read(node: Node, request_id: int = READ, *, timeout_ms: int = 1000) -> list[Effect]:
    return node.handle(ReadIndexRequested(request_id=request_id, timeout_ms=timeout_ms), now_ms=100)


def accepts(node: Node, voter: int, *, now_ms: int = 100) -> list[Effect]:
    """A voter accepts the last announcement that the leader has sent to it."""
    return node.gets(begin_response(epoch=5, leader=US), of=voter, now_ms=now_ms)


def fetches(node: Node, voter: int, *, epoch: int = 5) -> list[Effect]:
    """A replica fetches at the end of the log."""
    return node.receives(fetch_request(by=voter, epoch=epoch, offset=11, last_epoch=5, high_watermark=11), request_id=1)


def errors(effects: Iterable[Effect]) -> dict[int, int]:
    """The error of each response to a read, by its request id."""
    return {
        effect.request_id: effect.response.error
        for effect in effects
        if isinstance(effect, SendResponse) and effect.request_id >= READ
    }


def asked(effects: Iterable[Effect]) -> list[int]:
    """The voters to which the leader announces itself."""
    return [
        effect.node_id
        for effect in effects
        if isinstance(effect, SendRequest) and isinstance(effect.request, BeginQuorumEpochRequest)
    ]


@pytest.mark.rule("READ-1", "READ-2")
def test_leader_responds_when_a_voter_accepts_an_announcement_that_was_sent_after_the_read_was_requested() -> None:
    node = leading()

    waits = requests_read(node)
    confirms = accepts(node, 3)

    assert errors(waits) == {}
    assert asked(waits) == [2, 3]
    assert errors(confirms) == {READ: ErrorCode.NONE}
    assert asked(confirms) == []


@pytest.mark.rule("READ-2")
def test_announcement_that_was_in_flight_when_the_read_was_requested_confirms_nothing() -> None:
    node = a_leader(epoch=5, high_watermark_known=True)

    waits = requests_read(node)
    first = accepts(node, 2)
    second = accepts(node, 2)

    assert asked(waits) == [], "one request at a time is in flight to a voter"
    assert errors(first) == {}, "the voter may have accepted it before the read was requested"
    assert asked(first) == [2]
    assert errors(second) == {READ: ErrorCode.NONE}


@pytest.mark.rule("READ-1", "READ-2")
def test_fetches_confirm_nothing_because_they_may_have_been_sent_before_the_read_was_requested() -> None:
    node = leading()
    fetches(node, 2)
    requests_read(node)

    effects = [*fetches(node, 2), *fetches(node, 3), *fetches(node, 2)]

    assert effects == [], "they are parked, and no read is answered"


@pytest.mark.rule("READ-1", "READ-2")
def test_voter_with_two_fetches_in_flight_does_not_confirm_a_leader_after_it_has_voted_in_a_later_epoch() -> None:
    """A follower that became prospective and follows again sends a second fetch, which waits behind the first one."""
    voter, leader = a_follower(of=2, epoch=5), leading()
    refused = vote_response(epoch=5, granted=False, leader=2)
    in_flight = [*voter.history, *voter.waits(until=2000), *voter.gets(refused, of=3), *voter.gets(refused, of=2)]
    first, second = (
        replace(effect.request, replica=key(3))
        for effect in in_flight
        if isinstance(effect, SendRequest) and isinstance(effect.request, FetchRequest)
    )
    voter.waits(until=4000)
    voted = voter.receives(vote_request(epoch=6, by=3), now_ms=4000)

    requests_read(leader)
    fetched = [*leader.receives(first, request_id=1), *leader.receives(second, request_id=2)]
    (refusal,) = voter.receives(begin_request(leader=2, epoch=5), now_ms=4001)
    assert isinstance(refusal, SendResponse)
    assert isinstance(refusal.response, BeginQuorumEpochResponse)
    answered = leader.gets(refusal.response, of=3)

    assert [effect.response for effect in voted if isinstance(effect, SendResponse)] == [
        vote_response(epoch=6, granted=True, leader=None)
    ]
    assert errors(fetched) == {}
    assert errors(answered) == {READ: NOT_LEADER}


@pytest.mark.rule("READ-1")
@pytest.mark.parametrize(
    ("voters", "accepting", "is_confirmed"),
    [
        pytest.param((1,), (), True, id="1 voter"),
        pytest.param((1, 2), (), False, id="2 voters, none accepts"),
        pytest.param((1, 2), (2,), True, id="2 voters, one accepts"),
        pytest.param((1, 2, 3, 4), (2,), False, id="4 voters, one accepts"),
        pytest.param((1, 2, 3, 4), (2, 3), True, id="4 voters, two accept"),
        pytest.param((1, 2, 3, 4, 5), (2,), False, id="5 voters, one accepts"),
        pytest.param((1, 2, 3, 4, 5), (2, 2), False, id="5 voters, the same one accepts twice"),
        pytest.param((1, 2, 3, 4, 5), (2, 5), True, id="5 voters, two accept"),
    ],
)
def test_read_waits_for_a_majority(voters: tuple[int, ...], accepting: tuple[int, ...], is_confirmed: bool) -> None:
    node = leading(voters=voters)

    effects = requests_read(node)
    for voter in accepting:
        effects += accepts(node, voter)

    assert errors(effects) == ({READ: ErrorCode.NONE} if is_confirmed else {})


@pytest.mark.rule("READ-2")
def test_one_announcement_serves_all_reads_that_were_requested_before_it() -> None:
    node = leading()
    requests_read(node, READ)

    later = [*requests_read(node, READ + 1), *requests_read(node, READ + 2)]
    first = accepts(node, 2)
    second = accepts(node, 2)

    assert asked(later) == [], "announcements are in flight"
    assert errors(first) == {READ: ErrorCode.NONE}
    assert asked(first) == [2]
    assert errors(second) == {READ + 1: ErrorCode.NONE, READ + 2: ErrorCode.NONE}


@pytest.mark.rule("READ-2")
@pytest.mark.parametrize(
    "error",
    [
        pytest.param(ErrorCode.INVALID_VOTER_KEY, id="the address leads to another node"),
        pytest.param(ErrorCode.UNKNOWN_SERVER_ERROR, id="any other error"),
    ],
)
def test_voter_that_responds_with_an_error_confirms_nothing_and_is_asked_again(error: ErrorCode) -> None:
    node = leading(voters=(1, 2))
    requests_read(node)

    effects = node.gets(begin_response(epoch=5, leader=US, error=error), of=2)

    assert errors(effects) == {}
    assert asked(node.waits(until=119)) == []
    assert asked(node.waits(until=120)) == [2], "after the retry backoff"


@pytest.mark.rule("READ-2")
def test_voter_of_an_earlier_epoch_confirms_nothing() -> None:
    node = leading()
    requests_read(node)

    assert errors(node.gets(begin_response(epoch=4, leader=2), of=2)) == {}


@pytest.mark.rule("READ-2")
def test_voter_is_asked_again_while_reads_wait_when_its_connection_has_failed() -> None:
    node = leading()
    requests_read(node)

    node.fails_to_reach(2, Failure.CONNECTION_REFUSED)
    again = node.waits(until=120)
    confirms = accepts(node, 3, now_ms=130)
    node.fails_to_reach(2, Failure.CONNECTION_REFUSED, now_ms=130)

    assert asked(again) == [2]
    assert errors(confirms) == {READ: ErrorCode.NONE}
    assert asked(node.waits(until=150)) == [], "no read waits any more"


@pytest.mark.rule("READ-2")
def test_acceptance_of_an_earlier_epoch_does_not_confirm_the_leader_of_a_later_one() -> None:
    node = leading()
    requests_read(node)
    late = node.response_event(begin_response(epoch=5, leader=US), of=3)
    node.receives(begin_request(leader=2, epoch=6))
    node.waits(until=5000)
    for voter in (2, 3):
        node.gets(vote_response(epoch=6, granted=True), of=voter, now_ms=5000)
    node.gets(vote_response(epoch=7, granted=True), of=2, now_ms=5000)
    node.has_flushed(now_ms=5000)
    node.receives(fetch_request(by=2, epoch=7, offset=12, last_epoch=7, max_wait_ms=0), now_ms=5000)
    assert node.role_name == "Leader"
    node.handle(ReadIndexRequested(request_id=READ, timeout_ms=1000), now_ms=5000)

    assert errors(node.handle(late, now_ms=5000)) == {}


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

    assert errors(accepts(node, 2)) == {}
