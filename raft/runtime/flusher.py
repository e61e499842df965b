"""Flushes of the log that share the disk's work, and the checkpoints that follow them."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

from raft.core.effects import FlushLog
from raft.runtime.checkpoint_pace import CheckpointPace


class Flusher:
    """Flushes the log; of the flushes that wait, the newest stands for all (group commit).

    Flushes may be ordered by one thread and done by another one.

    Args:
        flush: brings everything to disk that is in the log when it is called.
        write_checkpoints: writes down how much of the log is durable and committed; returns whether that was all of it.
        pace: says when the checkpoints are due.
    """

    def __init__(
        self, *, flush: Callable[[], object], write_checkpoints: Callable[[], bool], pace: CheckpointPace
    ) -> None:
        self._flush = flush
        self._write_checkpoints = write_checkpoints
        self._pace = pace
        self._orders: deque[FlushLog] = deque()

    @property
    def has_orders(self) -> bool:
        """Whether a flush waits."""
        return bool(self._orders)

    def order(self, order: FlushLog) -> None:
        """Ask for a flush, after everything that it has to cover is written."""
        self._orders.append(order)

    def flush(self) -> list[FlushLog]:
        """Flush the log; return the orders that this fulfils, the oldest first. At least one must wait.

        Raises:
            StorageError: the disk refuses.
        """
        orders = [self._orders.popleft() for _ in range(len(self._orders))]
        self._flush()
        self._pace.flushed()
        return orders

    def checkpoint_wait_s(self, now_s: float) -> float | None:
        """Return how long to wait before the checkpoints are written: 0 for now, None while they are up to date."""
        return self._pace.wait_s(now_s)

    def write_checkpoints(self, clock_s: Callable[[], float]) -> None:
        """Write the checkpoints; `clock_s` tells the time of a monotonic clock.

        Raises:
            StorageError: the disk refuses.
        """
        is_complete = self._write_checkpoints()
        self._pace.wrote(clock_s(), is_complete=is_complete)
