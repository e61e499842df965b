"""The bytes of requests and of answers that may wait in a node."""

from __future__ import annotations

from raft.node.request_budget import RequestBudget
from raft.runtime.response_budget import ResponseBudget


def test_budget_is_exhausted_above_its_limit() -> None:
    budget = RequestBudget(100)

    budget.take(100)
    is_exhausted_at_the_limit = budget.is_exhausted
    budget.take(1)

    assert not is_exhausted_at_the_limit
    assert budget.is_exhausted


def test_those_who_wait_are_called_when_half_is_free_again() -> None:
    budget = RequestBudget(100)
    called: list[str] = []
    budget.take(60)
    budget.take(60)
    budget.when_free(lambda: called.append("first"))
    budget.when_free(lambda: called.append("second"))

    budget.give_back(60)
    called_early = list(called)
    budget.take(10)
    budget.give_back(30)

    assert called_early == []
    assert called == ["first", "second"]
    assert not budget.is_exhausted


def test_nobody_overtakes_those_who_wait() -> None:
    budget = RequestBudget(100)
    budget.take(101)
    budget.when_free(lambda: None)

    budget.give_back(20)

    assert budget.is_exhausted, "81 of 100, but somebody waits"


def test_who_is_called_may_wait_again() -> None:
    budget = RequestBudget(100)
    calls: list[int] = []

    def resume() -> None:
        calls.append(len(calls))
        budget.take(101)
        if budget.is_exhausted:
            budget.when_free(resume)

    budget.take(101)
    budget.when_free(resume)
    budget.give_back(101)
    budget.give_back(101)

    assert calls == [0, 1]


def test_reads_wait_for_room_and_go_on_in_their_order() -> None:
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


def test_read_larger_than_the_limit_goes_on_alone() -> None:
    budget = ResponseBudget(100)
    read: list[str] = []

    large = budget.ask(1000, lambda: read.append("large"))
    budget.ask(1, lambda: read.append("small"))
    read_at_first = list(read)
    budget.release(large)

    assert read_at_first == ["large"]
    assert read == ["large", "small"]


def test_read_that_found_less_gives_the_rest_back() -> None:
    budget = ResponseBudget(100)
    read: list[str] = []
    first = budget.ask(100, lambda: read.append("first"))
    budget.ask(90, lambda: read.append("second"))

    budget.shrink(first, 10)

    assert read == ["first", "second"]


def test_read_that_is_given_up_while_it_waits_is_forgotten() -> None:
    budget = ResponseBudget(100)
    read: list[str] = []
    first = budget.ask(100, lambda: read.append("first"))
    second = budget.ask(100, lambda: read.append("second"))

    budget.release(second)
    budget.release(first)

    assert read == ["first"]
    assert budget._taken_bytes == 0
