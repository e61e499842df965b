"""Finds out whether the event loop turns, how late it runs its timers, and how much of the time it is idle."""

from __future__ import annotations

from collections.abc import Callable

from raft.metrics.window import Window
from raft.runtime.scheduler import Scheduler, Timer

BEAT_MS = 250
"""Time between two beats."""


class Heartbeat:
    """A timer of the event loop.

    Args:
        scheduler: the event loop.
        clock_s: returns the time of a monotonic clock, in seconds; any thread calls it.
        processor_s: returns the processor time of the calling thread, in seconds.
        on_lag: takes by how much each beat was late, in seconds.
    """

    def __init__(
        self,
        scheduler: Scheduler,
        *,
        clock_s: Callable[[], float],
        processor_s: Callable[[], float],
        on_lag: Callable[[float], object],
    ) -> None:
        self._scheduler = scheduler
        self._clock_s = clock_s
        self._processor_s = processor_s
        self._on_lag = on_lag
        self._idle = Window()
        self._timer: Timer | None = None
        self._last_s = clock_s()
        self._last_processor_s = 0.0

    def start(self) -> None:
        """Begin to beat. Called on the event loop."""
        self._last_s, self._last_processor_s = self._clock_s(), self._processor_s()
        self._wait()

    def stop(self) -> None:
        """Beat no more."""
        if self._timer is not None:
            self._timer.cancel()

    @property
    def age_s(self) -> float:
        """Seconds since the last beat. Any thread may ask."""
        return self._clock_s() - self._last_s

    def idle_ratio(self) -> float:
        """Return the share of the last minute in which the thread of the event loop used no processor."""
        return self._idle.average(int(self._clock_s() * 1000))

    def _wait(self) -> None:
        self._timer = self._scheduler.at(self._scheduler.now_ms() + BEAT_MS, self._beat)

    def _beat(self) -> None:
        now_s, processor_s = self._clock_s(), self._processor_s()
        elapsed_s = now_s - self._last_s
        self._on_lag(max(0.0, elapsed_s - BEAT_MS / 1000))
        busy = (processor_s - self._last_processor_s) / max(elapsed_s, BEAT_MS / 1000)
        self._idle.record(min(1.0, max(0.0, 1 - busy)), int(now_s * 1000))
        self._last_s, self._last_processor_s = now_s, processor_s
        self._wait()
