"""Runs the scrub of the log slowly in the background (LOG-26)."""

from __future__ import annotations

from raft.runtime.disk import Disk
from raft.runtime.scheduler import Scheduler
from raft.storage.directory import ReplicaDirectory
from raft.storage.scrub import ScrubProgress

PIECE_BYTES = 64 << 10
"""Most bytes that the thread of the disk reads before it does other work."""


class Scrubber:
    """Checks one piece of the log after the other.

    Args:
        disk: of the replica.
        scheduler: for time.
        bytes_per_second: how fast it reads; 0 checks nothing.
        interval_ms: time from the start of one pass to the start of the next one.

    Attributes:
        progress: how far it is.
    """

    def __init__(self, disk: Disk, scheduler: Scheduler, *, bytes_per_second: int, interval_ms: int) -> None:
        self.progress = ScrubProgress()
        self._disk = disk
        self._scheduler = scheduler
        self._piece_ms = 1000 * PIECE_BYTES // bytes_per_second if bytes_per_second else 0
        self._interval_ms = interval_ms
        self._pass_begun_ms = 0
        self._is_stopped = not bytes_per_second

    def start(self) -> None:
        """Begin the first pass."""
        self._pass_begun_ms = self._scheduler.now_ms()
        self._check_next()

    def stop(self) -> None:
        """Check no more."""
        self._is_stopped = True

    def _check_next(self) -> None:
        if not self._is_stopped:
            self._disk.look(_check_piece, self._on_checked)

    def _on_checked(self, progress: ScrubProgress) -> None:
        if self._is_stopped:
            return
        now_ms = self._scheduler.now_ms()
        next_ms = now_ms + self._piece_ms
        if progress.passes > self.progress.passes:
            next_ms = max(next_ms, self._pass_begun_ms + self._interval_ms)
            self._pass_begun_ms = next_ms
        self.progress = progress
        self._scheduler.at(next_ms, self._check_next)


def _check_piece(directory: ReplicaDirectory) -> ScrubProgress:
    return directory.check_piece(PIECE_BYTES)
