"""Flushes of the log, of which one serves all that wait, and the checkpoints that follow them."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

from raft.core.effects import FlushLog
from raft.runtime.checkpoint_pace import CheckpointPace


class Flusher:
    """Flushes the log. One flush fulfils all orders that wait (group commit).

    One thread may order flushes, and another one do them.

    Args:
        flush: flushes everything that is in the log when it is called.
        write_checkpoints: writes the recovery point and the high watermark. It returns whether everything that is
            flushed is also committed.
        pace: decides when the checkpoints are due.
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

    def order(self, flush: FlushLog) -> None:
        """Order a flush. Everything that it must cover is written before."""
        self._orders.append(flush)

    def flush(self) -> list[FlushLog]:
        """Flush the log, and return the orders that this fulfils, the oldest first. At least one must wait.

        Raises:
            StorageError: the disk reports an error.
        """
        orders = [self._orders.popleft() for _ in range(len(self._orders))]
        self._flush()
        self._pace.flushed()
        return orders

    def checkpoint_wait_s(self, now_s: float) -> float | None:
        """Return how long to wait before writing the checkpoints, in seconds; None while they are up to date."""
        return self._pace.wait_s(now_s)

    def write_checkpoints(self, clock_s: Callable[[], float]) -> None:
        """Write the checkpoints.

        Args:
            clock_s: returns the time of a monotonic clock, in seconds.

        Raises:
            StorageError: the disk reports an error.
        """
        is_complete = self._write_checkpoints()
        self._pace.wrote(clock_s(), is_complete=is_complete)
