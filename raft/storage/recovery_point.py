"""The file `recovery-point-offset-checkpoint`: an offset below which everything in the log was flushed.

A damaged batch below it is lost data, and the node exits; a damaged batch above it may be the torn end of a write. So
the recovery point is written after a flush, and lowered on the disk before the log is truncated below it. Between two
checkpoints the mark of the last flush stands for it (`raft.storage.flushed_mark`).

Source: rules LOG-13, LOG-18, LOG-32.
"""

from __future__ import annotations

import threading

from raft.storage.files import Files, folder_of, join
from raft.storage.flushed_mark import FLUSHED_MARK_NAME, FlushedMark, FlushedOffsets
from raft.storage.offset_checkpoint import OffsetCheckpoint
from raft.types import Offset

RECOVERY_POINT_NAME = "recovery-point-offset-checkpoint"


class RecoveryPoint(OffsetCheckpoint):
    """The recovery point of one partition.

    One thread may call `advance` or `flushed` while another one calls `retreat`.

    Args:
        files, name, topic, partition: see `OffsetCheckpoint`. The mark is in the same folder.

    Raises:
        StorageError: the file is malformed.
    """

    def __init__(self, files: Files, name: str, *, topic: str, partition: int) -> None:
        super().__init__(files, name, topic=topic, partition=partition)
        self._mark = FlushedMark(files, join(folder_of(name), FLUSHED_MARK_NAME))
        self._marking = threading.Lock()
        """Not held while the checkpoint is flushed, so that a flush of the log does not wait for that."""

    @property
    def offset(self) -> Offset:
        """The offset on the disk: of the checkpoint, or of the mark if that is higher; 0 if there is no file."""
        marked = self._marked
        return self._offset if marked is None else max(self._offset, marked.end)

    @property
    def committed(self) -> Offset:
        """The high watermark of the mark; 0 if it does not count."""
        marked = self._marked
        return Offset(0) if marked is None else marked.committed

    def flushed(self, end_offset: Offset, committed: Offset) -> None:
        """Mark what is flushed. The process may die at any time afterwards.

        Args:
            end_offset: everything below is flushed.
            committed: everything below is committed, as far as it is flushed.

        Raises:
            StorageError: the disk returned an error.
        """
        with self._marking:
            self._mark.write(FlushedOffsets(self._offset, end_offset, min(committed, end_offset)))

    def retreat(self, end_offset: Offset) -> None:
        """See `OffsetCheckpoint.retreat`."""
        super().retreat(end_offset)
        with self._marking:
            marked = self._mark.offsets
            # Also a mark that does not belong to the checkpoint: a later checkpoint may have its recovery point.
            if marked is not None and (marked.end > end_offset or marked.recovery_point != self._offset):
                end = min(marked.end, end_offset)
                self._mark.lower(FlushedOffsets(self._offset, end, min(marked.committed, end)))

    def close(self) -> None:
        """Close the file of the mark."""
        self._mark.close()

    @property
    def _marked(self) -> FlushedOffsets | None:
        """The mark, if it belongs to the checkpoint."""
        marked = self._mark.offsets
        return marked if marked is not None and marked.recovery_point == self._offset else None

    def _wrote(self, offset: Offset) -> None:
        with self._marking:
            end, committed = max(self.offset, offset), self.committed
            super()._wrote(offset)
            if self._mark.offsets is not None:
                self._mark.write(FlushedOffsets(offset, end, committed))
