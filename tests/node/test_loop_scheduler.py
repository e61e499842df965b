"""The event loop as a scheduler: when actions run, and an action that is posted after the loop is closed."""

from __future__ import annotations

import asyncio
import threading

import pytest

from raft.node.loop_scheduler import LoopScheduler


@pytest.mark.parametrize("delay_ms", [pytest.param(delay, id=f"in {delay} ms") for delay in (0, 1, 2, 5, 10)])
def test_scheduler_runs_an_action_no_earlier_than_its_time(delay_ms: int) -> None:
    async def on_loop() -> tuple[int, int]:
        scheduler = LoopScheduler()
        ran: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        due_ms = scheduler.now_ms() + delay_ms
        scheduler.at(due_ms, lambda: ran.set_result(scheduler.now_ms()))
        return due_ms, await ran

    for _ in range(20):
        due_ms, ran_ms = asyncio.run(on_loop())
        assert ran_ms >= due_ms


def test_scheduler_does_not_run_an_action_that_is_cancelled() -> None:
    async def on_loop() -> list[str]:
        scheduler = LoopScheduler()
        ran: list[str] = []
        done: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        scheduler.at(scheduler.now_ms(), lambda: ran.append("cancelled")).cancel()
        scheduler.at(scheduler.now_ms() + 1, lambda: done.set_result(None))
        await done
        return ran

    assert asyncio.run(on_loop()) == []


def test_scheduler_runs_actions_in_the_order_of_soon_and_post() -> None:
    async def on_loop() -> list[str]:
        scheduler = LoopScheduler()
        ran: list[str] = []
        done: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        scheduler.soon(lambda: ran.append("soon"))
        scheduler.post(lambda: ran.append("posted"))
        scheduler.post(lambda: done.set_result(None))
        assert ran == [], "no action runs inside the call that schedules it"
        await done
        return ran

    assert asyncio.run(on_loop()) == ["soon", "posted"]


def test_scheduler_runs_an_action_on_its_loop_when_another_thread_posts_it() -> None:
    async def on_loop() -> int:
        scheduler = LoopScheduler()
        ran: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        thread = threading.Thread(target=lambda: scheduler.post(lambda: ran.set_result(threading.get_ident())))
        thread.start()
        thread_id = await ran
        thread.join()
        return thread_id

    assert asyncio.run(on_loop()) == threading.get_ident()


def test_action_is_dropped_when_it_is_posted_after_the_loop_is_closed() -> None:
    ran: list[str] = []

    async def on_loop() -> LoopScheduler:
        return LoopScheduler()

    scheduler = asyncio.run(on_loop())
    scheduler.post(lambda: ran.append("late"))

    assert ran == []
