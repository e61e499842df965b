"""When a voter that has ended may be started again."""

from __future__ import annotations

_SHORTEST_PAUSE_S = 0.2
_LONGEST_PAUSE_S = 5.0
_LIVED_WELL_S = 10.0


class Restarts:
    """The starts of one voter: again at once, but the oftener it ends soon after one, the later comes the next.

    Args:
        now_s: when it was started first, on a monotonic clock.
    """

    def __init__(self, now_s: float) -> None:
        self._started_s = now_s
        self._pause_s = 0.0

    def is_due(self, now_s: float) -> bool:
        """Whether it may be started now."""
        return now_s - self._started_s >= self._pause_s

    def started(self, now_s: float) -> None:
        """It is started again."""
        has_lived_well = now_s - self._started_s >= _LIVED_WELL_S
        longer_s = min(max(_SHORTEST_PAUSE_S, self._pause_s * 2), _LONGEST_PAUSE_S)
        self._pause_s = 0.0 if has_lived_well else longer_s
        self._started_s = now_s
