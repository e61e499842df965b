"""Appends that come together are one event (rule LOG-9)."""

from __future__ import annotations

from collections import deque

from raft.core.effects import AppendBatches, FlushLog
from raft.core.event_queue import MAX_TOGETHER, take_next
from raft.core.events import AppendRequested, AppendsRequested, Event, TimePassed
from tests.core.builder import a_leader
from tests.core.orders import appends, flushes, replies
from tests.core.wording import append_of, append_response, batch


def some_appends(count: int) -> list[AppendRequested]:
    return [append_of(request_id=number) for number in range(count)]


def test_appends_at_the_front_become_one_event() -> None:
    several = some_appends(3)
    events: deque[Event] = deque([*several, TimePassed(), *several])

    taken = [take_next(events) for _ in range(3)]

    together = AppendsRequested(appends=tuple(several))
    assert taken == [together, TimePassed(), together]
    assert not events


def test_single_append_stays_an_append() -> None:
    (one,) = some_appends(1)

    assert take_next(deque([one, TimePassed()])) == one
    assert take_next(deque([one])) == one


def test_number_of_appends_in_one_event_is_limited() -> None:
    events: deque[Event] = deque(some_appends(MAX_TOGETHER + 1))

    taken = take_next(events)

    assert isinstance(taken, AppendsRequested)
    assert len(taken.appends) == MAX_TOGETHER
    assert len(events) == 1


def test_appends_together_are_written_in_their_order_and_flushed_once() -> None:
    node = a_leader(epoch=5, voters=(1,), high_watermark_known=True)
    first, second = append_of(request_id=1, records=2), append_of(request_id=2)

    effects = node.handle(AppendsRequested(appends=(first, second)), now_ms=100)
    answers = node.has_flushed()

    assert effects == [appends(batch(11, epoch=5, records=2), batch(13, epoch=5)), flushes(14)]
    assert answers == [
        replies(append_response(epoch=5, leader=1, base_offset=offset), to=number)
        for number, offset in ((1, 11), (2, 13))
    ]


def test_repeated_append_among_those_that_came_together_is_written_once() -> None:
    node = a_leader(epoch=5, voters=(1,), high_watermark_known=True)
    once, again = (append_of(request_id=number, producer=(7, 0, 0)) for number in (1, 2))

    effects = node.handle(AppendsRequested(appends=(once, again)), now_ms=100)
    answers = node.has_flushed()

    assert [len(effect.batches) for effect in effects if isinstance(effect, AppendBatches)] == [1]
    assert len([effect for effect in effects if isinstance(effect, FlushLog)]) == 1
    assert answers == [replies(append_response(epoch=5, leader=1, base_offset=11), to=number) for number in (1, 2)]
