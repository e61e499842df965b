"""The interface through which the engine uses the clock and the event loop."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

Action = Callable[[], object]


class Timer(Protocol):
    """An action that is scheduled for a later time."""

    def cancel(self) -> None:
        """Do not run the action. Does nothing after the action has run."""
        ...


class Scheduler(Protocol):
    """Runs actions one after the other, never one inside another."""

    def now_ms(self) -> int:
        """Return the time of a monotonic clock, in milliseconds. The timeouts of the core use it."""
        ...

    def wall_clock_ms(self) -> int:
        """Return the wall clock time, in milliseconds since 1970 UTC. Record timestamps use it."""
        ...

    def soon(self, action: Action) -> None:
        """Run an action after the actions that are scheduled to run now."""
        ...

    def at(self, due_ms: int, action: Action) -> Timer:
        """Run an action when the monotonic clock has reached `due_ms`, never earlier."""
        ...

    def post(self, action: Action) -> None:
        """Run an action like `soon`, from any thread. After the node has stopped the action is dropped."""
        ...
