"""A segment of the log: a `.log` file with batches one after the other, and its indexes.

The name of the file is the offset of its first record, in twenty digits (LOG-14).

Only the last segment of a log keeps its file open; a sealed segment opens its file for each read. So a log can have
more segments than a process may have open files.

Source: Kafka LogSegment, FileRecords.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from raft.errors import CorruptBatchError, DecodeError
from raft.records.header import HEADER
from raft.records.split import walk_headers
from raft.records.stored_header import StoredHeader, read_stored_header
from raft.storage.aborted_index import ABORTED_SUFFIX
from raft.storage.batch_search import BatchSearch, FoundBatch
from raft.storage.files import Files, join
from raft.storage.segment_indexes import INDEX_INTERVAL_BYTES, SegmentIndexes
from raft.storage.spans import PLACE_BYTES, place_at, skip_to, take_until
from raft.types import BatchHeader, Offset

LOG_SUFFIX = ".log"

_LARGEST_RELATIVE_OFFSET = (1 << 31) - 1
_WALK_BYTES = 1 << 20
_LOCATE_BYTES = 2 * INDEX_INTERVAL_BYTES


class Segment:
    """An open segment.

    Args:
        files: where its files are.
        directory: the partition's folder.
        base_offset: offset of its first record.
        create: create empty files instead of opening those that exist.
    """

    def __init__(self, files: Files, directory: str, base_offset: Offset, *, create: bool = False) -> None:
        stem = join(directory, f"{base_offset:020d}")
        self.base_offset = base_offset
        self._files = files
        self._name = stem + LOG_SUFFIX
        self._path = files.path_of(self._name)
        self._file = files.create(self._name) if create else files.open(self._name)
        self._sealed_bytes: int | None = None
        self._sealing = threading.Lock()
        self.indexes = SegmentIndexes(
            files,
            offset_index_name=f"{stem}.index",
            time_index_name=f"{stem}.timeindex",
            aborted_index_name=stem + ABORTED_SUFFIX,
            base_offset=base_offset,
        )

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
        """
        assert self._sealed_bytes is None, f"{self.path} is sealed"
        position = self.size_bytes
        self._file.append(data)
        # A batch gets its entry after it is written, so an entry always points to a batch.
        for header in headers:
            self.indexes.note(header, position)
            position += header.size_bytes

    def span(self, start_offset: Offset, *, max_bytes: int, end_offset: Offset) -> range:
        """Return the positions of the batches that `Log.read` returns from this segment; `read_at` reads them.

        Args:
            start_offset: see `Log.read`; it is in this segment.
            max_bytes: see `Log.read`.
            end_offset: see `Log.read`.

        Raises:
            CorruptBatchError: the file is damaged; names file and byte.
        """
        start = self.locate(start_offset)
        limit = min(start + max(max_bytes, self._batch_bytes_at(start)), self.size_bytes)
        # All batches before an indexed batch that begins within both bounds lie within them too.
        known = min(self.indexes.position_up_to(limit), self.indexes.position_before(end_offset))
        return range(start, self._end_within(max(start, known), limit, end_offset))

    def read_at(self, position: int, size_bytes: int) -> bytes:
        """Return `size_bytes` bytes from `position` on; fewer only at the end of the file."""
        if self._sealed_bytes is None:
            return self._file.read(position, size_bytes)
        file = self._files.open(self._name)
        try:
            return file.read(position, size_bytes)
        finally:
            file.close()

    def locate(self, offset: Offset) -> int:
        """Return the position of the batch that holds `offset`; the size of the segment if no batch does."""
        position = self.indexes.position_before(offset)
        while position < self.size_bytes:
            window = self.read_at(position, _LOCATE_BYTES)
            with self._damage_named(position):
                skipped = skip_to(window, offset)
                if skipped + PLACE_BYTES <= len(window):
                    return position + skipped
                # The batch lies behind the window. Without this check a file that became shorter would loop for ever.
                if not skipped:
                    raise DecodeError(f"{len(window)} bytes are not a batch")
            position += skipped
        return position

    def batch_at(self, position: int) -> bytes:
        """Return the batch that begins at `position`."""
        return self.read_at(position, self._batch_bytes_at(position))

    def header_of(self, offset: Offset) -> StoredHeader:
        """Return the header of the batch that holds `offset`, which is in this segment.

        Raises:
            CorruptBatchError: the file is damaged; names file and byte.
        """
        return self.header_at(self.locate(offset))

    def header_at(self, position: int) -> StoredHeader:
        """Return the header of the batch that begins at `position`.

        Raises:
            CorruptBatchError: the file is damaged; names file and byte.
        """
        with self._damage_named(position):
            return read_stored_header(self.read_at(position, HEADER.size))

    def stored_headers(self, offset: Offset) -> Iterator[StoredHeader]:
        """Yield the headers of the batches from the one that holds `offset` on, without reading the rest of them.

        Raises:
            CorruptBatchError: while iterating; the file is damaged.
        """
        position = self.locate(offset)
        while position < self.size_bytes:
            window = self.read_at(position, _LOCATE_BYTES)
            at = 0
            while at == 0 or at + HEADER.size <= len(window):
                with self._damage_named(position + at):
                    header = read_stored_header(window, at)
                yield header
                at += header.size_bytes
            position += at

    def walk(self, position: int = 0) -> Iterator[BatchHeader]:
        """Yield the headers of the batches from `position` on, after a check of their checksums.

        Raises:
            CorruptBatchError: while iterating, at the first batch that is damaged or incomplete.
        """
        read_bytes = _WALK_BYTES
        while position < self.size_bytes:
            data = self.read_at(position, read_bytes)
            start = position
            try:
                for header in walk_headers(data):
                    yield header
                    position += header.size_bytes
            except DecodeError as error:
                raise self._damage(position, error) from error
            if position == start:
                read_bytes = self._batch_bytes_at(position)

    def find_whole_batch(self, search: BatchSearch, position: int) -> FoundBatch | None:
        """Return the first whole batch from `position` on, or None.

        Args:
            search: the search, which other segments share.
            position: where it begins.
        """
        return search.find(self.read_at, position, self.size_bytes)

    def truncate(self, end_offset: Offset) -> None:
        """Remove everything from `end_offset` on, and return when that is done on the disk.

        The truncation is flushed at once, because a crash could otherwise bring old batches back behind new ones. A
        sealed segment is open again afterwards.
        """
        position = self.indexes.position_below(end_offset)
        rest = []
        for header in self.walk(position):
            if header.base_offset >= end_offset:
                break
            rest.append(header)
            position += header.size_bytes
        assert not rest or rest[-1].end_offset == end_offset, f"{self.path}: no batch ends at offset {end_offset}"
        # The indexes come first, so no entry ever points behind the end of the segment.
        self.indexes.truncate(end_offset, rest)
        self.unseal()
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

    def unseal(self) -> None:
        """Open the `.log` file again, to append to it."""
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

    def _end_within(self, position: int, limit: int, end_offset: Offset) -> int:
        """Return the end of the last batch from `position` on that lies within both bounds; `position` if none does."""
        while position + PLACE_BYTES <= limit:
            window = self.read_at(position, min(_LOCATE_BYTES, limit - position))
            if len(window) < PLACE_BYTES:
                break  # The file became shorter.
            with self._damage_named(position):
                taken = take_until(window, 0, max_bytes=len(window), end_offset=end_offset)
                if not taken:
                    # The next batch is larger than the window, or lies outside the bounds.
                    last_offset, taken = place_at(window, 0)
                    if last_offset >= end_offset or position + taken > limit:
                        break
            position += taken
        return position

    def _batch_bytes_at(self, position: int) -> int:
        place = self.read_at(position, PLACE_BYTES)
        left_bytes = self.size_bytes - position
        with self._damage_named(position):
            _last_offset, batch_bytes = place_at(place, 0) if len(place) == PLACE_BYTES else (0, left_bytes + 1)
            if batch_bytes > left_bytes:
                raise DecodeError(f"batch is incomplete: {left_bytes} bytes are left")
            return batch_bytes

    @contextmanager
    def _damage_named(self, position: int) -> Iterator[None]:
        try:
            yield
        except DecodeError as error:
            raise self._damage(position, error) from error

    def _damage(self, position: int, error: DecodeError) -> CorruptBatchError:
        return CorruptBatchError(f"{self.path} is damaged at byte {position}: {error}")
