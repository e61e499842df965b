"""Virtual time, and the queue of everything that is still to come."""

from __future__ import annotations

from collections.abc import Callable
from enum import IntEnum
from heapq import heappop, heappush

from tests.simulation.broken import BrokenInvariantError

Action = Callable[[], None]

_MOST_AT_ONCE = 10_000
"""Actions of one moment; those who do more go round in circles."""


class Rank(IntEnum):
    """Which of the actions of one moment go first. Timers go by the ids of their nodes, added to `TIMER`."""

    TIMER = 0
    DISK = 1_000
    OTHER = 2_000


class Timeline:
    """What happens when. Time passes only from one action to the next; actions of one moment and one rank go in the
    order in which they were planned.

    Attributes:
        now_ms: the present, from 0.
        steps: how many actions are done.
    """

    def __init__(self) -> None:
        self.now_ms = 0
        self.steps = 0
        self._queue: list[tuple[int, int, int, Action]] = []
        self._planned = 0
        self._done_now = 0

    @property
    def next_ms(self) -> int | None:
        """When the next action is due; None if there is none."""
        return self._queue[0][0] if self._queue else None

    def at(self, time_ms: int, action: Action, rank: int = Rank.OTHER) -> None:
        """Plan an action for a moment; one that is over already means now."""
        heappush(self._queue, (max(time_ms, self.now_ms), rank, self._planned, action))
        self._planned += 1

    def after(self, delay_ms: int, action: Action, rank: int = Rank.OTHER) -> None:
        """Plan an action for so much later."""
        self.at(self.now_ms + delay_ms, action, rank)

    def step(self, until_ms: int) -> bool:
        """Do the next action that is due by then; return whether there was one.

        Raises:
            BrokenInvariantError: something happens again and again, and time stands still.
        """
        if not self._queue or self._queue[0][0] > until_ms:
            self.now_ms = max(self.now_ms, until_ms)
            return False
        time_ms, _, _, action = heappop(self._queue)
        self._done_now = self._done_now + 1 if time_ms == self.now_ms else 0
        if self._done_now > _MOST_AT_ONCE:
            raise BrokenInvariantError("TimePasses", ("TEST-13",), f"{self._done_now} things happen at {time_ms} ms")
        self.now_ms = time_ms
        self.steps += 1
        action()
        return True

    def run(self, until_ms: int, *, max_steps: int | None = None) -> None:
        """Do everything that is due by then, or stop once so many actions are done since the beginning."""
        while (max_steps is None or self.steps < max_steps) and self.step(until_ms):
            pass
