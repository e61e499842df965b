"""Measures how long the making of snapshots takes."""

from __future__ import annotations

from collections.abc import Callable

from raft.compaction import SnapshotOrder
from raft.metrics.instruments import Instruments
from raft.runtime.snapshot_keeper import SnapshotMaker


class SnapshotTimer:
    """Passes orders on; see `SnapshotMaker`.

    Args:
        maker: makes the snapshots.
        instruments: of the node.
        clock_s: returns the time of a monotonic clock, in seconds.
    """

    def __init__(self, maker: SnapshotMaker, instruments: Instruments, clock_s: Callable[[], float]) -> None:
        self._maker = maker
        self._instruments = instruments
        self._clock_s = clock_s

    def make(self, order: SnapshotOrder, done: Callable[[str | None], None]) -> None:
        """See `SnapshotMaker.make`."""
        begun_s = self._clock_s()

        def measured(problem: str | None) -> None:
            if problem is None:
                self._instruments.snapshot_s.observe(self._clock_s() - begun_s)
            else:
                self._instruments.failed_snapshots.inc()
            done(problem)

        self._maker.make(order, measured)
