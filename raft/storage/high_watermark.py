"""The file `replication-offset-checkpoint`: an offset below which the log is committed and on the disk.

It is a lower bound of the high watermark, and may be far below it. With it a node that starts knows which part of its
log is never truncated. The high watermark itself is unknown until a leader sends it or a majority has fetched (HW-4,
HW-5).

Source: rule LOG-21; Kafka ReplicaManager.checkpointHighWatermarks.
"""

from __future__ import annotations

from raft.storage.offset_checkpoint import OffsetCheckpoint

HIGH_WATERMARK_NAME = "replication-offset-checkpoint"


class HighWatermarkCheckpoint(OffsetCheckpoint):
    """The checkpointed high watermark of one partition."""
