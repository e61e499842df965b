"""A replica's fetch waits for records or a high watermark (rules FETCH-11, FETCH-12)."""

from __future__ import annotations

import pytest

from raft.core.events import RequestAbandoned, ResignRequested
from raft.core.roles import Leader
from raft.errors import ErrorCode
from raft.types import Epoch, NodeId
from tests.core.builder import a_leader
from tests.core.orders import appends, flushes, reads, replies
from tests.core.wording import (
    REQUEST_ID,
    append_of,
    batch,
    fetch_request,
    fetch_response,
    vote_request,
    voter_2_at,
)

NOT_LEADER = ErrorCode.NOT_LEADER_OR_FOLLOWER
FIVE = (1, 2, 3, 4, 5)


@pytest.mark.rule("FETCH-11", "FETCH-12")
def test_leader_parks_a_fetch_at_its_end_and_sends_an_empty_response_when_it_times_out() -> None:
    node = a_leader(epoch=5, high_watermark_known=True)

    assert node.receives(voter_2_at(11), now_ms=100) == []
    assert node.core.deadline_ms == 600
    assert node.waits(until=599) == []
    assert node.waits(until=600) == [replies(fetch_response(epoch=5, leader=1, high_watermark=11))]
    assert node.waits(until=700) == []


def test_leader_forgets_a_parked_fetch_when_its_sender_disconnects() -> None:
    node = a_leader(epoch=5, high_watermark_known=True)
    node.receives(voter_2_at(11, max_wait_ms=50), now_ms=100)

    assert node.handle(RequestAbandoned(request_id=REQUEST_ID), now_ms=110) == []
    assert node.handle(RequestAbandoned(request_id=REQUEST_ID + 1), now_ms=110) == []
    assert node.waits(until=150) == []


@pytest.mark.rule("FETCH-11")
def test_leader_responds_at_once_when_max_wait_is_0() -> None:
    node = a_leader(epoch=5, high_watermark_known=True)

    effects = node.receives(voter_2_at(11, max_wait_ms=0))

    assert effects == [replies(fetch_response(epoch=5, leader=1, high_watermark=11))]


@pytest.mark.parametrize(
    ("known", "wants", "waits"),
    [
        pytest.param(10, True, False, id="it knows less"),
        pytest.param(None, True, False, id="it knows none"),
        pytest.param(11, True, True, id="it knows as much"),
        pytest.param(None, False, True, id="it speaks a version that does not say"),
    ],
)
@pytest.mark.rule("FETCH-11")
def test_leader_responds_at_once_when_the_follower_waits_for_the_high_watermark(
    known: int | None, wants: bool, waits: bool
) -> None:
    node = a_leader(epoch=5, high_watermark_known=True)

    effects = node.receives(voter_2_at(11, high_watermark=known, wants_high_watermark=wants))

    assert effects == ([] if waits else [replies(fetch_response(epoch=5, leader=1, high_watermark=11))])


@pytest.mark.rule("FETCH-11")
def test_leader_parks_a_fetch_for_the_high_watermark_while_it_knows_none_itself() -> None:
    node = a_leader(epoch=5, flushed=False)

    assert node.receives(voter_2_at(11, wants_high_watermark=True)) == []


@pytest.mark.rule("FETCH-12")
def test_append_wakes_a_parked_fetch() -> None:
    node = a_leader(epoch=5, high_watermark_known=True)
    node.receives(voter_2_at(11))

    effects = node.handle(append_of(), now_ms=200)

    assert effects == [
        appends(batch(11, epoch=5)),
        flushes(12),
        replies(fetch_response(epoch=5, leader=1, high_watermark=11), read=reads(11, 12)),
    ]


