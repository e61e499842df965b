"""A node whose disk is full but for its reserve appends no records, and goes on when there is room (rule LOG-24)."""

from __future__ import annotations

import pytest

from raft.core.effects import SendRequest
from raft.core.events import DiskMeasured, ProducerInitRequested
from raft.core.messages import FetchRequest
from raft.errors import ErrorCode
from raft.types import ControlType
from tests.core.builder import Node, a_follower, a_leader
from tests.core.orders import appends, flushes, replies, sends
from tests.core.states import follower
from tests.core.wording import append_of, append_response, batch, fetch_response, our_fetch

BATCH_BYTES = 100
FULL_MESSAGE = "the leader's disk is full but for raft.reserve.bytes: it takes records again when there is room"
REFUSED = replies(append_response(epoch=5, error=ErrorCode.STORAGE_ERROR, message=FULL_MESSAGE))


def measures(node: Node, room_bytes: int, *, appended_bytes: int = 0) -> Node:
    node.handle(DiskMeasured(room_bytes=room_bytes, appended_bytes=appended_bytes), now_ms=50)
    return node


@pytest.mark.rule("LOG-24")
@pytest.mark.parametrize("room_bytes", [-1, 0, BATCH_BYTES - 1])
def test_leader_refuses_records_for_which_there_is_no_room(room_bytes: int) -> None:
    node = measures(a_leader(epoch=5, high_watermark_known=True), room_bytes)

    assert node.handle(append_of(), now_ms=100) == [REFUSED]


@pytest.mark.rule("LOG-24")
def test_leader_counts_what_it_has_appended_since_the_measurement() -> None:
    node = measures(a_leader(epoch=5, high_watermark_known=True), 2 * BATCH_BYTES)

    assert node.handle(append_of(), now_ms=100) == [appends(batch(11, epoch=5)), flushes(12)]
    assert node.handle(append_of(), now_ms=100) == [appends(batch(12, epoch=5)), flushes(13, number=1)]
    assert node.handle(append_of(), now_ms=100) == [REFUSED]


@pytest.mark.rule("LOG-24")
def test_leader_counts_what_it_appended_while_the_disk_was_measured() -> None:
    node = a_leader(epoch=5, high_watermark_known=True)
    node.handle(append_of(), now_ms=100)

    measures(node, BATCH_BYTES, appended_bytes=0)

    assert node.handle(append_of(), now_ms=100) == [REFUSED]
    measures(node, BATCH_BYTES, appended_bytes=BATCH_BYTES)
    assert node.handle(append_of(), now_ms=100)[0] == appends(batch(12, epoch=5))


@pytest.mark.rule("LOG-24")
def test_leader_takes_records_again_when_there_is_room() -> None:
    node = measures(a_leader(epoch=5, high_watermark_known=True), 0)
    assert node.handle(append_of(), now_ms=100) == [REFUSED]

    measures(node, 1 << 20)

    assert node.handle(append_of(), now_ms=200)[0] == appends(batch(11, epoch=5))


@pytest.mark.rule("LOG-24")
def test_repeated_append_is_acknowledged_although_there_is_no_room() -> None:
    node = a_leader(epoch=5, voters=(1,))
    append = append_of(producer=(3, 0, 0))
    node.handle(append, now_ms=100)
    node.has_flushed(now_ms=110)

    measures(node, 0)

    assert node.handle(append, now_ms=200) == [replies(append_response(epoch=5, base_offset=11))]


@pytest.mark.rule("LOG-24")
def test_leader_gives_no_transactional_id_its_next_epoch_while_there_is_no_room() -> None:
    node = measures(a_leader(epoch=5, high_watermark_known=True), 0)
    event = ProducerInitRequested(
        request_id=77, transactional_id="orders", transaction_timeout_ms=1_000, new_producer_id=9, timeout_ms=5_000
    )

    (refusal,) = node.handle(event, now_ms=100)

    assert refusal == REFUSED


@pytest.mark.rule("LOG-24", "TIMER-2")
def test_follower_drops_records_for_which_there_is_no_room_and_fetches_them_again_later() -> None:
    node = measures(a_follower(of=2, epoch=5, high_watermark=10), BATCH_BYTES - 1)
    fetched = fetch_response(epoch=5, leader=2, high_watermark=10, batches=[batch(10, epoch=5)])

    assert node.gets(fetched, of=2, now_ms=300) == []

    assert node.role == follower(of=2, epoch=5, until=2300, has_fetched=True)
    assert node.waits(until=799) == []
    assert node.waits(until=800) == [sends(our_fetch(epoch=5, high_watermark=10), to=2)]
    measures(node, BATCH_BYTES)
    assert node.gets(fetched, of=2, now_ms=900) == [appends(batch(10, epoch=5)), flushes(11)]


@pytest.mark.rule("LOG-24")
def test_follower_takes_as_many_batches_as_there_is_room_for() -> None:
    node = measures(a_follower(of=2, epoch=5), 2 * BATCH_BYTES)
    first, second, third = (batch(offset, epoch=5) for offset in (10, 11, 12))

    effects = node.gets(fetch_response(epoch=5, leader=2, batches=[first, second, third]), of=2, now_ms=300)

    assert effects == [appends(first, second), flushes(12)]


@pytest.mark.rule("LOG-24", "HW-10")
def test_follower_takes_control_records_although_there_is_no_room() -> None:
    node = measures(a_follower(of=2, epoch=5), -1)
    begin = batch(10, epoch=5, control_types=(ControlType.LEADER_CHANGE,))

    assert node.gets(fetch_response(epoch=5, leader=2, batches=[begin]), of=2, now_ms=300) == [
        appends(begin),
        flushes(11),
    ]


def test_follower_without_room_asks_for_one_batch_only() -> None:
    node = a_follower(of=2, epoch=5)
    measures(node, 0)

    (effect,) = node.gets(fetch_response(epoch=5, leader=2), of=2, now_ms=300)

    assert isinstance(effect, SendRequest)
    assert isinstance(effect.request, FetchRequest)
    assert effect.request.max_bytes == 1
