"""The files of a log in the order of their offsets: the compacted records, then the segments."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from operator import attrgetter

from raft.epoch_cache import EpochCache
from raft.errors import DiskFullError, StorageError
from raft.records.header_fields import HeaderFields
from raft.storage.batch_file import BatchFile
from raft.storage.compacted_records import CompactedRecords
from raft.storage.files import Files
from raft.storage.loaded_indexes import LoadedIndexes
from raft.storage.segment import Segment
from raft.types import Offset


class LogFiles:
    """The open files of a log.

    Args:
        files: where they are.
        directory: the partition's folder.
        segments: at least one; each begins where the one before ends.
        compacted: the records of the snapshot at the start of the first segment, for readers; None for none.
        loaded: bounds the memory for the indexes of full segments.

    Attributes:
        segments, compacted: see the arguments. The last segment grows.
    """

    def __init__(
        self,
        files: Files,
        directory: str,
        segments: list[Segment],
        compacted: CompactedRecords | None,
        loaded: LoadedIndexes,
    ) -> None:
        self._files = files
        self._directory = directory
        self._loaded = loaded
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

    @property
    def bases(self) -> tuple[Offset, ...]:
        """The offsets at which the segments begin, in order."""
        return tuple(segment.base_offset for segment in self.segments)

    def size_bytes(self, start_offset: Offset) -> int:
        """Return the size of all segments that begin at `start_offset` or later."""
        return sum(segment.size_bytes for segment in self.segments if segment.base_offset >= start_offset)

    def add(self, base_offset: Offset) -> None:
        """Begin a new segment, and return when its name is on the disk."""
        segment = Segment(self._files, self._directory, base_offset, self._loaded, create=True)
        segment.indexes.attach()
        self._files.sync_directory(self._directory)
        self.segments.append(segment)

    def remove_behind(self, end_offset: Offset) -> None:
        """Remove the segments that begin after `end_offset`, and return when that is done on the disk."""
        if self.last.base_offset <= end_offset:
            return
        while self.last.base_offset > end_offset:
            self.segments.pop().remove()
        # This must be on the disk before the last segment is truncated. If a crash brought a removed segment back, the
        # log would seem to lack records in the middle, and the node would refuse to start.
        self._files.sync_directory(self._directory)

    def remove_before(self, start_offset: Offset, compacted: CompactedRecords | None) -> None:
        """Remove the segments before the one that begins at `start_offset`, and return when that is done on the disk.

        Args:
            start_offset: where a segment begins.
            compacted: what stands before it then.
        """
        kept = self.bases.index(start_offset)
        removed, self.segments = self.segments[:kept], self.segments[kept:]
        self.compacted = compacted
        # The oldest comes first, so that no segment is missing between two others.
        for segment in removed:
            segment.remove()
        self._files.sync_directory(self._directory)

    def restart_at(self, start_offset: Offset, compacted: CompactedRecords | None) -> None:
        """Remove all segments, and begin an empty one; return when that is done on the disk.

        Args:
            start_offset: where it begins.
            compacted: what stands before it.
        """
        for segment in reversed(self.segments):
            segment.remove()
        self.segments = []
        self.compacted = compacted
        try:
            self.add(start_offset)
        except DiskFullError as error:
            # A log without a segment cannot wait for room. The next start completes this.
            raise StorageError(str(error)) from error

    def files_from(self, offset: Offset) -> list[BatchFile]:
        """Return the files from the one that holds `offset` on."""
        if offset < self.segments[0].base_offset and self.compacted is not None:
            return self.everything
        return [*self.segments_from(offset)]

    def segments_from(self, offset: Offset) -> list[Segment]:
        """Return the segments from the one that holds `offset` on."""
        return self.segments[self._segment_index(offset) :]

    def pieces(
        self, start_offset: Offset, epochs: EpochCache, *, max_bytes: int, end_offset: Offset, piece_bytes: int
    ) -> Iterator[bytes]:
        """Yield pieces of the batches from the first one on that ends after `start_offset`; see `Log.pieces`."""
        for file in self.files_from(start_offset)[:2]:
            span = file.span(max(start_offset, file.base_offset), max_bytes=max_bytes, end_offset=end_offset)
            if span:
                yield from file.pieces(span, piece_bytes=piece_bytes, epochs=epochs)
            elif span.start < file.size_bytes:
                # The batch there ends after the end of the read. If its offsets are damaged, only this finds it.
                file.checked_batch_at(span.start)
            # The last of the compacted records may be missing. Then the first segment follows.
            if span or not isinstance(file, CompactedRecords):
                return

    def header_of(self, offset: Offset) -> HeaderFields:
        """Return the header of the batch that holds `offset`, which no snapshot has replaced; see `Log.header_of`."""
        return self.segments[self._segment_index(offset)].header_of(offset)

    def _segment_index(self, offset: Offset) -> int:
        return max(bisect_right(self.segments, offset, key=attrgetter("base_offset")) - 1, 0)
