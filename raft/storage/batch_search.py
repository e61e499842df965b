"""The search for a whole batch after a damaged one, which tells damage from the torn end of a write.

    damaged place                   a whole batch: magic 2, plausible numbers, a good checksum
    v                               v
    | batch that fails its checksum | batch | batch | end of the segment

The length of the damaged batch may be wrong, so the next batch can begin at any position. The search looks at all of
them, and computes a checksum only where the header is plausible.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass

from raft.errors import DecodeError
from raft.records.header_fields import HEADER, MAGIC_AT, check_crc, fields_at
from raft.types import Offset

Read = Callable[[int, int], bytes]
"""Reads from a segment: takes a position and a size in bytes; returns fewer bytes only at the end of the segment."""

_WINDOW_BYTES = 4 << 20
_CHECKED_BYTES_MAX = 1 << 30
"""Most bytes over which one search computes checksums, about a second's work. Records can be full of plausible headers;
the search ends without a result when it has read this much."""

_MOST_OFFSETS = 1 << 31
"""The most offsets in one segment, because its index stores relative offsets as int32."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundBatch:
    """The position of a whole batch in its segment, and its base offset."""

    position: int
    base_offset: Offset


class BatchSearch:
    """One search, which may go on through several segments.

    Args:
        min_offset: the end of the log before the damage; batches with lower offsets are older data and do not count.
    """

    def __init__(self, *, min_offset: Offset) -> None:
        self._min_offset = min_offset
        self._left_bytes = _CHECKED_BYTES_MAX
        low, high = (limit.to_bytes(8) for limit in (min_offset, min_offset + _MOST_OFFSETS))
        prefixes = {low[:4], high[:4]}
        # The expression begins with the magic, because a literal is found fastest. The lookbehind rules out most hits.
        known = b"|".join(map(re.escape, sorted(prefixes)))
        self._magic = re.compile(rb"\x02(?<=(?:" + known + rb").{4}[\x00-\x7f].{7}\x02)", re.DOTALL)

    def find(self, read: Read, position: int, end_position: int) -> FoundBatch | None:
        """Return the first whole batch found in a segment, or None.

        Args:
            read: reads from the segment.
            position: where the search begins.
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
            # A header that begins in the last bytes of this window is read with the next window.
            beyond = len(window) - HEADER.size + 1
            for match in self._magic.finditer(window):
                at = match.start() - MAGIC_AT
                if at >= beyond:
                    break
                fields = fields_at(window, at)
                if (
                    HEADER.size <= fields.size_bytes <= end_position - position - at
                    and self._min_offset <= fields.base_offset <= self._min_offset + _MOST_OFFSETS
                    and fields.last_offset_delta >= 0
                    and fields.record_count >= 0
                ):
                    yield position + at, fields.size_bytes, fields.base_offset
            position += beyond
