"""How many bytes of records the disk of this node has room for (LOG-24)."""

from __future__ import annotations

from raft.types import BatchHeader

FULL_DISK = "the leader's disk is full but for raft.reserve.bytes: it takes records again when there is room"
"""Why a leader refuses records."""


class DiskRoom:
    """The newest measurement of the disk, and what was appended since. Before the first there is room for everything.

    Attributes:
        appended_bytes: size of all batches that were appended since the start, also of those that were truncated.
    """

    def __init__(self) -> None:
        self.appended_bytes = 0
        self._limit_bytes: int | None = None

    def append(self, header: BatchHeader) -> None:
        """Count a batch."""
        self.appended_bytes += header.size_bytes

    def measured(self, room_bytes: int, appended_bytes: int) -> None:
        """Take a measurement; see `DiskMeasured`."""
        self._limit_bytes = appended_bytes + room_bytes

    def holds(self, size_bytes: int) -> bool:
        """Whether there is room for so many bytes more."""
        return self._limit_bytes is None or self.appended_bytes + size_bytes <= self._limit_bytes
