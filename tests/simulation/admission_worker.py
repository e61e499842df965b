"""The thread that checks the batches of Produce requests, in virtual time."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from tests.simulation.dice import Dice
from tests.simulation.event_loop import EventLoop
from tests.simulation.plan import DiskPlan
from tests.simulation.timeline import Timeline

Result = TypeVar("Result")


class AdmissionWorker:
    """Runs functions after a delay, in their order; see `raft.runtime.admissions.Worker`."""

    def __init__(self, loop: EventLoop, timeline: Timeline, dice: Dice, plan: DiskPlan) -> None:
        self._loop = loop
        self._timeline = timeline
        self._dice = dice
        self._delay_ms = plan.read_ms
        self._free_ms = 0

    def run(self, work: Callable[[], Result], done: Callable[[Callable[[], Result], float], None]) -> None:
        """See `Worker.run`."""
        used_ms = self._dice.between(self._delay_ms)
        self._free_ms = max(self._free_ms, self._timeline.now_ms) + used_ms
        self._timeline.at(self._free_ms, lambda: self._loop.post(lambda: done(work, used_ms / 1000)))

    def close(self) -> None:
        """See `Worker.close`."""
