"""The asyncio event loop as the engine's scheduler."""

from __future__ import annotations

import asyncio
import logging
import time

from raft.runtime.scheduler import Action

_logger = logging.getLogger(__name__)


class LoopScheduler:
    """Runs actions on the event loop in which it is created; see `Scheduler`."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()

    def now_ms(self) -> int:
        """See `Scheduler.now_ms`."""
        return int(self._loop.time() * 1000)

    def wall_clock_ms(self) -> int:
        """See `Scheduler.wall_clock_ms`."""
        return int(time.time() * 1000)

    def soon(self, action: Action) -> None:
        """See `Scheduler.soon`."""
        self._loop.call_soon(action)

    def at(self, due_ms: int, action: Action) -> asyncio.TimerHandle:
        """See `Scheduler.at`."""
        # An event loop may run a timer up to its clock's resolution early, which is less than a millisecond.
        return self._loop.call_at((due_ms + 1) / 1000, action)

    def post(self, action: Action) -> None:
        """See `Scheduler.post`."""
        try:
            self._loop.call_soon_threadsafe(action)
        except RuntimeError:
            _logger.debug("dropped an action that was posted after the event loop was closed")
