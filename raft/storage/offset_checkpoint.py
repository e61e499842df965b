"""A checkpoint file with one offset of a partition, in Kafka's format for the offsets of many partitions.

    0
    1
    __cluster_metadata 0 117      topic, partition, offset

Source: Kafka OffsetCheckpointFile, whose file has all partitions of a log directory; this one has a single partition.
"""

from __future__ import annotations

import threading

from raft.storage.checkpoint_file import parse_number, read_checkpoint, write_checkpoint
from raft.storage.files import Files
from raft.types import Offset


class OffsetCheckpoint:
    """One offset of one partition, on the disk and in memory.

    One thread may call `advance` while another one calls `retreat`.

    Args:
        files: where the file is.
        name: the file.
        topic: name of the topic in the entry.
        partition: number of the partition in the entry.

    Raises:
        StorageError: the file is malformed.
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
        """The offset on the disk; 0 if there is no file."""
        return self._offset

    def advance(self, offset: Offset) -> None:
        """Write an offset if it is higher than the present one, and return when it is on the disk."""
        with self._writing:
            if offset > self._offset:
                self._write(offset)

    def retreat(self, end_offset: Offset) -> None:
        """Lower the offset to `end_offset` if it is higher, and return when it is on the disk."""
        with self._writing:
            if end_offset < self._offset:
                self._write(end_offset)

    def _write(self, offset: Offset) -> None:
        write_checkpoint(self._files, self._name, [(self._topic, self._partition, offset)])
        self._wrote(offset)

    def _wrote(self, offset: Offset) -> None:
        self._offset = offset

    def _read(self) -> Offset:
        for topic, partition, offset in read_checkpoint(self._files, self._name, words=3):
            if topic == self._topic and partition == str(self._partition):
                return Offset(parse_number(self._files, self._name, offset))
        return Offset(0)
