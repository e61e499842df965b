"""The file `replication-offset-checkpoint`: an offset below which the log is committed and on the disk.

It is a lower bound of the high watermark, and may be far below it. With it a node that starts knows which part of its
log is never truncated. The high watermark itself is unknown until a leader sends it or a majority has fetched (HW-4,
HW-5).

Source: rules LOG-21, LOG-32; Kafka ReplicaManager.checkpointHighWatermarks.
"""

from __future__ import annotations

from raft.storage.files import Files
from raft.storage.offset_checkpoint import OffsetCheckpoint
from raft.types import Offset

HIGH_WATERMARK_NAME = "replication-offset-checkpoint"


class HighWatermarkCheckpoint(OffsetCheckpoint):
    """The checkpointed high watermark of one partition.

    Args:
        files, name, topic, partition: see `OffsetCheckpoint`.
        marked: the high watermark of the mark of the last flush (`RecoveryPoint.committed`), which may be higher.

    Raises:
        StorageError: the file is malformed.
    """

    def __init__(self, files: Files, name: str, *, topic: str, partition: int, marked: Offset = Offset(0)) -> None:
        super().__init__(files, name, topic=topic, partition=partition)
        self._offset = max(self._offset, marked)
