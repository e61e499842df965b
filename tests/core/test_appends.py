"""A client appends (rules CLIENT-6, CLIENT-8, HW-6, HW-7, HW-10, LOG-5, LOG-8)."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from raft.core.effects import Effect
from raft.core.events import LogFlushed
from raft.errors import ErrorCode
from raft.types import FIRST_KEYED_PRODUCER_ID, Offset
from tests.core.builder import Node, a_candidate, a_follower, a_leader, a_log, a_prospective, a_resigned, an_unattached
from tests.core.orders import appends, becomes, flushes, replies, sends, stores, truncates
from tests.core.states import follower
from tests.core.wording import (
    append_of,
    append_response,
    batch,
    begin_request,
    begin_response,
    fetch_request,
    fetch_response,
    our_fetch,
    vote_response,
)

NOT_LEADER = ErrorCode.NOT_LEADER_OR_FOLLOWER
KEYED_WRITER = FIRST_KEYED_PRODUCER_ID + 7


def is_fetched_from(node: Node, offset: int, *, now_ms: int = 200) -> list[Effect]:
    """Voter 2 has everything below that offset on its disk."""
    return node.receives(
        fetch_request(by=2, epoch=5, offset=offset, last_epoch=5, max_wait_ms=0), now_ms=now_ms, request_id=99
    )


@pytest.mark.rule("LOG-5", "HW-6", "CLIENT-6")
def test_leader_writes_an_append_at_its_end_in_its_epoch_and_responds_when_it_is_committed() -> None:
    node = a_leader(epoch=5, high_watermark_known=True)

    effects = node.handle(append_of(records=3), now_ms=100)

    assert effects == [appends(batch(11, epoch=5, records=3)), flushes(14)]
    assert node.has_flushed(now_ms=110) == []
    effects = is_fetched_from(node, 14)
    assert effects[0] == replies(append_response(epoch=5, base_offset=11))
    assert node.high_watermark == 14


@pytest.mark.rule("HW-6")
def test_leader_does_not_respond_while_the_high_watermark_is_below_the_last_record() -> None:
    node = a_leader(epoch=5, high_watermark_known=True)
    node.handle(append_of(records=3), now_ms=100)
    node.handle(append_of(records=1, request_id=78), now_ms=100)
    node.has_flushed(now_ms=110)

    effects = is_fetched_from(node, 14)

    answers = [effect for effect in effects if getattr(effect, "request_id", 99) != 99]
    assert answers == [replies(append_response(epoch=5, base_offset=11))]


@pytest.mark.rule("HW-7", "LOG-6")
def test_only_voter_responds_when_the_append_is_on_its_disk() -> None:
    node = a_leader(epoch=5, voters=(1,))

    assert node.handle(append_of(), now_ms=100) == [appends(batch(11, epoch=5)), flushes(12)]

    assert node.has_flushed(now_ms=110) == [replies(append_response(epoch=5, base_offset=11))]


@pytest.mark.rule("HW-7")
def test_leader_and_follower_both_have_it_on_disk_before_it_is_committed() -> None:
    node = a_leader(epoch=5, high_watermark_known=True)
    node.handle(append_of(), now_ms=100)

    is_fetched_from(node, 12)
    assert node.high_watermark == 11

    effects = node.has_flushed(now_ms=300)
    assert effects == [replies(append_response(epoch=5, base_offset=11))]


@pytest.mark.rule("HW-7")
def test_newest_flush_also_reports_the_older_ones() -> None:
    node = a_leader(epoch=5, voters=(1,))
    node.handle(append_of(), now_ms=100)
    older = node.last_flush
    node.handle(append_of(request_id=78), now_ms=100)

    assert node.has_flushed(now_ms=110) == [
        replies(append_response(epoch=5, base_offset=11)),
        replies(append_response(epoch=5, base_offset=12), to=78),
    ]
    assert node.handle(older, now_ms=120) == []
    assert node.core.durable_end == 13


@pytest.mark.rule("HW-7")
def test_flush_that_moves_nothing_changes_nothing() -> None:
    node = a_leader(epoch=5, high_watermark_known=True)

    assert node.handle(LogFlushed(number=0, end_offset=Offset(5)), now_ms=100) == []
    assert node.core.durable_end == 11


@pytest.mark.parametrize(
    ("node", "known"),
    [
        pytest.param(lambda: an_unattached(epoch=5), None, id="unattached"),
        pytest.param(lambda: a_prospective(epoch=5), None, id="prospective"),
        pytest.param(lambda: a_candidate(epoch=5), None, id="candidate"),
        pytest.param(lambda: a_resigned(epoch=5), 1, marks=pytest.mark.rule("ROLE-15"), id="resigned"),
        pytest.param(lambda: a_follower(of=2, epoch=5), 2, id="follower"),
    ],
)
@pytest.mark.rule("CLIENT-6")
def test_node_that_does_not_lead_refuses_an_append_and_names_the_leader(
    node: Callable[[], Node], known: int | None
) -> None:
    asked = node()

    effects = asked.handle(append_of(), now_ms=100)

    assert effects == [replies(append_response(epoch=5, leader=known, error=NOT_LEADER))]


@pytest.mark.rule("CLIENT-6")
def test_leader_says_that_the_outcome_is_unknown_when_the_client_has_waited_long_enough() -> None:
    node = a_leader(epoch=5, high_watermark_known=True)
    node.handle(append_of(timeout_ms=50), now_ms=100)

    assert node.core.deadline_ms == 150
    assert node.waits(until=149) == []
    assert node.waits(until=150) == [replies(append_response(epoch=5, error=ErrorCode.REQUEST_TIMED_OUT))]
    assert node.core.log.end_offset == 12, "what is written stays written"


@pytest.mark.rule("LOG-8", "ROLE-14", "CLIENT-6", "STATE-5")
def test_unfinished_append_fails_when_leadership_is_lost() -> None:
    node = a_leader(epoch=5, high_watermark_known=True)
    node.handle(append_of(), now_ms=100)
    node.has_flushed(now_ms=110)

    before = node.role

    effects = node.receives(begin_request(epoch=6, leader=2), now_ms=200, request_id=80)

    after = follower(of=2, epoch=6, until=2200)
    assert effects == [
        stores(epoch=6, leader=2),
        becomes(after, was=before, reason="node 2 leads epoch 6"),
        replies(append_response(epoch=6, leader=2, error=NOT_LEADER)),
        replies(begin_response(epoch=6, leader=2), to=80),
        sends(our_fetch(epoch=6, log_end=(5, 12), high_watermark=11), to=2),
    ]
    assert node.role == after


# Repeated appends


@pytest.mark.rule("CLIENT-8")
@pytest.mark.parametrize("producer", [(7, 0, 0), (KEYED_WRITER, 0, 3)], ids=["idempotent producer", "keyed write"])
def test_repeated_append_is_not_written_again_and_gets_the_old_offset_once_committed(
    producer: tuple[int, int, int],
) -> None:
    node = a_leader(epoch=5, high_watermark_known=True)
    assert node.handle(append_of(records=2, producer=producer, request_id=1), now_ms=100)[1:] == [flushes(13)]

    assert node.handle(append_of(records=2, producer=producer, request_id=2), now_ms=110) == []

    node.has_flushed(now_ms=120)
    done = append_response(epoch=5, base_offset=11)
    assert is_fetched_from(node, 13)[:2] == [replies(done, to=1), replies(done, to=2)]
    assert node.handle(append_of(records=2, producer=producer, request_id=3), now_ms=300) == [replies(done, to=3)]
    assert node.core.log.end_offset == 13


@pytest.mark.rule("CLIENT-8")
@pytest.mark.parametrize(
    ("producer", "error"),
    [
        pytest.param((8, 0, 5), ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER, id="an unknown id that does not begin at 0"),
        pytest.param((7, 1, 2), ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER, id="a gap"),
        pytest.param((7, 0, 1), ErrorCode.INVALID_PRODUCER_EPOCH, id="an older epoch"),
    ],
)
def test_append_out_of_turn_is_refused_at_once(producer: tuple[int, int, int], error: ErrorCode) -> None:
    node = a_leader(epoch=5)
    node.handle(append_of(producer=(7, 1, 0)), now_ms=100)

    effects = node.handle(append_of(producer=producer), now_ms=110)

    assert effects == [replies(append_response(epoch=5, error=error))]
    assert node.core.log.end_offset == 12


def test_overtaken_write_gets_duplicate_sequence_number_once_the_newer_one_is_committed() -> None:
    node = a_leader(epoch=5, high_watermark_known=True)
    node.handle(append_of(producer=(KEYED_WRITER, 0, 3), request_id=1), now_ms=100)

    assert node.handle(append_of(producer=(KEYED_WRITER, 0, 2), request_id=2), now_ms=110) == []

    node.has_flushed(now_ms=120)
    duplicate = append_response(epoch=5, base_offset=11, error=ErrorCode.DUPLICATE_SEQUENCE_NUMBER)
    assert is_fetched_from(node, 12)[1] == replies(duplicate, to=2)
    assert node.handle(append_of(producer=(KEYED_WRITER, 0, 2), request_id=3), now_ms=300) == [replies(duplicate, to=3)]


@pytest.mark.rule("CLIENT-11")
def test_write_of_other_rows_under_a_written_key_is_refused_once_the_first_one_is_committed() -> None:
    node = a_leader(epoch=5, high_watermark_known=True)
    node.handle(append_of(producer=(KEYED_WRITER, 0, 3), request_id=1), now_ms=100)

    assert node.handle(append_of(producer=(KEYED_WRITER, 0, 3), records=2, request_id=2), now_ms=110) == []

    node.has_flushed(now_ms=120)
    refusal = append_response(
        epoch=5,
        base_offset=11,
        error=ErrorCode.DUPLICATE_RESOURCE,
        message=f"version 3 of producer id {KEYED_WRITER} was written at offset 11 with record count 1; "
        "the batch that came has record count 2",
    )
    assert is_fetched_from(node, 12)[1] == replies(refusal, to=2)
    again = append_of(producer=(KEYED_WRITER, 0, 3), records=2, request_id=3)
    assert node.handle(again, now_ms=300) == [replies(refusal, to=3)]
    assert node.core.log.end_offset == 12


@pytest.mark.rule("CLIENT-8")
def test_new_leader_knows_the_uncommitted_writes_in_its_log() -> None:
    old = batch(9, epoch=3, producer=(KEYED_WRITER, 0, 3)).header
    node = a_leader(epoch=5, log=a_log([(3, 0)], 10), headers=[old])

    assert node.handle(append_of(producer=(KEYED_WRITER, 0, 3)), now_ms=100) == []

    assert is_fetched_from(node, 11)[0] == replies(append_response(epoch=5, base_offset=9))


@pytest.mark.rule("CLIENT-8", "DIVERGE-6")
def test_write_that_was_truncated_is_new_again() -> None:
    node = a_follower(of=2, epoch=5)
    lost = batch(10, epoch=5, producer=(KEYED_WRITER, 0, 3))
    node.gets(fetch_response(epoch=5, leader=2, batches=[lost]), of=2, now_ms=0)
    node.has_flushed(now_ms=0)
    assert node.gets(fetch_response(epoch=5, leader=2, diverging=(3, 10)), of=2, now_ms=0)[0] == truncates(10)
    node.waits(until=2000)
    for epoch in (5, 6):
        node.gets(vote_response(epoch=epoch, granted=True), of=3, now_ms=2000)

    effects = node.handle(append_of(producer=(KEYED_WRITER, 0, 3)), now_ms=2100)

    assert effects[0] == appends(batch(11, epoch=6, producer=(KEYED_WRITER, 0, 3)))
