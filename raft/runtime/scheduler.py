"""The clock and the event loop, as the engine sees them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

Action = Callable[[], object]


class Timer(Protocol):
    """An action that is scheduled for later."""

    def cancel(self) -> None:
        """Do not run the action. Does nothing if it has run."""
        ...


class Scheduler(Protocol):
    """Runs actions one at a time, never one inside another."""

    def now_ms(self) -> int:
        """Return the time of a monotonic clock, in milliseconds: the clock of the core's timeouts."""
        ...

    def wall_clock_ms(self) -> int:
        """Return the time of day, in milliseconds since 1970 UTC: the clock of record timestamps."""
        ...

    def soon(self, action: Action) -> None:
        """Run an action after those that are scheduled to run now."""
        ...

    def at(self, due_ms: int, action: Action) -> Timer:
        """Run an action when the monotonic clock shows `due_ms`, or later."""
        ...

    def post(self, action: Action) -> None:
        """Like `soon`, but may be called from any thread, and when the node has stopped: then the action is dropped."""
        ...
