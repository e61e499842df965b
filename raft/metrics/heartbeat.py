"""Finds out whether the event loop turns, how late it runs its timers, and how much of the time it is idle.

A timer is late by what was left, when it was due, of the step that the event loop was in: while a step lasts, no socket
is read and no other timer runs. Beats are so frequent that each long step delays some of them.
"""

from __future__ import annotations

from collections.abc import Callable

from raft.metrics.window import Window
from raft.runtime.scheduler import Scheduler, Timer

BEAT_MS = 20
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
        self._late = Window()
        self._busy_while_late = Window()
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

    def longest_steps_s(self) -> dict[str, float]:
        """Return the longest step of the last minute, in seconds, less up to one beat; by the kind of time.

        The processor time of a step is what its thread used of it: other processes may have had the rest. That of the
        steps since the beat before is counted, at most what the beat is late.
        """
        now_ms = int(self._clock_s() * 1000)
        return {"elapsed": self._late.maximum(now_ms), "processor": self._busy_while_late.maximum(now_ms)}

    def _wait(self) -> None:
        self._timer = self._scheduler.at(self._scheduler.now_ms() + BEAT_MS, self._beat)

    def _beat(self) -> None:
        now_s, processor_s = self._clock_s(), self._processor_s()
        elapsed_s, used_s = now_s - self._last_s, processor_s - self._last_processor_s
        late_s = max(0.0, elapsed_s - BEAT_MS / 1000)
        self._on_lag(late_s)
        now_ms = int(now_s * 1000)
        self._late.record(late_s, now_ms)
        self._busy_while_late.record(min(late_s, used_s), now_ms)
        self._idle.record(min(1.0, max(0.0, 1 - used_s / max(elapsed_s, BEAT_MS / 1000))), now_ms)
        self._last_s, self._last_processor_s = now_s, processor_s
        self._wait()
