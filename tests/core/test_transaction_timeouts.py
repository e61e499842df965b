"""The deadlines of open transactions, against a model: a plain dict (rule TXN-8)."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from raft.core.transaction_timeouts import TransactionTimeouts

changes = st.lists(st.tuples(st.integers(1, 4), st.none() | st.integers(0, 20)), max_size=12)
"""Of each change: the producer id, and the deadline of a transaction that begins, or None for one that ends."""


def timeouts_of(deadlines_ms: dict[int, int]) -> TransactionTimeouts:
    timeouts = TransactionTimeouts()
    for producer_id, deadline_ms in deadlines_ms.items():
        timeouts.start(producer_id, deadline_ms)
    return timeouts


def test_nothing_is_overdue_while_no_transaction_is_open() -> None:
    timeouts = TransactionTimeouts()

    assert timeouts.earliest_deadline_ms is None
    assert timeouts.overdue(1 << 40, at_most=9) == []


@pytest.mark.rule("TXN-8")
@pytest.mark.parametrize(
    ("now_ms", "overdue"),
    [
        pytest.param(99, [], id="before the first deadline"),
        pytest.param(100, [2], id="at the first deadline"),
        pytest.param(199, [2], id="before the second deadline"),
        pytest.param(300, [1, 2, 3], id="after all deadlines"),
    ],
)
def test_transactions_are_overdue_from_their_deadline_on(now_ms: int, overdue: list[int]) -> None:
    timeouts = timeouts_of({1: 300, 2: 100, 3: 200})

    assert timeouts.overdue(now_ms, at_most=9) == overdue


@pytest.mark.rule("TXN-8")
def test_transaction_keeps_its_first_deadline_when_it_goes_on() -> None:
    timeouts = timeouts_of({1: 100})

    timeouts.start(1, 50)
    timeouts.start(1, 900)

    assert timeouts.earliest_deadline_ms == 100
    assert timeouts.overdue(99, at_most=9) == []
    assert timeouts.overdue(100, at_most=9) == [1]


@pytest.mark.rule("TXN-8")
@pytest.mark.parametrize(
    ("ended", "earliest_ms"),
    [
        pytest.param([2], 200, id="the one that is due first"),
        pytest.param([1], 100, id="the one that is due last"),
        pytest.param([2, 3], 300, id="the two that are due first"),
        pytest.param([3, 2], 300, id="the same in the other order"),
        pytest.param([1, 2, 3], None, id="all"),
        pytest.param([9], 100, id="one that has no deadline"),
    ],
)
def test_earliest_deadline_is_that_of_the_open_transactions_when_others_end(
    ended: list[int], earliest_ms: int | None
) -> None:
    timeouts = timeouts_of({1: 300, 2: 100, 3: 200})

    for producer_id in ended:
        timeouts.stop(producer_id)

    assert timeouts.earliest_deadline_ms == earliest_ms
    assert timeouts.overdue(1000, at_most=9) == [producer_id for producer_id in (1, 2, 3) if producer_id not in ended]


@pytest.mark.rule("TXN-8")
@given(changes=changes, asked=st.lists(st.booleans(), min_size=12, max_size=12))
def test_deadlines_are_those_of_a_plain_dict_after_any_changes(
    changes: list[tuple[int, int | None]], asked: list[bool]
) -> None:
    timeouts, model = TransactionTimeouts(), dict[int, int]()

    for (producer_id, deadline_ms), is_asked in zip(changes, asked, strict=False):
        if deadline_ms is None:
            timeouts.stop(producer_id)
            model.pop(producer_id, None)
        else:
            timeouts.start(producer_id, deadline_ms)
            model.setdefault(producer_id, deadline_ms)
        # The earliest deadline is computed when it is asked for, so some changes happen between two questions.
        if is_asked:
            assert timeouts.earliest_deadline_ms == min(model.values(), default=None)
        for now_ms in range(0, 22, 3):
            expected = {open_id for open_id, due_ms in model.items() if due_ms <= now_ms}
            assert sorted(timeouts.overdue(now_ms, at_most=9)) == sorted(expected)

    assert timeouts.earliest_deadline_ms == min(model.values(), default=None)


@pytest.mark.rule("TXN-8")
@pytest.mark.parametrize(("at_most", "overdue"), [(0, []), (1, [2]), (2, [2, 3]), (3, [1, 2, 3])])
def test_transactions_with_the_earliest_deadlines_are_named_if_there_are_more(at_most: int, overdue: list[int]) -> None:
    timeouts = timeouts_of({1: 300, 2: 100, 3: 200})

    assert [timeouts.overdue(1000, at_most=at_most) for _ in range(2)] == [overdue] * 2


def test_transactions_that_ended_take_no_memory_when_there_are_many() -> None:
    timeouts = timeouts_of({0: 1})

    for producer_id in range(1, 10_000):
        timeouts.start(producer_id, 1_000)
        timeouts.stop(producer_id)

    assert len(timeouts._in_order) <= 1_002
    assert timeouts.overdue(1_000, at_most=9) == [0]