@pytest.mark.rule("FETCH-12", "HW-10")
def test_advance_of_the_high_watermark_wakes_every_parked_fetch() -> None:
    node = a_leader(epoch=5, voters=FIVE)
    for request_id, replica in [(1, 2), (2, 9)]:
        fetch = fetch_request(by=replica, epoch=5, offset=11, last_epoch=5)
        assert node.receives(fetch, request_id=request_id) == []

    effects = node.receives(fetch_request(by=4, epoch=5, offset=11, last_epoch=5), request_id=3)

    woken = fetch_response(epoch=5, leader=1, high_watermark=11)
    assert effects == [replies(woken, to=1), replies(woken, to=2)]


@pytest.mark.rule("FETCH-12", "FETCH-7")
def test_woken_fetch_does_not_count_as_contact() -> None:
    node = a_leader(epoch=5, high_watermark_known=True)
    assert isinstance(node.role, Leader)
    node.receives(voter_2_at(11), now_ms=100)
    progress = node.role.progress.voters[NodeId(2)]

    node.handle(append_of(), now_ms=400)

    assert node.role.progress.voters[NodeId(2)] == progress


@pytest.mark.rule("FETCH-12", "ROLE-14")
def test_parked_fetch_ends_with_an_error_when_the_leader_resigns() -> None:
    node = a_leader(epoch=5, high_watermark_known=True)
    node.receives(voter_2_at(11))

    effects = node.handle(ResignRequested(epoch=Epoch(5)), now_ms=200)

    assert replies(fetch_response(epoch=5, leader=1, high_watermark=11, error=NOT_LEADER)) in effects


@pytest.mark.rule("FETCH-12", "ROLE-14", "STATE-5")
def test_parked_fetch_ends_with_an_error_at_the_new_epoch_when_leadership_is_lost() -> None:
    node = a_leader(epoch=5, high_watermark_known=True)
    node.receives(voter_2_at(11))

    effects = node.receives(vote_request(epoch=6, log_end=(5, 11)), now_ms=200)

    assert effects[2] == replies(fetch_response(epoch=6, leader=None, high_watermark=11, error=NOT_LEADER))


@pytest.mark.rule("LINGER-1")
def test_response_with_only_a_higher_high_watermark_is_delayed() -> None:
    node = a_leader(epoch=5, voters=FIVE, linger_ms=10)
    node.receives(fetch_request(by=2, epoch=5, offset=11, last_epoch=5), request_id=1, now_ms=100)

    # The second follower's fetch commits the leader's first record, which neither fetch knows to be committed.
    later = fetch_request(by=4, epoch=5, offset=11, last_epoch=5, wants_high_watermark=True)
    assert node.receives(later, request_id=2, now_ms=103) == []
    assert node.core.deadline_ms == 113
    assert node.waits(until=112) == []

    news = fetch_response(epoch=5, leader=1, high_watermark=11)
    assert node.waits(until=113) == [replies(news, to=1), replies(news, to=2)]


@pytest.mark.rule("LINGER-1")
def test_delayed_response_has_records_that_are_appended_meanwhile() -> None:
    node = a_leader(epoch=5, voters=FIVE, linger_ms=10)
    node.receives(fetch_request(by=2, epoch=5, offset=11, last_epoch=5), request_id=1, now_ms=100)
    node.receives(fetch_request(by=4, epoch=5, offset=11, last_epoch=5), request_id=2, now_ms=103)

    effects = node.handle(append_of(), now_ms=105)

    news = fetch_response(epoch=5, leader=1, high_watermark=11)
    assert effects[2:] == [replies(news, to=1, read=reads(11, 12)), replies(news, to=2, read=reads(11, 12))]
    assert node.waits(until=113) == []


@pytest.mark.rule("LINGER-1", "FETCH-11")
def test_fetch_with_a_shorter_max_wait_gets_its_response_after_max_wait() -> None:
    node = a_leader(epoch=5, high_watermark_known=True, linger_ms=10)

    effects = node.receives(voter_2_at(11, max_wait_ms=4, high_watermark=10, wants_high_watermark=True), now_ms=100)

    assert effects == []
    assert node.waits(until=104) == [replies(fetch_response(epoch=5, leader=1, high_watermark=11))]
