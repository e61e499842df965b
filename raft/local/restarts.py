"""When a voter that has exited is started again."""

from __future__ import annotations

_SHORTEST_PAUSE_S = 0.2
_LONGEST_PAUSE_S = 5.0
_LONG_RUN_S = 10.0


class Restarts:
    """The restarts of one voter: at once, but with a longer pause each time that it exits soon after its start.

    Args:
        now_s: time of its first start, on a monotonic clock.
    """

    def __init__(self, now_s: float) -> None:
        self._started_s = now_s
        self._pause_s = 0.0

    def is_due(self, now_s: float) -> bool:
        """Whether the voter may be started now."""
        return now_s - self._started_s >= self._pause_s

    def started(self, now_s: float) -> None:
        """Record a restart."""
        has_run_long = now_s - self._started_s >= _LONG_RUN_S
        longer_s = min(max(_SHORTEST_PAUSE_S, self._pause_s * 2), _LONGEST_PAUSE_S)
        self._pause_s = 0.0 if has_run_long else longer_s
        self._started_s = now_s
