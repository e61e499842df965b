"""How many bytes of records the disk of this node has room for (LOG-24, LOG-28)."""

from __future__ import annotations

from raft.types import BatchHeader, Offset

FULL_DISK = "the leader's disk is full but for raft.reserve.bytes: it takes records again when there is room"
"""Why a leader refuses records."""

NO_ROOM_MAX_BYTES = 1
"""The size limit in the fetches of a replica whose disk has no room: so its leader knows."""


class DiskRoom:
    """The newest measurement of the disk, and what was appended since. Before the first there is room for everything.

    Attributes:
        appended_bytes: size of all batches that were appended since the start, also of those that were truncated.
        written_end: while the disk has no room for a job that has to be done: nothing from here on can be read; None
            while no job waits.
        full_since_ms: since when there is no room; None if there is. `look` brings it up to date.
    """

    def __init__(self) -> None:
        self.appended_bytes = 0
        self.written_end: Offset | None = None
        self.full_since_ms: int | None = None
        self._limit_bytes: int | None = None

    @property
    def is_full(self) -> bool:
        """Whether there is no room for any record."""
        return not self.holds(1)

    def append(self, header: BatchHeader) -> None:
        """Count a batch."""
        self.appended_bytes += header.size_bytes

    def measured(self, room_bytes: int, appended_bytes: int) -> None:
        """Take a measurement; see `DiskMeasured`."""
        self._limit_bytes = appended_bytes + room_bytes

    def holds(self, size_bytes: int) -> bool:
        """Whether there is room for so many bytes more."""
        if self.written_end is not None:
            return False
        return self._limit_bytes is None or self.appended_bytes + size_bytes <= self._limit_bytes

    def look(self, now_ms: int) -> None:
        """Note since when the disk is full."""
        if not self.is_full:
            self.full_since_ms = None
        elif self.full_since_ms is None:
            self.full_since_ms = now_ms
