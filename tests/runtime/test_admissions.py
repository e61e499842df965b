"""Produce requests are checked on the event loop or by the worker, and in order for each connection."""

from __future__ import annotations

import asyncio
import threading
import time
import weakref
from collections.abc import Callable
from typing import NoReturn

import pytest

from raft.node.admission_thread import AdmissionThread
from raft.runtime.admissions import Admissions
from tests.hang import HANG_S


class Gate:
    """A check that returns after `open` is called, and records its thread."""

    def __init__(self) -> None:
        self._open = threading.Event()
        self.thread = ""

    def check(self) -> str:
        self.thread = threading.current_thread().name
        assert self._open.wait(HANG_S), "the test opens the gate"
        return "large"

    def open(self) -> None:
        self._open.set()


class Checks:
    """Requests on an event loop, and what became of them.

    Attributes:
        admitted: the origins and results, in order.
        failures: the errors, in order.
        charged: what the worker has used for each origin.
    """

    def __init__(self) -> None:
        self.admitted: list[tuple[str, str]] = []
        self.failures: list[str] = []
        self.charged: list[tuple[str, float]] = []
        self.admissions = Admissions(AdmissionThread())

    def admit(self, origin: str, check: Callable[[], str], *, is_quick: bool = False) -> Callable[[], None]:
        return self.admissions.admit(
            origin,
            check,
            lambda result: self.admitted.append((origin, result)),
            failed=lambda error: self.failures.append(repr(error)),
            charge=lambda used_s: self.charged.append((origin, used_s)),
            is_quick=is_quick,
        )

    async def wait_for(self, origin: str) -> None:
        """Wait until all requests of an origin are checked."""
        ended = asyncio.get_running_loop().create_future()
        self.admissions.admit(
            origin,
            lambda: None,
            ended.set_result,
            failed=ended.set_exception,
            charge=lambda _: None,
            is_quick=True,
        )
        await asyncio.wait_for(ended, HANG_S)


def fail(*_: object) -> NoReturn:
    raise ZeroDivisionError("a bug")


def test_quick_check_runs_at_once_on_the_event_loop() -> None:
    gate = Gate()
    gate.open()

    async def play() -> list[tuple[str, str]]:
        checks = Checks()
        checks.admit("a", gate.check, is_quick=True)
        checks.admissions.close()
        return checks.admitted

    assert asyncio.run(play()) == [("a", "large")]
    assert gate.thread == threading.current_thread().name


def test_slow_check_delays_only_requests_of_its_own_origin() -> None:
    gate, second_gate = Gate(), Gate()

    async def play() -> list[tuple[str, str]]:
        checks = Checks()
        checks.admit("a", gate.check)
        checks.admit("a", lambda: "second", is_quick=True)
        checks.admit("a", second_gate.check)
        checks.admit("b", lambda: "quick", is_quick=True)
        assert checks.admitted == [("b", "quick")]
        gate.open()
        second_gate.open()
        await checks.wait_for("a")
        checks.admissions.close()
        return checks.admitted

    assert asyncio.run(play()) == [("b", "quick"), ("a", "large"), ("a", "second"), ("a", "large")]
    assert gate.thread.startswith("admission")


@pytest.mark.parametrize("is_quick", [pytest.param(True, id="on the loop"), pytest.param(False, id="by the worker")])
def test_next_requests_are_checked_when_the_check_before_them_raises(is_quick: bool) -> None:
    async def play() -> Checks:
        checks = Checks()
        checks.admit("a", lambda: "slow")
        checks.admit("a", fail, is_quick=is_quick)
        checks.admit("a", lambda: "next", is_quick=True)
        await checks.wait_for("a")
        checks.admit("a", lambda: "later", is_quick=True)
        checks.admissions.close()
        return checks

    checks = asyncio.run(play())
    assert checks.admitted == [("a", "slow"), ("a", "next"), ("a", "later")]
    assert checks.failures == ["ZeroDivisionError('a bug')"]


def test_request_fails_when_its_append_raises() -> None:
    async def play() -> list[str]:
        failures: list[str] = []
        admissions = Admissions(AdmissionThread())
        admissions.admit(
            "a",
            lambda: "good",
            fail,
            failed=lambda error: failures.append(repr(error)),
            charge=fail,
            is_quick=True,
        )
        admissions.close()
        return failures

    assert asyncio.run(play()) == ["ZeroDivisionError('a bug')"]


def test_dropped_requests_are_freed_and_neither_checked_nor_admitted() -> None:
    gate = Gate()
    checked: list[str] = []

    class Large:
        """A request of many bytes."""

        def check(self) -> str:
            checked.append("dropped")
            return "dropped"

    async def play() -> tuple[int, list[tuple[str, str]]]:
        checks = Checks()
        requests = [Large() for _ in range(3)]
        held = [weakref.ref(request) for request in requests]
        drop_first = checks.admit("a", gate.check)
        drops = [
            checks.admit("a", requests[0].check),  # It waits for the check before it,
            checks.admit("a", requests[1].check, is_quick=True),  # and so does this one.
            checks.admit("b", requests[2].check),  # It waits for the worker.
        ]
        checks.admit("a", lambda: "kept")
        requests.clear()
        for drop in drops:
            drop()
        freed = sum(ref() is None for ref in held)
        gate.open()
        await checks.wait_for("a")
        await checks.wait_for("b")
        drop_first()
        checks.admissions.close()
        return freed, checks.admitted

    assert asyncio.run(play()) == (3, [("a", "large"), ("a", "kept")])
    assert checked == []


def test_no_request_is_admitted_after_close() -> None:
    gate = Gate()

    async def play() -> list[tuple[str, str]]:
        checks = Checks()
        checks.admit("a", gate.check)
        checks.admit("b", gate.check)
        checks.admissions.close()
        gate.open()
        await asyncio.get_running_loop().shutdown_default_executor()
        await asyncio.sleep(0)
        return checks.admitted

    assert asyncio.run(play()) == []


@pytest.mark.rule("SHARE-6")
def test_time_of_the_worker_counts_for_the_origin_of_the_request() -> None:
    def busy() -> str:
        end_s = time.thread_time() + 0.01
        while time.thread_time() < end_s:
            pass
        return "checked"

    async def play() -> Checks:
        checks = Checks()
        checks.admit("a", busy)
        checks.admit("b", lambda: "quick", is_quick=True)
        await checks.wait_for("a")
        return checks

    checks = asyncio.run(play())
    ((origin, used_s),) = checks.charged
    assert origin == "a"
    assert used_s >= 0.01
