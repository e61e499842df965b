"""Looking for a whole batch behind a damaged one, by which damage is told from the torn end of a write.

    damaged place                   a whole batch: magic 2, plausible numbers, a good checksum
    v                               v
    | batch that fails its checksum | batch | batch | end of the segment

A batch can begin anywhere, because the length of the damaged one cannot be trusted. So every position is looked at, but
only the few with a plausible header are worth a checksum.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass

from raft.errors import DecodeError
from raft.records.header import HEADER, LENGTH_END, MAGIC_AT, check_crc
from raft.types import Offset

Read = Callable[[int, int], bytes]
"""Reads from a segment: position and size in bytes; returns fewer only at the end."""

_WINDOW_BYTES = 4 << 20
_CHECKED_BYTES_MAX = 1 << 30
"""Most bytes over which checksums are computed in one search, about a second's work. Records can be made so that
plausible headers stand everywhere in them; a search that has spent this much gives up."""

_MOST_OFFSETS = 1 << 31
"""A segment spans no more offsets than its index can hold."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundBatch:
    """Where a whole batch stands: its byte in the segment, and its base offset."""

    position: int
    base_offset: Offset


class BatchSearch:
    """One search, perhaps through several segments.

    Args:
        min_offset: the end of the log before the damage; batches of lower offsets are old ones and do not count.
    """

    def __init__(self, *, min_offset: Offset) -> None:
        self._min_offset = min_offset
        self._left_bytes = _CHECKED_BYTES_MAX
        low, high = (limit.to_bytes(8) for limit in (min_offset, min_offset + _MOST_OFFSETS))
        prefixes = {low[:4], high[:4]}
        # The magic first, because a literal is found fastest; what must stand before it rules out most of the rest.
        known = b"|".join(map(re.escape, sorted(prefixes)))
        self._magic = re.compile(rb"\x02(?<=(?:" + known + rb").{4}[\x00-\x7f].{7}\x02)", re.DOTALL)

    def find(self, read: Read, position: int, end_position: int) -> FoundBatch | None:
        """Return the first whole batch found in a segment, or None.

        Args:
            read: reads from the segment.
            position: the first one at which it may begin.
            end_position: size of the segment in bytes.
        """
        for candidate, size_bytes, base_offset in self._candidates(read, position, end_position):
            self._left_bytes -= size_bytes
            if self._left_bytes < 0:
                return None
            with suppress(DecodeError):
                check_crc(read(candidate, size_bytes), 0, size_bytes)
                return FoundBatch(position=candidate, base_offset=base_offset)
        return None

    def _candidates(self, read: Read, position: int, end_position: int) -> Iterator[tuple[int, int, Offset]]:
        """Yield position, size and base offset of each place whose header is that of a batch that fits the segment."""
        while end_position - position >= HEADER.size:
            window = read(position, _WINDOW_BYTES)
            if len(window) < HEADER.size:
                return
            # A header that begins in the last bytes is seen whole in the next window.
            beyond = len(window) - HEADER.size + 1
            for match in self._magic.finditer(window):
                at = match.start() - MAGIC_AT
                if at >= beyond:
                    break
                base_offset, length, _, _, _, _, last_offset_delta, *_, record_count = HEADER.unpack_from(window, at)
                size_bytes = LENGTH_END + length
                if (
                    HEADER.size <= size_bytes <= end_position - position - at
                    and self._min_offset <= base_offset <= self._min_offset + _MOST_OFFSETS
                    and last_offset_delta >= 0
                    and record_count >= 0
                ):
                    yield position + at, size_bytes, Offset(base_offset)
            position += beyond
