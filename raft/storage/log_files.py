"""The files of a log in the order of their offsets: the compacted records, then the segments."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from operator import attrgetter

from raft.records.stored_header import StoredHeader
from raft.storage.batch_file import BatchFile
from raft.storage.compacted_records import CompactedRecords
from raft.storage.segment import Segment
from raft.types import Offset


class LogFiles:
    """The open files of a log.

    Args:
        segments: at least one; each begins where the one before ends.
        compacted: the records of the snapshot at the start of the first segment, for readers; None for none.

    Attributes:
        segments, compacted: see the arguments. The last segment grows.
    """

    def __init__(self, segments: list[Segment], compacted: CompactedRecords | None) -> None:
        self.segments = segments
        self.compacted = compacted

    @property
    def last(self) -> Segment:
        """The segment that grows."""
        return self.segments[-1]

    @property
    def everything(self) -> list[BatchFile]:
        """All files."""
        return [*([] if self.compacted is None else [self.compacted]), *self.segments]

    def files_from(self, offset: Offset) -> list[BatchFile]:
        """Return the files from the one that holds `offset` on."""
        if offset < self.segments[0].base_offset and self.compacted is not None:
            return self.everything
        return [*self.segments[self._segment_index(offset) :]]

    def pieces(self, start_offset: Offset, *, max_bytes: int, end_offset: Offset, piece_bytes: int) -> Iterator[bytes]:
        """Yield pieces of the batches from the first one on that ends behind `start_offset`; see `Log.pieces`."""
        for file in self.files_from(start_offset)[:2]:
            span = file.span(max(start_offset, file.base_offset), max_bytes=max_bytes, end_offset=end_offset)
            for position in span[::piece_bytes]:
                yield file.read_at(position, min(piece_bytes, span.stop - position))
            # The last of the compacted records may be missing. Then the first segment follows.
            if span or not isinstance(file, CompactedRecords):
                return

    def header_of(self, offset: Offset) -> StoredHeader:
        """Return the header of the batch that holds `offset`, which no snapshot has replaced; see `Log.header_of`."""
        return self.segments[self._segment_index(offset)].header_of(offset)

    def _segment_index(self, offset: Offset) -> int:
        return max(bisect_right(self.segments, offset, key=attrgetter("base_offset")) - 1, 0)
