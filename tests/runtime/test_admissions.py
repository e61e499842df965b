"""Produce requests are checked on the event loop or by the worker, and in order for each connection."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable

from raft.node.admission_thread import AdmissionThread
from raft.runtime.admissions import Admissions

PATIENCE_S = 10.0


class Gate:
    """A check that returns after `open` is called, and records its thread."""

    def __init__(self) -> None:
        self._open = threading.Event()
        self.thread = ""

    def check(self) -> str:
        self.thread = threading.current_thread().name
        assert self._open.wait(PATIENCE_S), "the test opens the gate"
        return "large"

    def open(self) -> None:
        self._open.set()


def run(play: Callable[[Admissions, list[tuple[str, str]]], asyncio.Future[None] | None]) -> list[tuple[str, str]]:
    """Run `play` on an event loop until the future that it returns is done; return what was admitted, in order."""

    async def on_loop() -> list[tuple[str, str]]:
        admitted: list[tuple[str, str]] = []
        admissions = Admissions(AdmissionThread())
        done = play(admissions, admitted)
        if done is not None:
            await asyncio.wait_for(done, PATIENCE_S)
        admissions.close()
        return admitted

    return asyncio.run(on_loop())


def test_quick_check_runs_at_once_on_the_event_loop() -> None:
    gate = Gate()
    gate.open()

    def play(admissions: Admissions, admitted: list[tuple[str, str]]) -> None:
        admissions.admit("a", gate.check, lambda result: admitted.append(("a", result)), is_quick=True)
        assert admitted == [("a", "large")]

    run(play)

    assert gate.thread == threading.current_thread().name


def test_slow_check_delays_only_requests_of_its_own_origin() -> None:
    gate, second_gate = Gate(), Gate()

    def play(admissions: Admissions, admitted: list[tuple[str, str]]) -> asyncio.Future[None]:
        done: asyncio.Future[None] = asyncio.get_running_loop().create_future()

        def admit(origin: str, name: str) -> None:
            admissions.admit(origin, lambda: name, lambda result: admitted.append((origin, result)), is_quick=True)

        admissions.admit("a", gate.check, lambda result: admitted.append(("a", result)), is_quick=False)
        admit("a", "second")
        admissions.admit("a", second_gate.check, lambda result: admitted.append(("a", result)), is_quick=False)
        admissions.admit("a", lambda: "last", lambda _: done.set_result(None), is_quick=True)
        admit("b", "quick")
        assert admitted == [("b", "quick")]
        gate.open()
        second_gate.open()
        return done

    assert run(play) == [("b", "quick"), ("a", "large"), ("a", "second"), ("a", "large")]
    assert gate.thread.startswith("admission")


def test_next_request_is_checked_when_the_check_before_it_raises() -> None:
    failures: list[str] = []

    def fail() -> str:
        raise ZeroDivisionError("a bug")

    def play(admissions: Admissions, admitted: list[tuple[str, str]]) -> asyncio.Future[None]:
        loop = asyncio.get_running_loop()
        loop.set_exception_handler(lambda _, context: failures.append(repr(context["exception"])))
        done: asyncio.Future[None] = loop.create_future()
        admissions.admit("a", fail, lambda result: admitted.append(("a", result)), is_quick=False)
        admissions.admit("a", lambda: "next", lambda result: admitted.append(("a", result)), is_quick=True)
        admissions.admit("a", lambda: "last", lambda _: done.set_result(None), is_quick=True)
        return done

    assert run(play) == [("a", "next")]
    assert failures == ["ZeroDivisionError('a bug')"], "the event loop reports it"


def test_no_request_is_admitted_after_close() -> None:
    gate = Gate()

    async def on_loop() -> list[str]:
        admitted: list[str] = []
        admissions = Admissions(AdmissionThread())
        admissions.admit("a", gate.check, admitted.append, is_quick=False)
        admissions.admit("b", gate.check, admitted.append, is_quick=False)
        admissions.close()
        gate.open()
        await asyncio.get_running_loop().shutdown_default_executor()
        await asyncio.sleep(0)
        return admitted

    assert asyncio.run(on_loop()) == []
