"""The bytes of requests that may wait in a node."""

from __future__ import annotations

from raft.node.budget import RequestBudget


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
