"""For how long multipart writes that overlap have held the last stable offset back (rule TXN-12)."""

from __future__ import annotations

from raft.transactions import EndedWrite
from raft.types import Offset

HELD_BACK_MS = 1_000
"""How long overlapping writes may hold the last stable offset back before new ones wait. Writes that overlap by chance
have a gap between them sooner, and never wait; a reader does not wait much longer than for one write."""


class WriteHold:
    """Says when no new multipart write may begin, by the clock of one leader.

    A single write within another one is no reason: it ends, and readers have to wait for it anyway. So the time counts
    from when those transactions have ended that began within the writes as they were at first.

    Attributes:
        has_waiting: whether requests wait until it ends.
    """

    __slots__ = ("_end_offset", "_first_offset", "_since_ms", "has_waiting")

    def __init__(self) -> None:
        self.has_waiting = False
        self._first_offset: Offset | None = None
        self._end_offset = Offset(0)
        self._since_ms: int | None = None

    def note(self, write: EndedWrite | None, kafkas_stable_offset: Offset, now_ms: int) -> None:
        """Note what holds the last stable offset back now.

        Args:
            write: the writes within which Kafka's last stable offset is; None for none.
            kafkas_stable_offset: that offset.
            now_ms: the present time.
        """
        first_offset = None if write is None else write.first_offset
        if write is None or first_offset != self._first_offset:
            self._first_offset, self._since_ms = first_offset, None
            self._end_offset = Offset(0) if write is None else write.end_offset
        elif self._since_ms is None and kafkas_stable_offset >= self._end_offset:
            self._since_ms = now_ms

    def is_active(self, now_ms: int) -> bool:
        """Whether new writes have to wait."""
        return self._since_ms is not None and now_ms >= self._since_ms + HELD_BACK_MS
