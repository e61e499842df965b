"""The clock of one life of a machine."""

from __future__ import annotations

from tests.simulation.timeline import Timeline

_PER_MILLE = 1000


class Clock:
    """A monotonic clock, as `now_ms` of the core wants it: nobody else's begins at the same moment, and it goes a
    little too fast or too slow. It may jump ahead, as that of a machine does that was put to sleep, but never back.

    Args:
        timeline: the true time.
        ahead_ms: what it showed at the true time 0.
        drift: how many milliseconds it gains in a second; below 0 it loses them.
    """

    def __init__(self, timeline: Timeline, *, ahead_ms: int, drift: int) -> None:
        self._timeline = timeline
        self._ahead_ms = ahead_ms
        self._pace = _PER_MILLE + drift

    @property
    def now_ms(self) -> int:
        """What it shows."""
        return self._ahead_ms + self._timeline.now_ms * self._pace // _PER_MILLE

    def jump(self, jump_ms: int) -> None:
        """Show so much more from now on."""
        self._ahead_ms += jump_ms

    def true_ms(self, shown_ms: int) -> int:
        """Return the first true time at which it shows this, or more."""
        return -((self._ahead_ms - shown_ms) * _PER_MILLE // self._pace)
