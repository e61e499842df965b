"""Measures the free space of the disk, so that the node stops to append records before the disk is full (LOG-24).

If another program has taken the reserve too, jobs of the disk wait, and are tried again with each measurement (LOG-27).
"""

from __future__ import annotations

import logging
from collections.abc import Callable

from raft.core import RaftCore
from raft.core.events import DiskMeasured, Event
from raft.runtime.disk import Disk
from raft.runtime.scheduler import Scheduler
from raft.storage.directory import ReplicaDirectory

_logger = logging.getLogger(__name__)

LONGEST_PAUSE_MS, SHORTEST_PAUSE_MS = 1_000, 20
"""Time between two measurements, when there is much room, and when there is little."""

_FILLED_BYTES_PER_MS = 4 * 200_000
"""How fast the room may shrink between two measurements: others write to the disk too, such as the other voters of a
local quorum. Four measurements are made in the time in which 200 MB a second would fill it."""


class SpaceKeeper:
    """Measures the disk now and then.

    Args:
        core: to be read only.
        submit: passes events to the core.
        disk: of the replica.
        scheduler: for time.
        reserve_bytes: how much is kept free of records: for snapshots, indexes, checkpoints and control records.

    Attributes:
        free_bytes: by the newest measurement; None before the first.
    """

    def __init__(
        self, core: RaftCore, submit: Callable[[Event], None], disk: Disk, scheduler: Scheduler, reserve_bytes: int
    ) -> None:
        self.free_bytes: int | None = None
        self._core = core
        self._submit = submit
        self._disk = disk
        self._scheduler = scheduler
        self._reserve_bytes = reserve_bytes
        self._is_full = False
        self._is_stopped = False

    @property
    def is_low(self) -> bool:
        """Whether space should be freed now, so that records need not be refused soon."""
        return self.free_bytes is not None and self.free_bytes < 2 * self._reserve_bytes

    def start(self) -> None:
        """Begin to measure."""
        self._measure()

    def stop(self) -> None:
        """Measure no more."""
        self._is_stopped = True

    def _measure(self) -> None:
        if not self._is_stopped:
            appended_bytes = self._core.appended_bytes
            self._disk.look(
                _measure_low if self.is_low else _measure,
                lambda free_bytes: self._on_measured(free_bytes, appended_bytes),
            )

    def _on_measured(self, free_bytes: int, appended_bytes: int) -> None:
        if self._is_stopped:
            return
        self.free_bytes = free_bytes
        self._disk.retry()
        self._scheduler.at(self._scheduler.now_ms() + self._pause_ms(free_bytes), self._measure)
        self._submit(DiskMeasured(room_bytes=free_bytes - self._reserve_bytes, appended_bytes=appended_bytes))
        self._report(is_full=free_bytes <= self._reserve_bytes)

    def _pause_ms(self, free_bytes: int) -> int:
        room_bytes = free_bytes - self._reserve_bytes
        if room_bytes <= 0:
            return LONGEST_PAUSE_MS
        return min(LONGEST_PAUSE_MS, max(SHORTEST_PAUSE_MS, room_bytes // _FILLED_BYTES_PER_MS))

    def _report(self, *, is_full: bool) -> None:
        if is_full == self._is_full:
            return
        self._is_full = is_full
        if is_full:
            _logger.error(
                "node %s: the disk has %s bytes free, expected more than raft.reserve.bytes=%s: "
                "no records are appended until there is room",
                self._core.node_id,
                self.free_bytes,
                self._reserve_bytes,
            )
        else:
            _logger.warning(
                "node %s: the disk has %s bytes free: records are appended again", self._core.node_id, self.free_bytes
            )


def _measure(directory: ReplicaDirectory) -> int:
    return directory.free_bytes()


def _measure_low(directory: ReplicaDirectory) -> int:
    directory.keep_spare()
    return directory.free_bytes()
