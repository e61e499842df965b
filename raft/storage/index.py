"""The two sparse indexes of a segment, in memory and in the files beside it.

    .index       int32 relative offset, int32 position       a batch's last offset, and where the batch begins
    .timeindex   int64 timestamp, int32 relative offset      largest timestamp so far, and the last offset of its batch

An entry follows after more than 4096 bytes of batches, so the indexes take about 8 and 12 bytes for 4 KiB of log. A
relative offset is the offset minus the segment's base offset. Offsets and timestamps rise from entry to entry. Kafka
allocates these files in advance and truncates them later; here they have their entries only, so they can be read at any
time.

The index files of a full segment are flushed before `TrustedSegments` lists it. Those of the last segment are not
flushed while it grows: after a crash, opening the log writes them again from the batches.

Source: Kafka OffsetIndex, TimeIndex, LogSegment.append.
"""

from __future__ import annotations

import struct
import sys
from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Iterator

from raft.errors import DecodeError
from raft.types import Offset

OFFSET_ENTRY = struct.Struct(">ii")
TIME_ENTRY = struct.Struct(">qi")


class OffsetIndex:
    """The positions of some batches of a segment.

    Args:
        base_offset: of the segment.
    """

    def __init__(self, base_offset: Offset) -> None:
        self._base_offset = base_offset
        self._relative_offsets = array("i")
        self._positions = array("i")

    @property
    def last_position(self) -> int:
        """Position of the last indexed batch; 0 if there is none."""
        return self._positions[-1] if self._positions else 0

    def append(self, last_offset: Offset, position: int) -> bytes:
        """Add a batch; return its entry as bytes of the file."""
        relative_offset = last_offset - self._base_offset
        self._relative_offsets.append(relative_offset)
        self._positions.append(position)
        return OFFSET_ENTRY.pack(relative_offset, position)

    def position_before(self, offset: Offset) -> int:
        """Return the position of the last indexed batch that begins no later than `offset`'s does; 0 for the first."""
        # An entry has the last offset of its batch, not the first. So only a batch that ends at or before `offset` is
        # known to begin early enough.
        slot = bisect_right(self._relative_offsets, offset - self._base_offset) - 1
        return self._positions[slot] if slot >= 0 else 0

    def position_up_to(self, position: int) -> int:
        """Return the position of the last indexed batch that begins at `position` or before; 0 for the first."""
        slot = bisect_right(self._positions, position) - 1
        return self._positions[slot] if slot >= 0 else 0

    def entries_before(self, position: int) -> Iterator[tuple[Offset, int]]:
        """Yield last offset and position of the indexed batches that begin before `position`, the last one first."""
        for slot in reversed(range(bisect_left(self._positions, position))):
            yield self._entry(slot)

    def entries_behind(self, position: int) -> Iterator[tuple[Offset, int]]:
        """Yield last offset and position of the indexed batches that begin after `position`, in order."""
        for slot in range(bisect_right(self._positions, position), len(self._positions)):
            yield self._entry(slot)

    def _entry(self, slot: int) -> tuple[Offset, int]:
        return Offset(self._base_offset + self._relative_offsets[slot]), self._positions[slot]

    def truncate(self, end_offset: Offset) -> None:
        """Remove the batches that hold `end_offset` or lie after it."""
        kept = bisect_left(self._relative_offsets, end_offset - self._base_offset)
        del self._relative_offsets[kept:]
        del self._positions[kept:]

    def to_bytes(self) -> bytes:
        """Return the content of the file."""
        words = array("i", bytes(OFFSET_ENTRY.size * len(self._positions)))
        words[0::2], words[1::2] = self._relative_offsets, self._positions
        return _big_endian(words)

    @classmethod
    def from_bytes(cls, content: bytes, base_offset: Offset) -> OffsetIndex:
        """Return the index in a file.

        Args:
            content: of the file.
            base_offset: of the segment.

        Raises:
            DecodeError: its size is that of no index.
        """
        words = _words(content, OFFSET_ENTRY.size)
        index = cls(base_offset)
        index._relative_offsets, index._positions = words[0::2], words[1::2]
        return index


