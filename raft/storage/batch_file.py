"""A file of record batches one after the other, in the order of their offsets, with an index: how it is read.

`Segment` is a part of the log. `CompactedRecords` are the records of a snapshot, which stand before the log for its
readers. Their batches have gaps between them, because records were left out.

Source: Kafka LogSegment, FileRecords.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Container, Iterator
from contextlib import contextmanager
from typing import Protocol

from raft.epoch_cache import EpochCache
from raft.errors import CorruptBatchError, DecodeError
from raft.records.batches import read_headers
from raft.records.header_fields import HEADER, PLACE_BYTES, HeaderFields, place_at, read_fields
from raft.storage.batch_search import BatchSearch, FoundBatch
from raft.storage.segment_indexes import INDEX_INTERVAL_BYTES
from raft.storage.span_check import SpanCheck
from raft.storage.spans import skip_to, take_until
from raft.transactions import AbortedTransaction
from raft.types import BatchHeader, Offset

_READ_BYTES = 1 << 20
LOCATE_BYTES = 2 * INDEX_INTERVAL_BYTES
"""How much is read at once to find a batch after an indexed one."""


class AbortedLookup(Protocol):
    """The aborted transactions of a file; see `AbortedIndex`."""

    def overlapping(
        self, start_offset: Offset, end_offset: Offset, producer_ids: Container[int] | None = None
    ) -> tuple[list[AbortedTransaction], bool]:
        """See `AbortedIndex.overlapping`."""
        ...


class BatchIndexes(Protocol):
    """Leads to the batches of a file; see `SegmentIndexes`."""

    @property
    def has_aborted(self) -> bool:
        """See `SegmentIndexes.has_aborted`."""
        ...

    @property
    def aborted(self) -> AbortedLookup:
        """The aborted transactions."""
        ...

    @property
    def transactional_range(self) -> tuple[Offset, Offset] | None:
        """See `SegmentIndexes.transactional_range`."""
        ...

    @property
    def largest_timestamp_ms(self) -> int:
        """See `SegmentIndexes.largest_timestamp_ms`."""
        ...

    @property
    def offset_of_largest(self) -> Offset:
        """See `SegmentIndexes.offset_of_largest`."""
        ...

    def position_before(self, offset: Offset) -> int:
        """See `OffsetIndex.position_before`."""
        ...

    def position_up_to(self, position: int) -> int:
        """See `OffsetIndex.position_up_to`."""
        ...

    def position_below(self, offset: Offset) -> int:
        """See `SegmentIndexes.position_below`."""
        ...

    def position_before_timestamp(self, timestamp_ms: int) -> int:
        """See `SegmentIndexes.position_before_timestamp`."""
        ...

    def largest_before(self, end_offset: Offset) -> tuple[int, Offset] | None:
        """See `TimeIndex.largest_before`."""
        ...


class BatchFile(ABC):
    """Finds and reads the batches of one file.

    Attributes:
        base_offset: the first offset that it may hold.
        start_position: of its first batch.
    """

    base_offset: Offset
    start_position = 0

    @property
    @abstractmethod
    def indexes(self) -> BatchIndexes:
        """The indexes."""

    @property
    @abstractmethod
    def path(self) -> str:
        """Path of the file, for messages."""

    @property
    @abstractmethod
    def size_bytes(self) -> int:
        """The end of the last batch."""

    @abstractmethod
    def read_at(self, position: int, size_bytes: int) -> bytes:
        """Return `size_bytes` bytes from `position` on; fewer only at the end of the file."""

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
        if start == self.size_bytes:
            return range(start, start)
        limit = min(start + max(max_bytes, self._batch_bytes_at(start)), self.size_bytes)
        # All batches before an indexed batch that begins within both bounds lie within them too.
        known = min(self.indexes.position_up_to(limit), self.indexes.position_before(end_offset))
        return range(start, self._end_within(max(start, known), limit, end_offset))

    def pieces(self, span: range, *, piece_bytes: int, epochs: EpochCache) -> Iterator[bytes]:
        """Yield the bytes of batches in pieces, each after a check of the batches that end in it (LOG-30).

        Args:
            span: see `span`.
            piece_bytes: most bytes of a piece, which may end within a batch.
            epochs: the epoch cache of the log.

        Raises:
            CorruptBatchError: while iterating; a batch is damaged. Names file and byte.
        """
        check = self.span_check(span.start, epochs)
        for position in span[::piece_bytes]:
            piece = self.read_at(position, min(piece_bytes, span.stop - position))
            try:
                check.feed(piece)
                if position + piece_bytes >= span.stop:
                    check.finish()
            except DecodeError as error:
                raise self._damage(span.start + check.checked_bytes, error) from error
            yield piece

    @abstractmethod
    def span_check(self, position: int, epochs: EpochCache) -> SpanCheck:
        """Return the check of batches from `position` on.

        Args:
            position: of a batch.
            epochs: the epoch cache of the log.
        """

    def locate(self, offset: Offset) -> int:
        """Return the position of the batch that holds `offset`; the size of the segment if no batch does."""
        position = self.indexes.position_before(offset)
        while position < self.size_bytes:
            window = self.read_at(position, LOCATE_BYTES)
            with self._damage_named(position):
                skipped = skip_to(window, offset)
                if skipped + PLACE_BYTES <= len(window):
                    return position + skipped
                # The batch lies after the window. Without this check a file that became shorter would loop for ever.
                if not skipped:
                    raise DecodeError(f"{len(window)} bytes are not a batch")
            position += skipped
        return position

    def batch_at(self, position: int) -> bytes:
        """Return the batch that begins at `position`."""
        return self.read_at(position, self._batch_bytes_at(position))

    def header_of(self, offset: Offset) -> HeaderFields:
        """Return the header of the batch that holds `offset`, which is in this segment, after a check of the batch.

        Raises:
            CorruptBatchError: the file is damaged; names file and byte.
        """
        return read_fields(self.checked_batch_at(self.locate(offset)))

    def checked_batch_at(self, position: int) -> bytes:
        """Return the batch that begins at `position`, after a check of its checksum and its offsets.

        Raises:
            CorruptBatchError: it is damaged; names file and byte.
        """
        check, batch = self.span_check(position, EpochCache()), self.batch_at(position)
        with self._damage_named(position):
            check.feed(batch)
            check.finish()
        return batch

    def header_at(self, position: int) -> HeaderFields:
        """Return the header of the batch that begins at `position`.

        Raises:
            CorruptBatchError: the file is damaged; names file and byte.
        """
        with self._damage_named(position):
            return read_fields(self.read_at(position, HEADER.size))

    def stored_headers(self, offset: Offset) -> Iterator[HeaderFields]:
        """Yield the headers of the batches from the one that holds `offset` on, without reading the rest of them.

        Their offsets are checked, but nothing that only the checksum covers.

        Raises:
            CorruptBatchError: while iterating; the file is damaged.
        """
        position = self.locate(offset)
        check = self.span_check(position, EpochCache())
        while position < self.size_bytes:
            window = self.read_at(position, LOCATE_BYTES)
            at = 0
            while at == 0 or at + HEADER.size <= len(window):
                with self._damage_named(position + at):
                    header = read_fields(window, at)
                    check.check_place(header.base_offset, header.end_offset - 1, header.epoch)
                yield header
                at += header.size_bytes
            position += at

    def headers_from(self, position: int | None = None, *, read_bytes: int = _READ_BYTES) -> Iterator[BatchHeader]:
        """Yield the headers of the batches from `position` on, after a check of their checksums.

        Args:
            position: where to begin; None for the first batch.
            read_bytes: how much is read from the disk at once; more for a larger batch.

        Raises:
            CorruptBatchError: while iterating, at the first batch that is damaged or incomplete.
        """
        position = self.start_position if position is None else position
        while position < self.size_bytes:
            data = self.read_at(position, read_bytes)
            start = position
            try:
                for header in read_headers(data):
                    yield header
                    position += header.size_bytes
            except DecodeError as error:
                raise self._damage(position, error) from error
            if position == start:
                read_bytes = self._batch_bytes_at(position)

    def checked_headers_from(self, position: int, epochs: EpochCache) -> Iterator[BatchHeader]:
        """Yield what `headers_from` yields, after a check of offsets and epochs too, which no checksum covers.

        Args:
            position: of a batch.
            epochs: the epoch cache of the log.

        Raises:
            CorruptBatchError: while iterating; the file is damaged.
        """
        check = self.span_check(position, epochs)
        for header in self.headers_from(position):
            with self._damage_named(position):
                check.check_place(header.base_offset, header.last_offset, header.epoch)
            yield header
            position += header.size_bytes

    def find_whole_batch(self, search: BatchSearch, position: int) -> FoundBatch | None:
        """Return the first whole batch from `position` on, or None.

        Args:
            search: the search, which other segments share.
            position: where it begins.
        """
        return search.find(self.read_at, position, self.size_bytes)

    def _end_within(self, position: int, limit: int, end_offset: Offset) -> int:
        """Return the end of the last batch from `position` on that lies within both bounds; `position` if none does."""
        while position + PLACE_BYTES <= limit:
            window = self.read_at(position, min(LOCATE_BYTES, limit - position))
            if len(window) < PLACE_BYTES:
                break  # The file became shorter.
            with self._damage_named(position):
                taken = take_until(window, 0, max_bytes=len(window), end_offset=end_offset)
                if not taken:
                    # The next batch is larger than the window, or lies outside the bounds.
                    _base_offset, last_offset, taken = place_at(window, 0)
                    if last_offset >= end_offset or position + taken > limit:
                        break
            position += taken
        return position

    def _batch_bytes_at(self, position: int) -> int:
        place = self.read_at(position, PLACE_BYTES)
        left_bytes = self.size_bytes - position
        with self._damage_named(position):
            batch_bytes = place_at(place, 0)[2] if len(place) == PLACE_BYTES else left_bytes + 1
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
        return CorruptBatchError(
            f"{self.path} is damaged at byte {position}: {error}", path=self.path, position=position
        )
