"""How many bytes of Produce requests may wait in a node, and which connections continue when some are freed."""

from __future__ import annotations

from raft.node.request_budget import RequestBudget


def test_budget_is_exhausted_above_its_limit() -> None:
    budget = RequestBudget(100)

    budget.take(100)
    is_exhausted_at_the_limit = budget.is_exhausted
    budget.take(1)

    assert not is_exhausted_at_the_limit
    assert budget.is_exhausted


def test_waiting_connections_are_called_when_half_of_the_budget_is_free() -> None:
    budget = RequestBudget(100)
    called: list[str] = []
    budget.take(60)
    budget.take(60)
    budget.when_free(lambda: called.append("first"))
    budget.when_free(lambda: called.append("second"))

    budget.release(60)
    called_early = list(called)
    budget.take(10)
    budget.release(30)

    assert called_early == []
    assert called == ["first", "second"]
    assert not budget.is_exhausted


def test_budget_stays_exhausted_while_a_connection_waits() -> None:
    budget = RequestBudget(100)
    budget.take(101)
    budget.when_free(lambda: None)

    budget.release(20)

    assert budget.is_exhausted, "81 of 100 bytes are taken, but a connection waits"


def test_connection_waits_again_when_it_exhausts_the_budget() -> None:
    budget = RequestBudget(100)
    calls: list[int] = []

    def resume() -> None:
        calls.append(len(calls))
        budget.take(101)
        if budget.is_exhausted:
            budget.when_free(resume)

    budget.take(101)
    budget.when_free(resume)
    budget.release(101)
    budget.release(101)

    assert calls == [0, 1]