class TimeIndex:
    """The largest timestamp up to some points of a segment.

    Args:
        base_offset: of the segment.
    """

    def __init__(self, base_offset: Offset) -> None:
        self._base_offset = base_offset
        self._timestamps_ms = array("q")
        self._relative_offsets = array("i")

    @property
    def last_entry(self) -> tuple[int, Offset]:
        """Largest timestamp and the last offset of its batch; -1 and the base offset if there is no entry."""
        if not self._timestamps_ms:
            return -1, self._base_offset
        return self._timestamps_ms[-1], Offset(self._base_offset + self._relative_offsets[-1])

    @property
    def entries(self) -> list[tuple[int, Offset]]:
        """The entries, in order, each as in `last_entry`."""
        offsets = (Offset(self._base_offset + each) for each in self._relative_offsets)
        return list(zip(self._timestamps_ms, offsets, strict=True))

    def append(self, timestamp_ms: int, last_offset: Offset) -> bytes:
        """Add the largest timestamp so far; return the entry as bytes, or b"" if the last entry has that timestamp."""
        if timestamp_ms <= self.last_entry[0]:
            return b""
        relative_offset = last_offset - self._base_offset
        self._timestamps_ms.append(timestamp_ms)
        self._relative_offsets.append(relative_offset)
        return TIME_ENTRY.pack(timestamp_ms, relative_offset)

    def offset_reaching(self, timestamp_ms: int) -> Offset | None:
        """Return the last offset of the first batch known to have this timestamp or a later one; None if none has."""
        slot = bisect_left(self._timestamps_ms, timestamp_ms)
        if slot == len(self._timestamps_ms):
            return None
        return Offset(self._base_offset + self._relative_offsets[slot])

    def largest_before(self, end_offset: Offset) -> tuple[int, Offset] | None:
        """Return the last entry whose batch ends before `end_offset`: timestamp, and last offset of the batch."""
        slot = bisect_left(self._relative_offsets, end_offset - self._base_offset) - 1
        if slot < 0:
            return None
        return self._timestamps_ms[slot], Offset(self._base_offset + self._relative_offsets[slot])

    def truncate(self, end_offset: Offset) -> None:
        """Remove the entries whose batch holds `end_offset` or lies after it."""
        kept = bisect_left(self._relative_offsets, end_offset - self._base_offset)
        del self._timestamps_ms[kept:]
        del self._relative_offsets[kept:]

    def to_bytes(self) -> bytes:
        """Return the content of the file."""
        words = array("i", bytes(TIME_ENTRY.size * len(self._timestamps_ms)))
        halves = array("i", self._timestamps_ms.tobytes())
        words[0::3], words[1::3] = halves[_HIGH::2], halves[1 - _HIGH :: 2]
        words[2::3] = self._relative_offsets
        return _big_endian(words)

    @classmethod
    def from_bytes(cls, content: bytes, base_offset: Offset) -> TimeIndex:
        """Return the index in a file; see `OffsetIndex.from_bytes`."""
        words = _words(content, TIME_ENTRY.size)
        halves = array("i", bytes(8 * (len(words) // 3)))
        halves[_HIGH::2], halves[1 - _HIGH :: 2] = words[0::3], words[1::3]
        index = cls(base_offset)
        index._timestamps_ms, index._relative_offsets = array("q", halves.tobytes()), words[2::3]
        return index


_HIGH = 1 if sys.byteorder == "little" else 0
"""Which half of an int64 in memory is the high one."""


def _big_endian(words: array[int]) -> bytes:
    if sys.byteorder == "little":
        words.byteswap()
    return words.tobytes()


def _words(content: bytes, entry_bytes: int) -> array[int]:
    if len(content) % entry_bytes:
        raise DecodeError(f"index has {len(content)} bytes, expected entries of {entry_bytes}")
    words = array("i", content)
    if sys.byteorder == "little":
        words.byteswap()
    return words
