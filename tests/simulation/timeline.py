"""Virtual time, and the queue of planned actions."""

from __future__ import annotations

from collections.abc import Callable
from enum import IntEnum
from heapq import heappop, heappush

from tests.simulation.broken import BrokenInvariantError

Action = Callable[[], None]

_MAX_ACTIONS_AT_ONCE = 10_000
"""The limit of actions at one moment; more of them are an endless loop."""


class Rank(IntEnum):
    """The order of actions at one moment, lowest first. A timer has the rank `TIMER` plus the id of its node."""

    TIMER = 0
    DISK = 1_000
    OTHER = 2_000


class Timeline:
    """Runs planned actions in the order of their times, and advances virtual time from one action to the next.

    Actions at the same moment run in the order of their ranks, and within a rank in the order of planning.

    Attributes:
        now_ms: the current time, from 0.
        steps: the number of actions done.
    """

    def __init__(self) -> None:
        self.now_ms = 0
        self.steps = 0
        self._queue: list[tuple[int, int, int, Action]] = []
        self._planned = 0
        self._done_now = 0

    @property
    def next_ms(self) -> int | None:
        """The time of the next action; None if there is none."""
        return self._queue[0][0] if self._queue else None

    def at(self, time_ms: int, action: Action, rank: int = Rank.OTHER) -> None:
        """Plan an action for a time; a time in the past means now."""
        heappush(self._queue, (max(time_ms, self.now_ms), rank, self._planned, action))
        self._planned += 1

    def after(self, delay_ms: int, action: Action, rank: int = Rank.OTHER) -> None:
        """Plan an action after a delay."""
        self.at(self.now_ms + delay_ms, action, rank)

    def step(self, until_ms: int) -> bool:
        """Run the next action that is due by `until_ms`; return whether there was one.

        Raises:
            BrokenInvariantError: too many actions run at one moment.
        """
        if not self._queue or self._queue[0][0] > until_ms:
            self.now_ms = max(self.now_ms, until_ms)
            return False
        time_ms, _, _, action = heappop(self._queue)
        self._done_now = self._done_now + 1 if time_ms == self.now_ms else 0
        if self._done_now > _MAX_ACTIONS_AT_ONCE:
            raise BrokenInvariantError("TimePasses", ("TEST-13",), f"{self._done_now} actions at {time_ms} ms")
        self.now_ms = time_ms
        self.steps += 1
        action()
        return True

    def run(self, until_ms: int, *, max_steps: int | None = None) -> None:
        """Run all actions that are due by `until_ms`, or stop once `steps` reaches `max_steps`."""
        while (max_steps is None or self.steps < max_steps) and self.step(until_ms):
            pass
