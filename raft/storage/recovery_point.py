"""The file `recovery-point-offset-checkpoint`: an offset below which the whole log is known to be on the disk.

A damaged batch below it is lost data and stops the node; one at or above it may be the torn end of a write. So the
point never runs ahead of a flush, and goes back, on the disk, before the log is cut below it.

Source: rule LOG-13; Kafka OffsetCheckpointFile, whose file holds all partitions of a folder; ours holds one.
"""

from __future__ import annotations

import threading

from raft.storage.checkpoint_file import parse_number, read_checkpoint, write_checkpoint
from raft.storage.files import Files
from raft.types import Offset

RECOVERY_POINT_NAME = "recovery-point-offset-checkpoint"


class RecoveryPoint:
    """The recovery point of one partition, on the disk and in memory.

    `advance` may be called from the thread that flushes while the one that appends calls `retreat`.

    Args:
        files: where the file lies.
        name: the file.
        topic: name of the topic, as it stands in the entry.
        partition: its number.
    """

    def __init__(self, files: Files, name: str, *, topic: str, partition: int) -> None:
        self._files = files
        self._name = name
        self._topic = topic
        self._partition = partition
        self._writing = threading.Lock()
        self._offset = self._read()

    @property
    def offset(self) -> Offset:
        """What stands on the disk; 0 when there is no file."""
        return self._offset

    def advance(self, durable_offset: Offset) -> None:
        """Write a higher point; a lower or the same one is already covered."""
        with self._writing:
            if durable_offset > self._offset:
                self._write(durable_offset)

    def retreat(self, end_offset: Offset) -> None:
        """Return when the point on the disk is no higher than `end_offset`, where the log is about to be cut."""
        with self._writing:
            if end_offset < self._offset:
                self._write(end_offset)

    def _write(self, offset: Offset) -> None:
        write_checkpoint(self._files, self._name, [(self._topic, self._partition, offset)])
        self._offset = offset

    def _read(self) -> Offset:
        for topic, partition, offset in read_checkpoint(self._files, self._name, words=3):
            if topic == self._topic and partition == str(self._partition):
                return Offset(parse_number(self._files, self._name, offset))
        return Offset(0)
