"""How many bytes of fetch responses may be in memory, and which read proceeds when some are freed."""

from __future__ import annotations

from raft.runtime.response_budget import ResponseBudget


def test_reads_wait_for_the_budget_and_proceed_in_order() -> None:
    budget = ResponseBudget(100)
    read: list[str] = []
    first = budget.ask(60, lambda: read.append("first"))
    second = budget.ask(60, lambda: read.append("second"))
    budget.ask(10, lambda: read.append("third"))
    read_at_first = list(read)
    is_awaited_at_first = budget.is_awaited

    budget.release(first)

    assert (read_at_first, is_awaited_at_first) == (["first"], True)
    assert read == ["first", "second", "third"]
    assert not budget.is_awaited
    budget.release(second)
    budget.release(second)
    assert budget._taken_bytes == 10, "released once"


def test_read_larger_than_the_limit_proceeds_alone() -> None:
    budget = ResponseBudget(100)
    read: list[str] = []

    large = budget.ask(1000, lambda: read.append("large"))
    budget.ask(1, lambda: read.append("small"))
    read_at_first = list(read)
    budget.release(large)

    assert read_at_first == ["large"]
    assert read == ["large", "small"]


def test_read_releases_the_rest_when_it_finds_fewer_bytes() -> None:
    budget = ResponseBudget(100)
    read: list[str] = []
    first = budget.ask(100, lambda: read.append("first"))
    budget.ask(90, lambda: read.append("second"))

    budget.shrink(first, 10)

    assert read == ["first", "second"]


def test_read_does_not_proceed_when_it_is_released_while_it_waits() -> None:
    budget = ResponseBudget(100)
    read: list[str] = []
    first = budget.ask(100, lambda: read.append("first"))
    second = budget.ask(100, lambda: read.append("second"))

    budget.release(second)
    budget.release(first)

    assert read == ["first"]
    assert budget._taken_bytes == 0


def test_permit_is_taken_at_once_or_not_at_all() -> None:
    budget = ResponseBudget(100)
    read: list[str] = []

    first = budget.take(60)
    too_large = budget.take(41)
    budget.ask(90, lambda: read.append("waiting"))
    overtaking = budget.take(10)
    assert first is not None
    budget.release(first)

    assert (too_large, overtaking) == (None, None)
    assert read == ["waiting"]
    assert budget._taken_bytes == 90
