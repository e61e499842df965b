"""How many bytes have been committed since the node started. A parked fetch waits until they are enough."""

from __future__ import annotations

from array import array
from bisect import bisect_right

from raft.types import BatchHeader, Offset

_DROPPED = 1024
"""As many counted batches are kept before they are dropped, if no fewer are not counted yet."""


class CommittedBytes:
    """The bytes of the batches that were appended since the start and are committed; `total` is their sum.

    A batch takes 16 bytes until it is counted: while a transaction is open, those after its begin are not.
    """

    __slots__ = ("_appended_bytes", "_counted", "_end_offsets", "_totals", "total")

    def __init__(self) -> None:
        self.total = 0
        self._appended_bytes = 0
        # Of each batch that was not counted at the last drop: its end, and the bytes up to there.
        self._end_offsets = array("q")
        self._totals = array("q")
        self._counted = 0

    def append(self, header: BatchHeader) -> None:
        """Count a batch that was appended."""
        self._appended_bytes += header.size_bytes
        self._end_offsets.append(header.end_offset)
        self._totals.append(self._appended_bytes)

    def truncate(self, end_offset: Offset) -> None:
        """Forget the batches that reach past `end_offset`."""
        kept = bisect_right(self._end_offsets, end_offset, lo=self._counted)
        del self._end_offsets[kept:], self._totals[kept:]
        self._appended_bytes = self._totals[-1] if kept > self._counted else self.total

    def commit(self, high_watermark: Offset) -> None:
        """Count the batches below the high watermark as committed."""
        counted = bisect_right(self._end_offsets, high_watermark, lo=self._counted)
        if counted == self._counted:
            return
        self.total, self._counted = self._totals[counted - 1], counted
        if counted >= _DROPPED and 2 * counted >= len(self._totals):
            del self._end_offsets[:counted], self._totals[:counted]
            self._counted = 0
