"""The clock of one process."""

from __future__ import annotations

from tests.simulation.timeline import Timeline

_PER_MILLE = 1000


class Clock:
    """A monotonic clock, the source of the core's `now_ms`.

    Each clock starts at another value and runs a little too fast or too slow. It may jump ahead, like the clock of a
    machine that was suspended, but never back.

    Args:
        timeline: the true time.
        ahead_ms: the value at the true time 0.
        drift: milliseconds gained per second; negative for a slow clock.
    """

    def __init__(self, timeline: Timeline, *, ahead_ms: int, drift: int) -> None:
        self._timeline = timeline
        self._ahead_ms = ahead_ms
        self._pace = _PER_MILLE + drift

    @property
    def now_ms(self) -> int:
        """The current value."""
        return self._ahead_ms + self._timeline.now_ms * self._pace // _PER_MILLE

    def jump(self, jump_ms: int) -> None:
        """Jump ahead by this time."""
        self._ahead_ms += jump_ms

    def true_ms(self, shown_ms: int) -> int:
        """Return the first true time at which the clock shows this value or more."""
        return -((self._ahead_ms - shown_ms) * _PER_MILLE // self._pace)
