"""The processor time of a thread, for those that ask often."""

from __future__ import annotations

import time
from collections.abc import Callable

_SURE_S = 0.000_5
"""For so long after a look at the processor time, all elapsed time is taken for it."""


class ThreadClock:
    """The processor time that the calling thread has used.

    To ask the kernel takes as long as a part of the work that is measured. So it is asked again only after half a
    millisecond. Until then all elapsed time counts, also that of another process that has run in between. The next
    look at the kernel corrects this, and the time never goes back.

    Args:
        elapsed_s: returns the time of a monotonic clock, in seconds.
        used_s: returns the processor time that the calling thread has used, in seconds.
    """

    def __init__(
        self, elapsed_s: Callable[[], float] = time.perf_counter, used_s: Callable[[], float] = time.thread_time
    ) -> None:
        self._elapsed_s = elapsed_s
        self._used_s = used_s
        self._ahead_s = float("-inf")
        self._until_s = float("-inf")
        self._last_s = float("-inf")

    def now_s(self) -> float:
        """Return the processor time, in seconds."""
        elapsed_s = self._elapsed_s()
        if elapsed_s >= self._until_s:
            self._ahead_s = self._used_s() - elapsed_s
            self._until_s = elapsed_s + _SURE_S
        now_s = self._last_s = max(self._last_s, elapsed_s + self._ahead_s)
        return now_s
