"""The processor of one process, in virtual time."""

from __future__ import annotations

from tests.simulation.timeline import Timeline

_US_PER_MS = 1_000


class Processor:
    """Counts the time that a process uses, in steps that are finer than those of the timeline.

    Work is done at once, and the time that it takes passes afterwards: until then the processor is busy.

    Args:
        timeline: the true time.

    Attributes:
        used_us: all time that was used, in microseconds.
    """

    def __init__(self, timeline: Timeline) -> None:
        self.used_us = 0
        self._timeline = timeline
        self._free_us = 0

    @property
    def free_ms(self) -> int:
        """The true time until which it is busy. What is left of a millisecond counts only with more work."""
        return self._free_us // _US_PER_MS

    @property
    def is_busy(self) -> bool:
        """Whether it still has to do what it has begun."""
        return self._timeline.now_ms < self.free_ms

    @property
    def passed_us(self) -> int:
        """The part of `used_us` that has passed."""
        return self.used_us - max(0, self._free_us - self._timeline.now_ms * _US_PER_MS)

    def use(self, duration_us: int) -> None:
        """Use some time, after what has not passed yet."""
        self.used_us += duration_us
        self._free_us = max(self._free_us, self._timeline.now_ms * _US_PER_MS) + duration_us
