"""The file `recovery-point-offset-checkpoint`: an offset below which the whole log is known to be on the disk.

A damaged batch below it is lost data and stops the node; one at or above it may be the torn end of a write. So the
point never runs ahead of a flush, and goes back, on the disk, before the log is cut below it.

Source: rules LOG-13, LOG-18.
"""

from __future__ import annotations

from raft.storage.offset_checkpoint import OffsetCheckpoint

RECOVERY_POINT_NAME = "recovery-point-offset-checkpoint"


class RecoveryPoint(OffsetCheckpoint):
    """The recovery point of one partition."""
