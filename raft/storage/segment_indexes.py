"""The three indexes of a segment and their files.

The indexes of the segment that grows are in memory, and its files grow entry by entry. A full segment only keeps its
`IndexSummary`; its indexes are read from the files when they are used, and released when others were used since.

If the disk has no room for an entry, the batches go on, and the files are written again later: with a later entry, or
at the latest when the segment is full, which waits for room (LOG-27).

Source: Kafka LogSegment.append, truncateTo, onBecomeInactiveSegment.
"""

from __future__ import annotations

import logging
from collections.abc import Collection, Iterator
from typing import NamedTuple

from crc32c import crc32c

from raft.errors import CorruptBatchError, DecodeError, DiskFullError
from raft.storage.aborted_index import AbortedIndex
from raft.storage.files import File, Files
from raft.storage.grown_file import made_equal
from raft.storage.index import OffsetIndex, TimeIndex
from raft.storage.loaded_indexes import LoadedIndexes
from raft.storage.segment_summary import IndexSummary
from raft.types import BatchHeader, Offset

_logger = logging.getLogger(__name__)

INDEX_INTERVAL_BYTES = 4096
"""Bytes of batches between two entries: Kafka's index.interval.bytes."""


class _Tables(NamedTuple):
    offsets: OffsetIndex
    times: TimeIndex
    aborted: AbortedIndex


class _OpenFiles(NamedTuple):
    offsets: File
    times: File


