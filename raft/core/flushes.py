"""Which part of the log is on disk.

The story this guards against: records 10..20 are appended and a flush is ordered, a new leader cuts the log back to
10, other records are appended at 10..20, and only then the first flush reports that everything below 20 is on disk. It
would be believed, and records counted towards the high watermark that a power cut still erases. So orders carry
numbers, and a truncation voids every number given before it.
"""

from __future__ import annotations

from raft.types import Offset


class FlushLedger:
    """The durable end, kept apart from the log end; it survives changes of role and is cut by truncation."""

    __slots__ = ("_first_valid_number", "_next_number", "durable_end")

    def __init__(self, durable_end: Offset) -> None:
        self.durable_end = durable_end
        self._next_number = 0
        self._first_valid_number = 0

    def order(self) -> int:
        """Return the number of a new flush."""
        number = self._next_number
        self._next_number += 1
        return number

    def done(self, number: int, end_offset: Offset) -> bool:
        """Count a finished flush; return whether the durable end moved. A voided number changes nothing."""
        if number < self._first_valid_number or end_offset <= self.durable_end:
            return False
        self.durable_end = end_offset
        return True

    def truncate(self, end_offset: Offset) -> None:
        """The log was cut there: what is past it is gone, and earlier orders no longer say anything."""
        self._first_valid_number = self._next_number
        self.durable_end = min(self.durable_end, end_offset)
