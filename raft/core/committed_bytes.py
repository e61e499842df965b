"""How many bytes have been committed since the node started. A parked fetch waits until they are enough."""

from __future__ import annotations

from collections import deque

from raft.types import BatchHeader, Offset


class CommittedBytes:
    """The bytes of the batches that were appended since the start and are committed; `total` is their sum."""

    __slots__ = ("_appended_bytes", "_uncommitted", "total")

    def __init__(self) -> None:
        self.total = 0
        self._appended_bytes = 0
        self._uncommitted: deque[tuple[Offset, int]] = deque()

    def append(self, header: BatchHeader) -> None:
        """Count a batch that was appended."""
        self._appended_bytes += header.size_bytes
        self._uncommitted.append((header.end_offset, self._appended_bytes))

    def truncate(self, end_offset: Offset) -> None:
        """Forget the batches that reach past `end_offset`."""
        while self._uncommitted and self._uncommitted[-1][0] > end_offset:
            self._uncommitted.pop()
        self._appended_bytes = self._uncommitted[-1][1] if self._uncommitted else self.total

    def commit(self, high_watermark: Offset) -> None:
        """Count the batches below the high watermark as committed."""
        while self._uncommitted and self._uncommitted[0][0] <= high_watermark:
            self.total = self._uncommitted.popleft()[1]
