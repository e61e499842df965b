"""Where the records of a snapshot lie: the file `<end offset>-<epoch>.checkpoint.offsets` beside it.

    size  field
    2     version              int16    0
    4     checksum             uint32   CRC-32C of everything from here on
    8     size of snapshot     int64    an index of a file with another size is not used
    8     start position       int64    of the first batch of records
    8     end position         int64    after the last one
    8     largest timestamp    int64    of all records; -1 for none
    8     its offset           int64    last offset of the first batch with it
    32    for each entry       int64 last offset and int64 position of a batch of records; the largest timestamp up to
                               this batch as int64, and the last offset of the first batch with it as int64

A read looks the offset up here and walks the batches from there. The name does not end with `.index`, because Kafka's
log loader would take the file for the index of a segment.
"""

from __future__ import annotations

import struct
from array import array
from bisect import bisect_left, bisect_right

from crc32c import crc32c

from raft.errors import DecodeError
from raft.types import BatchHeader, Offset

INDEX_SUFFIX = ".offsets"
INDEX_INTERVAL_BYTES = 64 << 10
"""Bytes of batches between two entries: in memory, an index takes a 2000th part of its snapshot."""

_VERSION = 0
_HEAD = struct.Struct(">hI")
_PLACES = struct.Struct(">qqqqq")
_ENTRY = struct.Struct(">qqqq")


class SnapshotIndex:
    """The index of one snapshot.

    Args:
        start_position: of the first batch of records: the end of the state.
    """

    __slots__ = (
        "_last_offsets",
        "_positions",
        "_timestamps",
        "_timestamps_at",
        "end_position",
        "largest_timestamp_ms",
        "offset_of_largest",
        "start_position",
    )

    def __init__(self, *, start_position: int) -> None:
        self.start_position = start_position
        self.end_position = start_position
        """Behind the last batch of records."""
        self.largest_timestamp_ms = -1
        """The largest timestamp of all records; -1 if no record has one."""
        self.offset_of_largest = Offset(0)
        """Last offset of the first batch with the largest timestamp; 0 if no record has one."""
        self._last_offsets = array("q")
        self._positions = array("q")
        self._timestamps = array("q")
        self._timestamps_at = array("q")

    @property
    def is_empty(self) -> bool:
        """Whether there are no records."""
        return self.end_position == self.start_position

    def note(self, header: BatchHeader) -> None:
        """Add the next batch of records."""
        position = self.end_position
        if header.max_timestamp_ms > self.largest_timestamp_ms:
            self.largest_timestamp_ms, self.offset_of_largest = header.max_timestamp_ms, header.last_offset
        if not self._positions or position - self._positions[-1] >= INDEX_INTERVAL_BYTES:
            self._last_offsets.append(header.last_offset)
            self._positions.append(position)
            self._timestamps.append(self.largest_timestamp_ms)
            self._timestamps_at.append(self.offset_of_largest)
        self.end_position = position + header.size_bytes

    def position_before(self, offset: Offset) -> int:
        """Return the position of the last indexed batch that begins no later than `offset`'s does."""
        slot = bisect_right(self._last_offsets, offset) - 1
        return self._positions[slot] if slot >= 0 else self.start_position

    def position_up_to(self, position: int) -> int:
        """Return the position of the last indexed batch that begins at `position` or before."""
        slot = bisect_right(self._positions, position) - 1
        return self._positions[slot] if slot >= 0 else self.start_position

    def position_before_timestamp(self, timestamp_ms: int) -> int:
        """Return the position of an indexed batch before which no record has this timestamp or a later one."""
        slot = bisect_left(self._timestamps, timestamp_ms) - 1
        return self._positions[slot] if slot >= 0 else self.start_position

    def largest_before(self, end_offset: Offset) -> tuple[int, Offset] | None:
        """Return the largest timestamp in the indexed batches below `end_offset`, and where it is; None for none."""
        slot = bisect_left(self._last_offsets, end_offset) - 1
        return (self._timestamps[slot], Offset(self._timestamps_at[slot])) if slot >= 0 else None

    def to_bytes(self, *, snapshot_bytes: int) -> bytes:
        """Return the content of the file.

        Args:
            snapshot_bytes: size of the snapshot.
        """
        head = _PLACES.pack(
            snapshot_bytes,
            self.start_position,
            self.end_position,
            self.largest_timestamp_ms,
            self.offset_of_largest,
        )
        columns = (self._last_offsets, self._positions, self._timestamps, self._timestamps_at)
        body = head + b"".join(_ENTRY.pack(*entry) for entry in zip(*columns, strict=True))
        return _HEAD.pack(_VERSION, crc32c(body)) + body

    @classmethod
    def from_bytes(cls, content: bytes, *, snapshot_bytes: int) -> SnapshotIndex:
        """Return the index in a file.

        Args:
            content: of the file.
            snapshot_bytes: size of the snapshot.

        Raises:
            DecodeError: the file is damaged, of another version, or of another snapshot.
        """
        try:
            version, expected = _HEAD.unpack_from(content)
            if version != _VERSION or crc32c(memoryview(content)[_HEAD.size :]) != expected:
                raise DecodeError(f"snapshot index of version {version} is damaged, or of a newer version")
            size_bytes, start, end, largest_ms, offset_of_largest = _PLACES.unpack_from(content, _HEAD.size)
            entries = list(_ENTRY.iter_unpack(content[_HEAD.size + _PLACES.size :]))
        except struct.error as error:
            raise DecodeError(f"snapshot index is incomplete: {error}") from error
        if size_bytes != snapshot_bytes:
            raise DecodeError(f"snapshot index for {size_bytes} bytes, and the snapshot has {snapshot_bytes}")
        index = cls(start_position=start)
        index.end_position = end
        index.largest_timestamp_ms, index.offset_of_largest = largest_ms, Offset(offset_of_largest)
        for column, values in zip(
            (index._last_offsets, index._positions, index._timestamps, index._timestamps_at),
            zip(*entries, strict=True),
            strict=False,
        ):
            column.extend(values)
        return index
