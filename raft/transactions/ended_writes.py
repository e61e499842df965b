"""The multipart writes that have ended, and that the last stable offset has not passed yet."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator

from raft.transactions.image import EndedWrite
from raft.types import Offset


class EndedWrites:
    """Ranges of offsets in which the last stable offset must not be, in order.

    Writes that overlap are one range: an offset in the second of them is moved to its first offset, which is in the
    first of them, and from there to the first offset of that. Writes that only touch stay apart.
    """

    __slots__ = ("_ranges",)

    def __init__(self, ranges: Iterable[EndedWrite] = ()) -> None:
        self._ranges = deque(ranges)

    def __iter__(self) -> Iterator[EndedWrite]:
        return iter(self._ranges)

    def __bool__(self) -> bool:
        return bool(self._ranges)

    def add(self, first_offset: Offset, end_offset: Offset) -> None:
        """Add a write, which ends after all others."""
        ranges = self._ranges
        while ranges and first_offset < ranges[-1].end_offset:
            first_offset = min(first_offset, ranges.pop().first_offset)
        ranges.append(EndedWrite(first_offset=first_offset, end_offset=end_offset))

    def forget(self, before: Offset) -> None:
        """Forget the ranges that end at `before` or lower: no later last stable offset is in one of them."""
        while self._ranges and self._ranges[0].end_offset <= before:
            self._ranges.popleft()

    def around(self, offset: Offset) -> EndedWrite | None:
        """Return the range of which an offset is within, and not at its begin; None if there is none."""
        for each in self._ranges:
            if offset <= each.first_offset:
                break
            if offset < each.end_offset:
                return each
        return None

    def clear(self) -> None:
        """Forget all."""
        self._ranges.clear()
