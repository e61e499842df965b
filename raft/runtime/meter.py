"""The interface through which the runtime reports what happens, for metrics."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

from raft.core import RaftCore
from raft.core.effects import Effect
from raft.core.events import Event


class Meter(Protocol):
    """Measures a node."""

    def handled(self, event: Event, effects: Sequence[Effect], core: RaftCore) -> None:
        """Take an event that the core has handled, and its effects, before they are carried out.

        Args:
            event: the event.
            effects: in their order.
            core: after the event; to be read only.
        """
        ...

    def timing(self, flush: Callable[[], object]) -> Callable[[], object]:
        """Return a function that flushes the log, and measures how long that takes. Any thread may call it."""
        ...


class NoMeter:
    """Measures nothing."""

    def handled(self, event: Event, effects: Sequence[Effect], core: RaftCore) -> None:
        """See `Meter.handled`."""

    def timing(self, flush: Callable[[], object]) -> Callable[[], object]:
        """See `Meter.timing`."""
        return flush


NO_METER = NoMeter()
