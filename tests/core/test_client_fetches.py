"""A client, not a replica, fetches (rules CLIENT-1..4)."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from raft.core.effects import SendResponse
from raft.errors import ErrorCode
from tests.core.builder import Node, a_candidate, a_follower, a_leader, a_log, a_prospective, a_resigned, an_unattached
from tests.core.calls import calls_of
from tests.core.orders import reads, replies
from tests.core.wording import append_of, batch, begin_request, client_fetch, fetch_request, fetch_response

FENCED = ErrorCode.FENCED_LEADER_EPOCH
UNKNOWN_EPOCH = ErrorCode.UNKNOWN_LEADER_EPOCH
NOT_LEADER = ErrorCode.NOT_LEADER_OR_FOLLOWER
OUT_OF_RANGE = ErrorCode.OFFSET_OUT_OF_RANGE
NOT_AVAILABLE = ErrorCode.OFFSET_NOT_AVAILABLE


def a_leader_with_a_tail() -> Node:
    """The leader of epoch 5: committed up to 11, log end 14."""
    node = a_leader(epoch=5, high_watermark_known=True)
    node.handle(append_of(records=3), now_ms=0)
    return node


def a_follower_with_a_tail() -> Node:
    """A follower of node 2 in epoch 5: committed up to 8, log end 10."""
    return a_follower(of=2, epoch=5, high_watermark=8)


# Served at once


@pytest.mark.parametrize(
    ("node", "leader", "high_watermark"),
    [
        pytest.param(a_leader_with_a_tail, 1, 11, id="leader"),
        pytest.param(a_follower_with_a_tail, 2, 8, id="follower"),
    ],
)
@pytest.mark.rule("CLIENT-2", "FETCH-29")
def test_client_gets_committed_records_only(node: Callable[[], Node], leader: int, high_watermark: int) -> None:
    response = fetch_response(epoch=5, leader=leader, high_watermark=high_watermark)

    assert node().receives(client_fetch(4)) == [replies(response, read=reads(4, high_watermark))]


@pytest.mark.parametrize(
    ("node", "leader", "high_watermark"),
    [
        pytest.param(a_leader_with_a_tail, 1, 11, id="leader"),
        pytest.param(a_follower_with_a_tail, 2, 8, id="follower"),
    ],
)
@pytest.mark.parametrize(("epoch", "error"), [(4, FENCED), (6, UNKNOWN_EPOCH)], ids=["an older epoch", "a later epoch"])
@pytest.mark.rule("CLIENT-1")
def test_client_with_another_epoch_gets_an_error(
    node: Callable[[], Node], leader: int, high_watermark: int, epoch: int, error: ErrorCode
) -> None:
    response = fetch_response(epoch=5, leader=leader, high_watermark=high_watermark, error=error)

    assert node().receives(client_fetch(4, epoch=epoch)) == [replies(response)]


@pytest.mark.rule("CLIENT-1")
def test_client_with_the_present_epoch_is_served() -> None:
    response = fetch_response(epoch=5, leader=1, high_watermark=11)

    assert a_leader_with_a_tail().receives(client_fetch(4, epoch=5)) == [replies(response, read=reads(4, 11))]


@pytest.mark.parametrize(
    ("node", "leader"),
    [
        pytest.param(lambda: an_unattached(epoch=5), None, id="unattached"),
        pytest.param(lambda: a_prospective(epoch=5), None, id="prospective"),
        pytest.param(lambda: a_candidate(epoch=5), None, id="candidate"),
        pytest.param(lambda: a_resigned(epoch=5), 1, id="resigned"),
    ],
)
@pytest.mark.rule("CLIENT-2")
def test_client_is_refused_by_a_node_that_neither_leads_nor_follows(
    node: Callable[[], Node], leader: int | None
) -> None:
    assert node().receives(client_fetch(4)) == [replies(fetch_response(epoch=5, leader=leader, error=NOT_LEADER))]


# Offsets within and outside the log


@pytest.mark.parametrize(
    ("offset", "error"),
    [
        pytest.param(-1, OUT_OF_RANGE, id="below the log start"),
        pytest.param(15, OUT_OF_RANGE, id="above the log end"),
        pytest.param(11, None, id="at the high watermark: parked"),
        pytest.param(13, None, id="between the high watermark and the log end: parked"),
        pytest.param(14, None, id="at the log end: parked"),
    ],
)
@pytest.mark.rule("CLIENT-3")
def test_leader_refuses_offsets_outside_its_log_and_parks_the_uncommitted(offset: int, error: ErrorCode | None) -> None:
    node = a_leader_with_a_tail()

    effects = node.receives(client_fetch(offset))

    response = fetch_response(epoch=5, leader=1, high_watermark=11, error=error or ErrorCode.NONE)
    assert effects == ([replies(response)] if error else [])


@pytest.mark.parametrize(
    ("offset", "error"),
    [
        pytest.param(-1, OUT_OF_RANGE, id="below the log start"),
        pytest.param(8, None, id="at its high watermark: parked"),
        pytest.param(9, NOT_AVAILABLE, id="above its high watermark"),
        pytest.param(50, NOT_AVAILABLE, id="above its log end"),
    ],
)
@pytest.mark.rule("CLIENT-3")
def test_follower_never_sends_out_of_range_for_an_offset_that_it_may_not_know_yet(
    offset: int, error: ErrorCode | None
) -> None:
    node = a_follower_with_a_tail()

    effects = node.receives(client_fetch(offset))

    response = fetch_response(epoch=5, leader=2, high_watermark=8, error=error or ErrorCode.NONE)
    assert effects == ([replies(response)] if error else [])


@pytest.mark.rule("CLIENT-3")
def test_node_refuses_an_offset_before_its_log_start() -> None:
    node = a_leader(epoch=5, log=a_log([(3, 5)], 10, start=5))

    effects = node.receives(client_fetch(4))

    assert effects == [replies(fetch_response(epoch=5, leader=1, log_start=5, error=OUT_OF_RANGE))]


@pytest.mark.rule("CLIENT-4", "CLIENT-3")
def test_follower_that_knows_no_high_watermark_parks_the_start_and_has_nothing_else() -> None:
    node = a_follower(of=2, epoch=5)

    assert node.receives(client_fetch(0), request_id=1) == []
    assert node.receives(client_fetch(1), request_id=2) == [
        replies(fetch_response(epoch=5, leader=2, error=NOT_AVAILABLE), to=2)
    ]


@pytest.mark.rule("CLIENT-4", "HW-4")
@pytest.mark.parametrize("offset", [0, 4, 11], ids=["start", "middle", "end"])
def test_leader_parks_and_then_sends_an_empty_response_while_it_knows_no_high_watermark(offset: int) -> None:
    node = a_leader(epoch=5)

    assert node.receives(client_fetch(offset), now_ms=100) == []
    assert node.waits(until=599) == []
    assert node.waits(until=600) == [replies(fetch_response(epoch=5, leader=1))]


# Parked


@pytest.mark.rule("CLIENT-2", "FETCH-12", "HW-10")
def test_commit_wakes_a_parked_client_of_a_leader() -> None:
    node = a_leader_with_a_tail()
    node.receives(client_fetch(11))
    node.has_flushed()

    effects = node.receives(fetch_request(by=2, epoch=5, offset=14, last_epoch=5), request_id=99)

    response = fetch_response(epoch=5, leader=1, high_watermark=14)
    assert replies(response, read=reads(11, 14)) in effects


@pytest.mark.rule("CLIENT-2")
def test_append_alone_gives_a_parked_client_nothing() -> None:
    node = a_leader(epoch=5, high_watermark_known=True)
    node.receives(client_fetch(11))

    effects = node.handle(append_of(request_id=99), now_ms=110)

    assert [type(effect).__name__ for effect in effects] == ["AppendBatches", "FlushLog"]


@pytest.mark.rule("CLIENT-2", "HW-10")
def test_commit_wakes_a_parked_client_of_a_follower() -> None:
    node = a_follower_with_a_tail()
    node.receives(client_fetch(8))

    effects = node.gets(fetch_response(epoch=5, leader=2, high_watermark=10), of=2)

    assert effects[0] == replies(fetch_response(epoch=5, leader=2, high_watermark=10), read=reads(8, 10))


@pytest.mark.rule("CLIENT-2", "ROLE-14")
def test_parked_client_gets_an_error_when_the_leader_changes() -> None:
    node = a_follower_with_a_tail()
    node.receives(client_fetch(8))

    effects = node.receives(begin_request(epoch=6, leader=3), request_id=99)

    response = fetch_response(epoch=6, leader=3, high_watermark=8, error=NOT_LEADER)
    assert effects[2] == replies(response)


@pytest.mark.rule("CLIENT-2")
def test_client_waits_for_min_bytes_and_gets_fewer_when_its_max_wait_ends() -> None:
    node = a_leader_with_a_tail()

    assert (
        node.receives(client_fetch(4, wait_until_bytes=node.core.readable_bytes(read_committed=False) + 1), now_ms=100)
        == []
    )

    response = fetch_response(epoch=5, leader=1, high_watermark=11)
    assert node.waits(until=600) == [replies(response, read=reads(4, 11))]


@pytest.mark.rule("CLIENT-2")
@pytest.mark.parametrize(("missing_bytes", "waits"), [(0, False), (1, True)], ids=["there is enough", "a byte less"])
def test_client_gets_its_response_when_enough_bytes_are_committed(missing_bytes: int, waits: bool) -> None:
    node = a_leader_with_a_tail()

    effects = node.receives(
        client_fetch(4, wait_until_bytes=node.core.readable_bytes(read_committed=False) + missing_bytes)
    )

    response = fetch_response(epoch=5, leader=1, high_watermark=11)
    assert effects == ([] if waits else [replies(response, read=reads(4, 11))])


@pytest.mark.rule("CLIENT-2", "FETCH-12")
def test_work_of_an_append_does_not_grow_with_the_clients_that_wait_for_more() -> None:
    def calls_with(clients: int) -> int:
        node = a_leader_with_a_tail()
        for number in range(clients):
            node.receives(client_fetch(4, wait_until_bytes=1 << 40, max_wait_ms=1000), request_id=1000 + number)
        return calls_of(lambda: _append_and_commit(node))

    assert calls_with(500) == calls_with(1)


def _append_and_commit(node: Node) -> None:
    node.handle(append_of(), now_ms=1)
    node.has_flushed()
    node.receives(fetch_request(by=2, epoch=5, offset=15, last_epoch=5), request_id=99)
    assert node.core.high_watermark == 15


@pytest.mark.rule("CLIENT-2", "FETCH-12")
def test_commit_wakes_only_clients_for_which_enough_is_committed() -> None:
    node = a_leader_with_a_tail()
    enough, too_much = node.core.readable_bytes(read_committed=False) + 1, 1 << 40
    for request_id, wait_until_bytes in [(1, too_much), (2, enough), (3, too_much)]:
        node.receives(client_fetch(4, wait_until_bytes=wait_until_bytes), request_id=request_id)
    node.has_flushed()

    effects = node.receives(fetch_request(by=2, epoch=5, offset=14, last_epoch=5), request_id=99)

    response = fetch_response(epoch=5, leader=1, high_watermark=14)
    assert replies(response, to=2, read=reads(4, 14)) in effects
    assert not {1, 3} & {effect.request_id for effect in effects if isinstance(effect, SendResponse)}


@pytest.mark.rule("CLIENT-2")
def test_client_with_max_wait_0_gets_a_response_at_once() -> None:
    node = a_leader_with_a_tail()

    effects = node.receives(client_fetch(11, max_wait_ms=0))

    assert effects == [replies(fetch_response(epoch=5, leader=1, high_watermark=11))]


# Diverging logs


@pytest.mark.parametrize(
    ("asked", "told"),
    [
        pytest.param((10, 3), None, id="it agrees"),
        pytest.param((0, 0), None, id="it has read nothing yet"),
        pytest.param((10, 2), (2, 0), id="an epoch that left nothing here"),
        pytest.param((11, 3), (3, 10), id="an epoch that ended before"),
        pytest.param((4, None), None, id="it does not say"),
    ],
)
@pytest.mark.rule("CLIENT-1")
def test_client_gets_the_diverging_epoch_of_the_committed_log(
    asked: tuple[int, int | None], told: tuple[int, int] | None
) -> None:
    node = a_leader_with_a_tail()
    offset, last_epoch = asked

    effects = node.receives(client_fetch(offset, last_epoch=last_epoch))

    read = None if told else reads(offset, 11)
    assert effects == [replies(fetch_response(epoch=5, leader=1, high_watermark=11, diverging=told), read=read)]


@pytest.mark.rule("CLIENT-4")
def test_leader_parks_a_client_whose_records_diverge_while_it_knows_no_high_watermark() -> None:
    assert a_leader(epoch=5).receives(client_fetch(10, last_epoch=2)) == []


def test_client_never_gets_an_uncommitted_end() -> None:
    node = a_follower(of=2, epoch=5, high_watermark=4)
    node.gets(fetch_response(epoch=5, leader=2, batches=[batch(10, epoch=5)]), of=2)

    effects = node.receives(client_fetch(4, last_epoch=4))

    assert effects == [replies(fetch_response(epoch=5, leader=2, high_watermark=4, diverging=(3, 4)))]
