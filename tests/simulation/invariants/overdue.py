"""Since when something is due that an event loop has not done."""

from __future__ import annotations

from collections.abc import Hashable

_ROUNDING_MS = 2
"""Clocks show whole milliseconds."""


class Overdue:
    """Notes since when things are due, in true time: a clock that jumps makes them due before its timers expire.

    Args:
        timer_grain_ms: timers expire only at multiples of this.
    """

    def __init__(self, timer_grain_ms: int) -> None:
        self._patience_ms = timer_grain_ms + _ROUNDING_MS
        self._since_ms: dict[Hashable, int] = {}

    def is_late(self, thing: Hashable, now_ms: int, *, is_due: bool) -> bool:
        """Note whether something is due; return whether it has been for longer than timers explain.

        Args:
            thing: what is due, or not.
            now_ms: the true time.
            is_due: whether it is due now.
        """
        if not is_due:
            self._since_ms.pop(thing, None)
            return False
        return now_ms - self._since_ms.setdefault(thing, now_ms) > self._patience_ms
