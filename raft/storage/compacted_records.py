"""The records of the snapshot at the start of a log, as the first part of the log that readers see."""

from __future__ import annotations

from raft.epoch_cache import EpochCache
from raft.snapshots import SnapshotIndex
from raft.storage.aborted_index import ABORTED_SUFFIX, AbortedIndex
from raft.storage.batch_file import BatchFile
from raft.storage.files import Files
from raft.storage.span_check import SpanCheck
from raft.types import Offset, OffsetAndEpoch


class CompactedIndexes:
    """The index of a snapshot with the methods of `SegmentIndexes`.

    Args:
        index: of the snapshot.
        aborted: an empty index, because a snapshot has no records of aborted transactions.
    """

    transactional_range: tuple[Offset, Offset] | None = None
    has_aborted = False

    def __init__(self, index: SnapshotIndex, aborted: AbortedIndex) -> None:
        self._index = index
        self.aborted = aborted

    @property
    def largest_timestamp_ms(self) -> int:
        """See `SegmentIndexes.largest_timestamp_ms`."""
        return self._index.largest_timestamp_ms

    @property
    def offset_of_largest(self) -> Offset:
        """See `SegmentIndexes.offset_of_largest`."""
        return self._index.offset_of_largest

    def position_before(self, offset: Offset) -> int:
        """See `OffsetIndex.position_before`."""
        return self._index.position_before(offset)

    def position_up_to(self, position: int) -> int:
        """See `OffsetIndex.position_up_to`."""
        return self._index.position_up_to(position)

    def position_below(self, offset: Offset) -> int:
        """See `SegmentIndexes.position_below`."""
        return self._index.position_before(Offset(offset - 1))

    def position_before_timestamp(self, timestamp_ms: int) -> int:
        """See `SegmentIndexes.position_before_timestamp`."""
        return self._index.position_before_timestamp(timestamp_ms)

    def largest_before(self, end_offset: Offset) -> tuple[int, Offset] | None:
        """See `TimeIndex.largest_before`."""
        return self._index.largest_before(end_offset)


class CompactedRecords(BatchFile):
    """The records of one snapshot. The file is opened for each read.

    Args:
        files: where it is.
        name: of the snapshot file.
        end: end offset and epoch of the snapshot.
        index: of its records.
    """

    base_offset = Offset(0)

    def __init__(self, files: Files, name: str, end: OffsetAndEpoch, index: SnapshotIndex) -> None:
        self.end = end
        self.start_position = index.start_position
        self._files = files
        self._name = name
        self._path = files.path_of(name)
        self._index = index
        self._indexes = CompactedIndexes(index, AbortedIndex(files, name + ABORTED_SUFFIX))

    @property
    def indexes(self) -> CompactedIndexes:
        """The index."""
        return self._indexes

    @property
    def path(self) -> str:
        """Path of the snapshot, for messages."""
        return self._path

    @property
    def size_bytes(self) -> int:
        """The end of the last record."""
        return self._index.end_position

    def span_check(self, _position: int, _epochs: EpochCache) -> SpanCheck:
        """See `BatchFile.span_check`. The offsets only rise, and a batch may have records of several epochs."""
        return SpanCheck(has_gaps=True)

    def read_at(self, position: int, size_bytes: int) -> bytes:
        """Return `size_bytes` bytes from `position` on; fewer only at the end of the records."""
        file = self._files.open(self._name)
        try:
            return file.read(position, min(size_bytes, self.size_bytes - position))
        finally:
            file.close()
