"""The newest bytes of a log, in memory: followers and readers that keep up cause no disk reads."""

from __future__ import annotations

from bisect import bisect_left, bisect_right

from raft.records.header_fields import HEADER, place_at
from raft.storage.spans import skip_to, take_until
from raft.types import Offset


class Tail:
    """The last mebibytes that were appended.

    Args:
        max_bytes: most that is kept; an append that is larger is not kept at all.
    """

    def __init__(self, max_bytes: int) -> None:
        self._max_bytes = max_bytes
        self._base_offsets: list[Offset] = []
        self._positions: list[int] = []
        self._pieces: list[bytes] = []
        self._end_position = 0

    def append(self, base_offset: Offset, piece: bytes) -> None:
        """Add whole batches.

        Args:
            base_offset: of the first one: the end of the batches before.
            piece: the batches.
        """
        self._base_offsets.append(base_offset)
        self._positions.append(self._end_position)
        self._pieces.append(piece)
        self._end_position += len(piece)
        if self._end_position - self._positions[0] > self._max_bytes:
            self._make_room()

    def truncate(self, end_offset: Offset) -> None:
        """Remove everything from `end_offset` on."""
        while self._base_offsets and self._base_offsets[-1] >= end_offset:
            self._base_offsets.pop()
            self._pieces.pop()
            self._end_position = self._positions.pop()
        if self._pieces:
            piece = self._pieces[-1]
            kept = piece[: take_until(piece, 0, max_bytes=len(piece), end_offset=end_offset)]
            self._pieces[-1] = kept
            self._end_position = self._positions[-1] + len(kept)

    def read(self, start_offset: Offset, *, max_bytes: int, end_offset: Offset) -> bytes | None:
        """Return what `Log.read` returns, or None if the batch with `start_offset` is not kept any more.

        Only the first and the last piece are searched, because small appends make many pieces.
        """
        if not self._base_offsets or start_offset < self._base_offsets[0]:
            return None
        first = bisect_right(self._base_offsets, start_offset) - 1
        piece = self._pieces[first]
        position = skip_to(piece, start_offset)
        _base_offset, _last_offset, first_bytes = place_at(piece, position)
        room = max(max_bytes, first_bytes)
        limit = self._positions[first] + position + room
        # All pieces before the last one lie within both bounds, because the last one begins within them.
        last = min(bisect_right(self._positions, limit), bisect_right(self._base_offsets, end_offset)) - 1
        if last == first:
            return piece[position : take_until(piece, position, max_bytes=room, end_offset=end_offset)]
        last_piece = self._pieces[last]
        room = limit - self._positions[last]
        last_part = last_piece[: take_until(last_piece, 0, max_bytes=room, end_offset=end_offset)]
        return b"".join([piece[position:], *self._pieces[first + 1 : last], last_part])

    def header_of(self, offset: Offset) -> bytes | None:
        """Return the header of the batch that holds `offset`, or None if it is not kept any more."""
        if not self._base_offsets or offset < self._base_offsets[0]:
            return None
        piece = self._pieces[bisect_right(self._base_offsets, offset) - 1]
        position = skip_to(piece, offset)
        return piece[position : position + HEADER.size]

    def _make_room(self) -> None:
        # A quarter is removed at a time, because removing the front of a list moves all other elements.
        dropped = bisect_left(self._positions, self._end_position - self._max_bytes * 3 // 4)
        del self._base_offsets[:dropped]
        del self._positions[:dropped]
        del self._pieces[:dropped]
