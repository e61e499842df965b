"""One append to the log, as a job that may have to wait for room on the disk."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from raft.errors import DiskFullError
from raft.storage.directory import ReplicaDirectory
from raft.transactions import AbortedTransaction
from raft.types import Batch


class LogAppend:
    """Appends batches. If it is called again because the disk had no room, it goes on after what is written.

    Args:
        directory: of the replica.
        batches: see `Log.append`; at least one.
        aborted: see `Log.append`.
        rolled: called when a new segment was begun.
    """

    def __init__(
        self,
        directory: ReplicaDirectory,
        batches: Sequence[Batch],
        aborted: Sequence[AbortedTransaction],
        *,
        rolled: Callable[[], None],
    ) -> None:
        self._directory = directory
        self._batches = batches
        self._aborted = aborted
        self._rolled = rolled
        self._has_rolled = False

    def __call__(self) -> None:
        """Append what is not written yet.

        Raises:
            DiskFullError: the disk has no room; it is to be called again.
        """
        log = self._directory.log
        begun_at = log.end_offset
        try:
            self._has_rolled |= self._directory.append(self._batches, self._aborted)
        except DiskFullError:
            end_offset = log.end_offset
            self._has_rolled |= log.segment_bases[-1] > begun_at
            self._batches = [batch for batch in self._batches if batch.header.base_offset >= end_offset]
            self._aborted = ()
            raise
        if self._has_rolled:
            self._rolled()
