"""A file that holds one offset of a partition, in the form in which Kafka keeps the offsets of a whole folder.

    0
    1
    __cluster_metadata 0 117      topic, partition, offset

Source: Kafka OffsetCheckpointFile, whose file holds all partitions of a folder; ours holds one.
"""

from __future__ import annotations

import threading

from raft.storage.checkpoint_file import parse_number, read_checkpoint, write_checkpoint
from raft.storage.files import Files
from raft.types import Offset


class OffsetCheckpoint:
    """One offset of one partition, on the disk and in memory.

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

    def advance(self, offset: Offset) -> None:
        """Write a higher offset; a lower or the same one is already covered."""
        with self._writing:
            if offset > self._offset:
                self._write(offset)

    def retreat(self, end_offset: Offset) -> None:
        """Return when the offset on the disk is no higher than `end_offset`, where the log is about to be cut."""
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
