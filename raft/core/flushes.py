"""Which part of the log is on disk.

A flush must not count for records that were written after it. Example: records 10..20 are appended and a flush is
ordered. A new leader truncates the log to 10, and other records are appended at 10..20. Then the first flush reports
that everything below 20 is on disk. If it were counted, the new records would count towards the high watermark,
although a power failure could still erase them. So each flush has a number, and a truncation invalidates all earlier
numbers.
"""

from __future__ import annotations

from raft.types import Offset


class FlushLedger:
    """The end of what is on disk. It outlives changes of role.

    Args:
        durable_end: end of the log when the node starts, all of which is on disk.
    """

    __slots__ = ("_first_valid_number", "_next_number", "durable_end")

    def __init__(self, durable_end: Offset) -> None:
        self.durable_end = durable_end
        self._next_number = 0
        self._first_valid_number = 0

    def order(self) -> int:
        """Return the number for a new flush."""
        number = self._next_number
        self._next_number += 1
        return number

    def done(self, number: int, end_offset: Offset) -> bool:
        """Count a finished flush and return whether the durable end moved; an invalid number changes nothing."""
        if number < self._first_valid_number or end_offset <= self.durable_end:
            return False
        self.durable_end = end_offset
        return True

    def truncate(self, end_offset: Offset) -> None:
        """Forget what was past the new end of the log, and invalidate the flushes that are still under way."""
        self._first_valid_number = self._next_number
        self.durable_end = min(self.durable_end, end_offset)
