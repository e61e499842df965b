"""A segment of the log: a `.log` file with batches one after the other, and its indexes.

The name of the file is the offset of its first record, in twenty digits (LOG-14).

Only the last segment of a log keeps its file open; a sealed segment opens its file for each read. So a log can have
more segments than a process may have open files.

Source: Kafka LogSegment, FileRecords.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence

from raft.epoch_cache import EpochCache
from raft.errors import CorruptBatchError, DecodeError, DiskFullError
from raft.records.header_fields import PLACE_BYTES, place_at
from raft.storage.aborted_index import ABORTED_SUFFIX
from raft.storage.batch_file import LOCATE_BYTES, BatchFile
from raft.storage.files import Files, join
from raft.storage.loaded_indexes import LoadedIndexes
from raft.storage.segment_indexes import SegmentIndexes
from raft.storage.segment_summary import SegmentSummary
from raft.storage.span_check import SpanCheck
from raft.types import BatchHeader, Offset, OffsetAndEpoch

LOG_SUFFIX = ".log"

_LARGEST_RELATIVE_OFFSET = (1 << 31) - 1


class Segment(BatchFile):
    """An open segment.

    Args:
        files: where its files are.
        directory: the partition's folder.
        base_offset: offset of its first record.
        loaded: bounds the memory for the indexes of all full segments of the log.
        create: create empty files instead of opening those that exist.
        summary: of a full segment that need not be read; None for another one.
    """

    def __init__(
        self,
        files: Files,
        directory: str,
        base_offset: Offset,
        loaded: LoadedIndexes,
        *,
        create: bool = False,
        summary: SegmentSummary | None = None,
    ) -> None:
        stem = join(directory, f"{base_offset:020d}")
        self.base_offset = base_offset
        self._files = files
        self._name = stem + LOG_SUFFIX
        self._path = files.path_of(self._name)
        self._file = files.create(self._name) if create else files.open(self._name)
        self._sealed_bytes: int | None = None
        self._sealing = threading.Lock()
        self._summary = summary
        if summary is not None:
            self._sealed_bytes = summary.size_bytes
            self._file.close()
        self._indexes = SegmentIndexes(
            files,
            offset_index_name=f"{stem}.index",
            time_index_name=f"{stem}.timeindex",
            aborted_index_name=stem + ABORTED_SUFFIX,
            base_offset=base_offset,
            loaded=loaded,
            summary=None if summary is None else summary.indexes,
        )

    @property
    def summary(self) -> SegmentSummary | None:
        """The numbers of a full segment; None while it grows."""
        return self._summary

    @property
    def indexes(self) -> SegmentIndexes:
        """The indexes; they grow with the segment."""
        return self._indexes

    @property
    def path(self) -> str:
        """Path of the `.log` file, for messages."""
        return self._path

    @property
    def size_bytes(self) -> int:
        """Size of the `.log` file."""
        return self._file.size_bytes if self._sealed_bytes is None else self._sealed_bytes

    def has_room_for(self, header: BatchHeader, *, waiting_bytes: int, segment_bytes: int) -> bool:
        """Whether a batch may be appended. The first batch of a segment always may.

        Args:
            header: of the batch.
            waiting_bytes: size of other batches that are appended before.
            segment_bytes: largest size of a segment.
        """
        size_bytes = self.size_bytes + waiting_bytes
        if size_bytes == 0:
            return True
        return (
            size_bytes + header.size_bytes <= segment_bytes
            and header.last_offset - self.base_offset <= _LARGEST_RELATIVE_OFFSET
        )

    def append(self, data: bytes, headers: Sequence[BatchHeader]) -> None:
        """Write batches at the end, with one call to the disk.

        Args:
            data: the batches one after the other.
            headers: their headers, in order.

        Raises:
            DiskFullError: the disk has no room; the segment is as before, and the call may be repeated.
        """
        assert self._sealed_bytes is None, f"{self.path} is sealed"
        position = self.size_bytes
        try:
            self._file.append(data)
        except DiskFullError:
            # A torn part may be there. It must not stay: the next batch is written at this position.
            self._file.truncate(position)
            raise
        # A batch gets its entry after it is written, so an entry always points to a batch.
        for header in headers:
            self.indexes.note(header, position)
            position += header.size_bytes

    def read_at(self, position: int, size_bytes: int) -> bytes:
        """Return `size_bytes` bytes from `position` on; fewer only at the end of the file."""
        if self._sealed_bytes is None:
            return self._file.read(position, size_bytes)
        file = self._files.open(self._name)
        try:
            return file.read(position, size_bytes)
        finally:
            file.close()

    def span_check(self, position: int, epochs: EpochCache) -> SpanCheck:
        """See `BatchFile.span_check`. The batches between the last indexed one and `position` give the offset there."""
        last_offset, at = next(self.indexes.entries_before(position + 1), (None, 0))
        next_offset = self.base_offset if at == 0 else None
        window_at, window = at, b""
        while at < position:
            if at + PLACE_BYTES > window_at + len(window):
                window_at, window = at, self.read_at(at, LOCATE_BYTES)
            with self._damage_named(at):
                if len(window) < PLACE_BYTES:
                    raise DecodeError(f"{len(window)} bytes are not a batch")
                base_offset, end, size_bytes = place_at(window, at - window_at)
                if next_offset not in (None, base_offset) or last_offset not in (None, end):
                    raise DecodeError(f"batch at offset {base_offset}, expected {next_offset}")
            next_offset, last_offset = Offset(end + 1), None
            at += size_bytes
        return SpanCheck(epochs=epochs, next_offset=next_offset, last_offset=last_offset)

    def overwrite(self, position: int, data: bytes) -> None:
        """Write bytes in the place of others, and return when that is on the disk.

        Raises:
            StorageError: the disk returned an error; a part of the bytes may be written.
        """
        assert position + len(data) <= self.size_bytes, f"{self.path} does not grow"
        file = self._files.open(self._name)
        try:
            file.overwrite(position, data)
            file.flush()
        finally:
            file.close()

    def truncate(self, end_offset: Offset) -> None:
        """Remove everything from `end_offset` on, and return when that is done on the disk.

        The truncation is flushed at once, because a crash could otherwise bring old batches back after new ones. A
        sealed segment is open again afterwards.

        Raises:
            CorruptBatchError: the log is damaged where it has to be truncated; nothing is removed.
        """
        position = self.indexes.position_below(end_offset)
        rest = []
        for header in self.headers_from(position):
            if header.base_offset >= end_offset:
                break
            rest.append(header)
            position += header.size_bytes
        # The checksum does not cover the offset of a batch: it may seem to be behind the end, or before it.
        if (rest[-1].end_offset if rest else self.base_offset) != end_offset:
            raise CorruptBatchError(
                f"{self.path} is damaged before byte {position}: no batch ends at offset {end_offset}, where the log "
                "has to be truncated; see 'A damaged log' in docs/operations.md"
            )
        self.unseal()
        # The indexes come first, so no entry ever points after the end of the segment.
        self.indexes.truncate(end_offset, rest)
        self.truncate_file(position)

    def truncate_file(self, size_bytes: int) -> None:
        """Truncate the `.log` file alone to `size_bytes`, and return when that is done on the disk."""
        self._file.truncate(size_bytes)
        self._file.flush()

    def flush(self) -> None:
        """Return when all batches are on the disk. It may run on another thread while the segment is sealed."""
        with self._sealing:
            if self._sealed_bytes is None:
                self._file.flush()

    def seal(self) -> None:
        """Flush and close the `.log` file: nothing more will be appended to this segment."""
        self.flush()
        with self._sealing:
            if self._sealed_bytes is None:
                self._sealed_bytes = self._file.size_bytes
                self._file.close()

    def seal_indexes(self, end: OffsetAndEpoch) -> None:
        """Close the indexes of a sealed segment, and make its summary.

        Args:
            end: offset after its last record, and the epoch of that record.
        """
        self.indexes.seal()
        assert self.indexes.summary is not None, "the indexes are sealed"
        self._summary = SegmentSummary(
            base_offset=self.base_offset,
            end_offset=end.offset,
            last_epoch=end.epoch,
            size_bytes=self.size_bytes,
            indexes=self.indexes.summary,
        )

    def flush_indexes(self) -> None:
        """Return when the indexes of a sealed segment are on the disk. It may run on another thread."""
        for name in self.indexes.names:
            if self._files.exists(name):
                file = self._files.open(name)
                try:
                    file.flush()
                finally:
                    file.close()

    def unseal(self) -> None:
        """Open the files again, to append to this segment."""
        self._summary = None
        self.indexes.unseal()
        with self._sealing:
            if self._sealed_bytes is not None:
                self._file = self._files.open(self._name)
                self._sealed_bytes = None

    def close(self) -> None:
        """Close all files, without a flush."""
        self.indexes.close()
        self._file.close()

    def remove(self) -> None:
        """Close and remove all files."""
        self.indexes.remove()
        self._file.close()
        self._files.remove(self._name)
