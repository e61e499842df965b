"""When the checkpoints of the log are written: at most once in an interval, and once more after the last flush."""

from __future__ import annotations


class CheckpointPace:
    """Spaces the writes of the checkpoints. It has no clock: the caller says what time it is.

    A checkpoint costs two flushes of its own, so it does not follow every flush of the log. But the last flush before
    the log is idle must be followed by one: otherwise the recovery point stays behind until the next append, which may
    come in a year, and all damage above it is taken for the torn end of a write.

    Args:
        interval_s: shortest time between two writes, in seconds.
    """

    def __init__(self, interval_s: float) -> None:
        self._interval_s = interval_s
        self._due_s = float("-inf")
        self._is_behind = False

    def flushed(self) -> None:
        """Note that more of the log is durable than the checkpoints say."""
        self._is_behind = True

    def wrote(self, now_s: float, *, is_complete: bool) -> None:
        """Note that the checkpoints were written at this time.

        Args:
            now_s: the time.
            is_complete: whether they say everything. What is flushed is committed a moment later, often without
                another flush, so otherwise they are due again after the interval.
        """
        self._due_s = now_s + self._interval_s
        self._is_behind = not is_complete

    def wait_s(self, now_s: float) -> float | None:
        """Return how long to wait before the checkpoints are written: 0 for now, None while they are up to date."""
        return max(0.0, self._due_s - now_s) if self._is_behind else None
