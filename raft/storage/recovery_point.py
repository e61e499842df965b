"""The file `recovery-point-offset-checkpoint`: an offset below which everything in the log was flushed.

A damaged batch below it is lost data, and the node exits; a damaged batch above it may be the torn end of a write. So
the recovery point is written after a flush, and lowered on the disk before the log is truncated below it.

Source: rules LOG-13, LOG-18.
"""

from __future__ import annotations

from raft.storage.offset_checkpoint import OffsetCheckpoint

RECOVERY_POINT_NAME = "recovery-point-offset-checkpoint"


class RecoveryPoint(OffsetCheckpoint):
    """The recovery point of one partition."""
