"""New multipart writes wait while those that overlap are hidden from readers for too long (rule TXN-12)."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from raft.core.effects import Effect, SendResponse
from raft.core.events import AppendsRequested, ResignRequested, TimePassed
from raft.core.held_writes import HELD, LONGEST_HELD_MS
from raft.core.write_hold import HELD_BACK_MS, WriteHold
from raft.errors import ErrorCode
from raft.transactions import EndedWrite
from raft.types import ControlType, Epoch, Offset
from raft.writers import WriteKey
from tests.core.builder import Node, a_leader
from tests.core.orders import appends, flushes, replies
from tests.core.transactional import NAME, PRODUCER, commit_of_write, data, ends, inits, part, sent
from tests.core.wording import append_of, append_response, fetch_request

KEYS = [WriteKey("a query", version) for version in range(10)]


def part_id(write: int, number: int = 1) -> int:
    return KEYS[write].write_id.part_producer_id(number)


def begins(
    node: Node, write: int, *, now_ms: int, number: int = 1, request_id: int = 1, timeout_ms: int = 5_000
) -> list[Effect]:
    """A task appends the first batch of a part."""
    name = KEYS[write].write_id.transactional_id
    append = sent(data(part_id(write, number)), transactional_id=name, request_id=request_id, timeout_ms=timeout_ms)
    return node.handle(append, now_ms=now_ms)


def ends_write(node: Node, write: int, *, now_ms: int, parts: Sequence[int] = (1,)) -> list[Effect]:
    """The driver commits a write, and all of it is committed."""
    commit = commit_of_write(*(part(part_id(write, number)) for number in parts), key=KEYS[write])
    node.handle(sent(commit, transactional_id=None, request_id=2), now_ms=now_ms)
    return is_committed(node, now_ms=now_ms)


def is_committed(node: Node, *, now_ms: int) -> list[Effect]:
    """Everything in the log is flushed here and at voter 2."""
    node.has_flushed(now_ms=now_ms)
    end = node.core.log.end
    fetch = fetch_request(by=2, epoch=end.epoch, offset=end.offset, last_epoch=end.epoch, max_wait_ms=0)
    return node.receives(fetch, now_ms=now_ms, request_id=99)


def responses_to(request_id: int, effects: Sequence[Effect]) -> list[Effect]:
    return [each for each in effects if isinstance(each, SendResponse) and each.request_id == request_id]


def leader_with_overlapping_writes() -> Node:
    """Each of three writes begins within the one before; the first two have ended since 100 ms, and the third is open.

    Its part is at offset 15.
    """
    node = a_leader(epoch=5, high_watermark_known=True)
    begins(node, 0, now_ms=100)
    begins(node, 1, now_ms=100)
    ends_write(node, 0, now_ms=100)
    begins(node, 2, now_ms=100)
    ends_write(node, 1, now_ms=100)
    assert node.core.last_stable_offset == 11
    for now_ms in range(1_000, 100 + HELD_BACK_MS, 1_000):
        is_committed(node, now_ms=now_ms)
    return node.count_from_here()


HELD_AT = 100 + HELD_BACK_MS


@pytest.mark.rule("TXN-12")
def test_new_write_waits_and_is_refused_when_others_have_hidden_records_for_too_long() -> None:
    node = leader_with_overlapping_writes()

    waits = begins(node, 3, now_ms=HELD_AT, request_id=7)
    too_early = node.handle(TimePassed(), now_ms=HELD_AT + LONGEST_HELD_MS - 1)
    refused = node.handle(TimePassed(), now_ms=HELD_AT + LONGEST_HELD_MS)

    assert waits == too_early == []
    assert node.core.deadline_ms is not None
    assert refused == [replies(append_response(epoch=5, error=ErrorCode.REQUEST_TIMED_OUT, message=HELD), to=7)]


@pytest.mark.rule("TXN-12")
def test_new_write_waits_for_no_longer_than_its_own_timeout() -> None:
    node = leader_with_overlapping_writes()

    begins(node, 3, now_ms=HELD_AT, request_id=7, timeout_ms=20)

    assert node.core.deadline_ms == HELD_AT + 20
    assert len(responses_to(7, node.handle(TimePassed(), now_ms=HELD_AT + 20))) == 1


@pytest.mark.rule("TXN-12")
def test_new_write_is_appended_until_others_have_hidden_records_for_too_long() -> None:
    node = leader_with_overlapping_writes()

    effects = begins(node, 3, now_ms=HELD_AT - 1)

    assert effects[0] == appends(data(part_id(3), at=18, epoch=5))


@pytest.mark.rule("TXN-12")
def test_wait_ends_as_soon_as_the_writes_are_visible() -> None:
    node = leader_with_overlapping_writes()
    begins(node, 3, now_ms=HELD_AT, request_id=7)

    effects = ends_write(node, 2, now_ms=HELD_AT + 10)

    held = append_response(epoch=5, error=ErrorCode.REQUEST_TIMED_OUT, message=HELD)
    assert responses_to(7, effects) == [replies(held, to=7)]
    assert node.core.last_stable_offset == node.core.log.end_offset
    assert begins(node, 3, now_ms=HELD_AT + 20)[0] == appends(data(part_id(3), at=20, epoch=5))


@pytest.mark.rule("TXN-12")
def test_write_whose_driver_was_killed_ends_the_wait_of_others_when_it_is_aborted() -> None:
    node = leader_with_overlapping_writes()
    begins(node, 3, now_ms=HELD_AT, request_id=7)

    node.handle(ends(ControlType.ABORT, by=part_id(2), transactional_id=None), now_ms=HELD_AT + 10)
    effects = is_committed(node, now_ms=HELD_AT + 10)

    assert len(responses_to(7, effects)) == 1
    assert node.core.last_stable_offset == node.core.log.end_offset


@pytest.mark.rule("TXN-12")
@pytest.mark.parametrize("what", ["another batch of its part", "another part of it", "the same batch again"])
def test_write_that_has_begun_goes_on_while_new_ones_wait(what: str) -> None:
    node = leader_with_overlapping_writes()
    name = KEYS[2].write_id.transactional_id
    batch = data(part_id(2, 2)) if what == "another part of it" else data(part_id(2), sequence=1)
    if what == "the same batch again":
        batch = data(part_id(2))

    effects = node.handle(sent(batch, transactional_id=name, request_id=7), now_ms=HELD_AT)

    if what == "the same batch again":
        assert effects == [replies(append_response(epoch=5, base_offset=15), to=7)]
    else:
        assert effects[0] == appends(
            data(batch.header.producer_id or 0, sequence=batch.header.base_sequence, at=18, epoch=5)
        )


@pytest.mark.rule("TXN-12")
def test_all_but_new_multipart_writes_go_on_while_these_wait() -> None:
    node = leader_with_overlapping_writes()

    idempotent = node.handle(append_of(producer=(3, 0, 0), request_id=3), now_ms=HELD_AT)
    init = node.handle(inits(request_id=4), now_ms=HELD_AT)
    transaction = node.handle(sent(data(PRODUCER), transactional_id=NAME, request_id=5), now_ms=HELD_AT)
    end = node.handle(ends(ControlType.COMMIT, request_id=6), now_ms=HELD_AT)

    for offset, effects in ((18, idempotent), (19, init), (20, transaction), (21, end)):
        assert effects[-1] == flushes(offset + 1, number=offset - 18), offset


@pytest.mark.rule("TXN-12")
def test_each_append_of_one_event_is_judged_by_itself() -> None:
    node = leader_with_overlapping_writes()
    new = sent(data(part_id(3)), transactional_id=KEYS[3].write_id.transactional_id, request_id=7, timeout_ms=9)
    begun = sent(data(part_id(2, 2)), transactional_id=KEYS[2].write_id.transactional_id, request_id=8)

    effects = node.handle(AppendsRequested(appends=(new, begun)), now_ms=HELD_AT)

    assert effects[0] == appends(data(part_id(2, 2), at=18, epoch=5))
    assert responses_to(7, node.handle(TimePassed(), now_ms=HELD_AT + 9)) != []


@pytest.mark.rule("TXN-12")
def test_single_write_within_another_one_lets_no_write_wait() -> None:
    node = a_leader(epoch=5, high_watermark_known=True)
    begins(node, 0, now_ms=100)
    begins(node, 1, now_ms=100)
    ends_write(node, 0, now_ms=100)
    for now_ms in range(1_000, 10_000, 1_000):
        is_committed(node, now_ms=now_ms)

    effects = begins(node, 2, now_ms=9_500)

    assert node.core.last_stable_offset == 11
    assert effects[0] == appends(data(part_id(2), at=15, epoch=5))


@pytest.mark.rule("TXN-12")
def test_waiting_writes_are_refused_when_the_leader_resigns() -> None:
    node = leader_with_overlapping_writes()
    begins(node, 3, now_ms=HELD_AT, request_id=7)

    effects = node.handle(ResignRequested(epoch=Epoch(5)), now_ms=HELD_AT + 10)

    lost = append_response(epoch=5, error=ErrorCode.NOT_LEADER_OR_FOLLOWER)
    assert responses_to(7, effects) == [replies(lost, to=7)]


FIRST, LATER = Offset(10), Offset(50)


def ranges(end: int, *, first: Offset = FIRST) -> EndedWrite:
    return EndedWrite(first_offset=first, end_offset=Offset(end))


@pytest.mark.rule("TXN-12")
def test_time_counts_from_when_what_began_within_the_first_writes_has_ended() -> None:
    hold = WriteHold()

    hold.note(ranges(20), Offset(15), 0)
    hold.note(ranges(30), Offset(19), 5_000)
    hold.note(ranges(30), Offset(20), 6_000)
    hold.note(ranges(90), Offset(80), 6_900)

    assert not hold.is_active(6_000 + HELD_BACK_MS - 1)
    assert hold.is_active(6_000 + HELD_BACK_MS)


@pytest.mark.rule("TXN-12")
@pytest.mark.parametrize(
    "write", [pytest.param(None, id="nothing is held back"), pytest.param(ranges(90, first=LATER), id="later writes")]
)
def test_time_counts_anew_when_the_last_stable_offset_has_moved_on(write: EndedWrite | None) -> None:
    hold = WriteHold()
    hold.note(ranges(20), Offset(15), 0)
    hold.note(ranges(30), Offset(25), 0)

    hold.note(write, Offset(60), HELD_BACK_MS)

    assert not hold.is_active(10 * HELD_BACK_MS)