class SegmentIndexes:
    """The indexes of one segment.

    Before `attach` they are in memory only: opening a log builds them from the batches first and then writes the files.

    Args:
        files: where the files are.
        offset_index_name: the `.index` file.
        time_index_name: the `.timeindex` file.
        aborted_index_name: the `.txnindex` file.
        base_offset: of the segment.
        loaded: bounds the memory of all full segments of the log.
        summary: of a full segment, whose files have the indexes; None for a segment whose indexes are built anew.
    """

    def __init__(
        self,
        files: Files,
        *,
        offset_index_name: str,
        time_index_name: str,
        aborted_index_name: str,
        base_offset: Offset,
        loaded: LoadedIndexes,
        summary: IndexSummary | None = None,
    ) -> None:
        self._files = files
        self._names = (offset_index_name, time_index_name, aborted_index_name)
        self._base_offset = base_offset
        self._loaded = loaded
        self._opened: _OpenFiles | None = None
        self._is_behind = False
        self._summary = summary
        self._tables: _Tables | None = None
        if summary is None:
            self._tables = _Tables(OffsetIndex(base_offset), TimeIndex(base_offset), self._no_aborted())
            self._transactional: tuple[Offset, Offset] | None = None
            self._largest_timestamp_ms = -1
            self._offset_of_largest = base_offset
        else:
            self._transactional = summary.transactional_range
            self._largest_timestamp_ms = summary.largest_timestamp_ms
            self._offset_of_largest = summary.offset_of_largest

    @property
    def summary(self) -> IndexSummary | None:
        """The numbers of a full segment; None while the segment grows."""
        return self._summary

    @property
    def names(self) -> tuple[str, str, str]:
        """The names of the three files."""
        return self._names

    @property
    def paths(self) -> tuple[str, ...]:
        """The paths of the three files, for messages."""
        return tuple(self._files.path_of(name) for name in self._names)

    @property
    def size_bytes(self) -> int:
        """Size of the files of a full segment; 0 while the segment grows."""
        return 0 if self._summary is None else self._summary.size_bytes

    @property
    def transactional_range(self) -> tuple[Offset, Offset] | None:
        """A range of offsets with all batches of transactions, and all their control batches; None if there is none."""
        return self._transactional

    @property
    def largest_timestamp_ms(self) -> int:
        """The largest timestamp of all records in the segment; -1 if no record has one."""
        return self._largest_timestamp_ms

    @property
    def offset_of_largest(self) -> Offset:
        """Last offset of the first batch with the largest timestamp; the base offset if no record has one."""
        return self._offset_of_largest

    @property
    def has_aborted(self) -> bool:
        """Whether the marker of an aborted transaction lies in the segment."""
        return len(self._use().aborted) > 0 if self._summary is None else self._summary.aborted_index_bytes > 0

    @property
    def aborted(self) -> AbortedIndex:
        """The aborted transactions whose marker lies in the segment."""
        return self._use().aborted

    def position_before(self, offset: Offset) -> int:
        """See `OffsetIndex.position_before`."""
        return self._use().offsets.position_before(offset)

    def position_up_to(self, position: int) -> int:
        """See `OffsetIndex.position_up_to`."""
        return self._use().offsets.position_up_to(position)

    def position_before_timestamp(self, timestamp_ms: int) -> int:
        """Return the position of an indexed batch before which no record has this timestamp or a later one.

        If a record of the segment has it, the first such batch begins at most an interval later, whatever the clocks of
        the writers did: each entry for a position comes with one for the time, unless the largest timestamp is the
        same.
        """
        offset = self._use().times.offset_reaching(timestamp_ms)
        return self.position_below(self._offset_of_largest if offset is None else offset)

    def entries_before(self, position: int) -> Iterator[tuple[Offset, int]]:
        """See `OffsetIndex.entries_before`."""
        return self._use().offsets.entries_before(position)

    def entries_behind(self, position: int) -> Iterator[tuple[Offset, int]]:
        """See `OffsetIndex.entries_behind`."""
        return self._use().offsets.entries_behind(position)

    def position_below(self, offset: Offset) -> int:
        """Return the position of the last indexed batch with only lower offsets than `offset`; 0 if there is none."""
        return self._use().offsets.position_before(Offset(offset - 1))

    def largest_before(self, end_offset: Offset) -> tuple[int, Offset] | None:
        """See `TimeIndex.largest_before`."""
        return self._use().times.largest_before(end_offset)

    def note(self, header: BatchHeader, position: int) -> None:
        """Add a batch that was written at `position`, and write the entries that are due."""
        assert self._summary is None, f"{self._names[0]} belongs to a full segment"
        self._note_timestamp(header)
        if header.is_transactional or header.control_value is not None:
            start_offset = header.base_offset if self._transactional is None else self._transactional[0]
            self._transactional = (start_offset, header.end_offset)
        tables = self._use()
        if position - tables.offsets.last_position > INDEX_INTERVAL_BYTES:
            offset_entry = tables.offsets.append(header.last_offset, position)
            time_entry = tables.times.append(self._largest_timestamp_ms, self._offset_of_largest)
            if self._opened is not None:
                try:
                    self._opened.offsets.append(offset_entry)
                    if time_entry:
                        self._opened.times.append(time_entry)
                except DiskFullError as error:
                    self._fall_behind(error)
            elif self._is_behind:
                self._try_attach()

    def attach(self) -> None:
        """Write the indexes to their files, and keep these open for more entries. Does nothing if they are open.

        Raises:
            DiskFullError: the disk has no room; the call may be repeated.
        """
        tables = self._use()
        if self._opened is None:
            offsets = made_equal(self._files, self._names[0], tables.offsets.to_bytes())
            try:
                times = made_equal(self._files, self._names[1], tables.times.to_bytes())
            except DiskFullError:
                offsets.close()
                raise
            self._opened = _OpenFiles(offsets, times)
        tables.aborted.attach()
        self._is_behind = False

    def seal(self) -> None:
        """Add the largest timestamp, so that the time index covers the whole segment, and close the files.

        Raises:
            DiskFullError: the disk has no room; the call may be repeated.
        """
        tables = self._use()
        entry = tables.times.append(self._largest_timestamp_ms, self._offset_of_largest)
        if entry and self._opened is not None:
            try:
                self._opened.times.append(entry)
            except DiskFullError as error:
                self._fall_behind(error)
                raise
        self.attach()
        contents = _contents(tables)
        self.close()
        self._summary = IndexSummary(
            offset_index_bytes=len(contents[0]),
            time_index_bytes=len(contents[1]),
            aborted_index_bytes=len(contents[2]),
            checksum=crc32c(b"".join(contents)),
            largest_timestamp_ms=self._largest_timestamp_ms,
            offset_of_largest=self._offset_of_largest,
            transactional_range=self._transactional,
        )
        self._loaded.used(self)

    def unseal(self) -> None:
        """Open the files of a full segment again, because it grows again or is truncated."""
        if self._summary is not None:
            self._use()
            self._summary = None
            self._loaded.forget(self)
            self._try_attach()

    def truncate(self, end_offset: Offset, rest: list[BatchHeader]) -> None:
        """Remove the entries of `end_offset` and later offsets.

        Args:
            end_offset: the new end of the segment, which grows.
            rest: headers of the batches from the last indexed one up to the end.
        """
        tables = self._use()
        for table in tables:
            table.truncate(end_offset)
        if self._transactional is not None:
            start_offset, last = self._transactional
            self._transactional = (start_offset, min(last, end_offset)) if start_offset < end_offset else None
        self._largest_timestamp_ms, self._offset_of_largest = tables.times.last_entry
        for header in rest:
            self._note_timestamp(header)
        self.close()
        self._try_attach()

    def expected_files(
        self, *, is_last: bool, more_times: Collection[tuple[int, Offset]]
    ) -> dict[str, tuple[bytes | None, ...]]:
        """Return what each file may contain, by its name; None if it need not exist.

        Args:
            is_last: whether the segment is the last one. The time index of one that grew until a crash lacks the last
                entry of a full one.
            more_times: entries that the time index may have too: `seal` has added one at each stop.
        """
        tables = self._use()
        times = TimeIndex(self._base_offset)
        for entry in sorted({*tables.times.entries, *more_times}):
            times.append(*entry)
        growing = times.to_bytes()
        times.append(self._largest_timestamp_ms, self._offset_of_largest)
        full = times.to_bytes()
        aborted = tables.aborted.to_bytes()
        return {
            self._names[0]: (tables.offsets.to_bytes(),),
            self._names[1]: (full, *([growing] if is_last else [])),
            self._names[2]: (aborted or None,),
        }

    def check(self) -> None:
        """Read the indexes of a full segment from the disk.

        Raises:
            CorruptBatchError: one is damaged.
        """
        if self._summary is not None:
            self._read(self._summary)

    def release(self) -> None:
        """Free the memory of the indexes of a full segment."""
        assert self._summary is not None, f"{self._names[0]} grows"
        self._tables = None

    def close(self) -> None:
        """Close the files."""
        self._close_opened()
        if self._tables is not None:
            self._tables.aborted.close()

    def remove(self) -> None:
        """Close and remove the files."""
        self.close()
        self._loaded.forget(self)
        for name in self._names:
            self._files.remove(name)

    def _use(self) -> _Tables:
        if self._summary is not None:
            if self._tables is None:
                self._tables = self._read(self._summary)
            self._loaded.used(self)
        assert self._tables is not None, "the indexes of a segment that grows are in memory"
        return self._tables

    def _read(self, summary: IndexSummary) -> _Tables:
        """Read the indexes of a full segment.

        Raises:
            CorruptBatchError: a file is damaged. It is removed, so that the next start builds the indexes again.
        """
        try:
            # One that was found damaged before is gone, and an empty one is as wrong.
            offsets = self._files.read(self._names[0]) if self._files.exists(self._names[0]) else b""
            tables = _Tables(
                OffsetIndex.from_bytes(offsets, self._base_offset),
                TimeIndex.from_bytes(self._files.read(self._names[1]), self._base_offset),
                AbortedIndex.read(self._files, self._names[2]),
            )
            _check(tables, summary)
        except DecodeError as error:
            self._files.remove(self._names[0])
            path = self._files.path_of(self._names[0])
            raise CorruptBatchError(
                f"an index of the segment is damaged, {path}: {error}; start the node again, and it makes the indexes "
                "of this segment again from its batches",
                path=path,
            ) from error
        return tables

    def _try_attach(self) -> None:
        try:
            self.attach()
        except DiskFullError as error:
            self._fall_behind(error)

    def _fall_behind(self, error: DiskFullError) -> None:
        """Close the files, which lack entries now: `attach` writes them again."""
        if not self._is_behind:
            _logger.warning("%s; the index of the segment is written when there is room", error)
        self._is_behind = True
        self._close_opened()

    def _close_opened(self) -> None:
        if self._opened is not None:
            for file in self._opened:
                file.close()
            self._opened = None

    def _no_aborted(self) -> AbortedIndex:
        return AbortedIndex(self._files, self._names[2])

    def _note_timestamp(self, header: BatchHeader) -> None:
        if header.max_timestamp_ms > self._largest_timestamp_ms:
            self._largest_timestamp_ms = header.max_timestamp_ms
            self._offset_of_largest = header.last_offset


def _check(tables: _Tables, summary: IndexSummary) -> None:
    if crc32c(b"".join(_contents(tables))) != summary.checksum:
        raise DecodeError("the checksum is wrong")


def _contents(tables: _Tables) -> tuple[bytes, bytes, bytes]:
    return tables.offsets.to_bytes(), tables.times.to_bytes(), tables.aborted.to_bytes()
