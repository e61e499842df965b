"""When the checkpoints of the log are written: at most once per interval, and after the last flush."""

from __future__ import annotations


class CheckpointPace:
    """Decides when the checkpoints are written. It has no clock: the caller passes the time.

    Writing the checkpoints takes two flushes, so they are not written after every flush of the log. They are written
    after the last flush before the log is idle. Otherwise the recovery point would stay behind until the next append,
    and recovery would take any damage above it for an incomplete write.

    Args:
        interval_s: minimum time between two writes, in seconds.
    """

    def __init__(self, interval_s: float) -> None:
        self._interval_s = interval_s
        self._due_s = float("-inf")
        self._is_behind = False

    def flushed(self) -> None:
        """Note that the log was flushed, so the checkpoints are out of date."""
        self._is_behind = True

    def wrote(self, now_s: float, *, is_complete: bool) -> None:
        """Note that the checkpoints were written.

        Args:
            now_s: the time, in seconds of a monotonic clock.
            is_complete: whether everything that is flushed is also committed. If not, the checkpoints are due again
                after the interval, because the high watermark may advance without another flush.
        """
        self._due_s = now_s + self._interval_s
        self._is_behind = not is_complete

    def wait_s(self, now_s: float) -> float | None:
        """Return how long to wait before writing the checkpoints, in seconds; None while they are up to date.

        Args:
            now_s: the time, in seconds of a monotonic clock.
        """
        return max(0.0, self._due_s - now_s) if self._is_behind else None
