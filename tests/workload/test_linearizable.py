"""Histories of appends and reads of a log's end, linearizable and not."""

from __future__ import annotations

from itertools import permutations
from random import Random

import pytest

from raft.types import Offset
from tests.workload.linearizable import TimedAppend, TimedRead, not_linearizable

Operation = TimedAppend | TimedRead


def append(invoked_ns: int, answered_ns: int, *, at: int, count: int = 1) -> TimedAppend:
    return TimedAppend(
        name="append",
        invoked_ns=invoked_ns,
        answered_ns=answered_ns,
        start_offset=Offset(at),
        end_offset=Offset(at + count),
    )


def read(invoked_ns: int, answered_ns: int, *, end: int, hidden_to: int = 0) -> TimedRead:
    return TimedRead(
        name="read",
        invoked_ns=invoked_ns,
        answered_ns=answered_ns,
        end_offset=Offset(end),
        hidden_to=Offset(hidden_to),
    )


def sentences(*operations: Operation) -> list[str]:
    appends = [each for each in operations if isinstance(each, TimedAppend)]
    return [*not_linearizable(appends, [each for each in operations if isinstance(each, TimedRead)])]


@pytest.mark.rule("READ-1")
@pytest.mark.parametrize(
    "operations",
    [
        pytest.param([], id="empty"),
        pytest.param([append(0, 1, at=0), append(2, 3, at=1), read(4, 5, end=2)], id="one after the other"),
        pytest.param([append(0, 9, at=0), read(1, 2, end=0), read(3, 4, end=1)], id="the append overlaps both reads"),
        pytest.param([append(0, 9, at=1), append(1, 8, at=0)], id="appends that overlap, in any order"),
        pytest.param([read(0, 9, end=3), read(1, 2, end=5)], id="reads that overlap, in any order"),
        pytest.param([append(0, 5, at=0), read(5, 6, end=0)], id="at the same moment one does not come before"),
        pytest.param([append(0, 1, at=4), read(2, 3, end=2, hidden_to=5)], id="behind an open transaction"),
        pytest.param([read(0, 1, end=5), append(2, 3, at=5)], id="the append follows what was read"),
        pytest.param([append(0, 1, at=0, count=3), read(2, 3, end=3)], id="a batch of several records"),
    ],
)
def test_linearizable_history_is_accepted(operations: list[Operation]) -> None:
    assert sentences(*operations) == []


@pytest.mark.rule("READ-1")
@pytest.mark.parametrize(
    ("operations", "wrong"),
    [
        pytest.param(
            [append(0, 1, at=4), read(2, 3, end=4)],
            "read returned the end 4, but appends up to 5 were acknowledged before",
            id="a read misses an append",
        ),
        pytest.param(
            [append(0, 1, at=4, count=2), read(2, 3, end=5)],
            "read returned the end 5, but appends up to 6 were acknowledged before",
            id="a read misses the last record of a batch",
        ),
        pytest.param(
            [append(0, 1, at=4), read(2, 3, end=2, hidden_to=4)],
            "read returned the end 2, but appends up to 5 were acknowledged before",
            id="a read misses an append that no open transaction hides",
        ),
        pytest.param(
            [append(0, 9, at=4), read(1, 2, end=5), read(3, 4, end=4)],
            "read returned the end 4, but another one had returned 5 before",
            id="a read goes back, while the append is in flight",
        ),
        pytest.param(
            [read(0, 1, end=5), append(2, 3, at=4)],
            "append is at 4, but a read had returned the end 5 before",
            id="an append in front of what was read",
        ),
        pytest.param(
            [append(0, 1, at=5), append(2, 3, at=4)],
            "append is at 4, but appends up to 6 were acknowledged before",
            id="an append in front of an earlier one",
        ),
    ],
)
def test_history_that_is_not_linearizable_is_rejected(operations: list[Operation], wrong: str) -> None:
    assert sentences(*operations) == [wrong]
    assert sentences(*reversed(operations)) == [wrong], "the order of the list is not that of the operations"


def has_order(operations: list[Operation]) -> bool:
    """Whether an order of the operations agrees with real time and with a log, found by trying all of them."""
    return any(
        all(after.answered_ns >= before.invoked_ns for at, before in enumerate(order) for after in order[at + 1 :])
        and is_of_log(order)
        for order in permutations(operations)
    )


def is_of_log(order: tuple[Operation, ...]) -> bool:
    """Whether each read sees all appends before it and none behind it. Records of unknown appends fill the gaps."""
    reached = 0
    for operation in order:
        offset = operation.start_offset if isinstance(operation, TimedAppend) else operation.end_offset
        if offset < reached:
            return False
        reached = operation.end_offset
    return True


@pytest.mark.rule("READ-1")
def test_judge_agrees_with_a_search_of_all_orders() -> None:
    dice = Random(7)
    accepted = 0
    for _ in range(1500):
        operations: list[Operation] = []
        offsets = dice.sample(range(6), 6)
        for at in range(dice.randint(2, 5)):
            begin = dice.randint(0, 12)
            end = begin + dice.randint(1, 6)
            if dice.random() < 0.5:
                operations.append(append(begin, end, at=offsets[at]))
            else:
                operations.append(read(begin, end, end=dice.randint(0, 6)))

        is_accepted = not sentences(*operations)
        accepted += is_accepted

        assert is_accepted == has_order(operations), operations
    assert 100 < accepted < 1400, "both kinds occur"
