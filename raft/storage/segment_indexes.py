"""The three indexes of a segment and their files, which grow entry by entry.

Source: Kafka LogSegment.append, truncateTo, onBecomeInactiveSegment.
"""

from __future__ import annotations

from raft.storage.aborted_index import AbortedIndex
from raft.storage.files import File, Files
from raft.storage.index import OffsetIndex, TimeIndex
from raft.types import BatchHeader, Offset

INDEX_INTERVAL_BYTES = 4096
"""Bytes of batches between two entries: Kafka's index.interval.bytes."""


class SegmentIndexes:
    """The indexes of one segment.

    Before `attach` they are in memory only: opening a log builds them from the batches first and then writes the files.

    Args:
        files: where the files are.
        offset_index_name: the `.index` file.
        time_index_name: the `.timeindex` file.
        aborted_index_name: the `.txnindex` file.
        base_offset: of the segment.
    """

    def __init__(
        self,
        files: Files,
        *,
        offset_index_name: str,
        time_index_name: str,
        aborted_index_name: str,
        base_offset: Offset,
    ) -> None:
        self._files = files
        self._names = (offset_index_name, time_index_name)
        self.aborted = AbortedIndex(files, aborted_index_name)
        self._transactional: tuple[Offset, Offset] | None = None
        self._opened: tuple[File, File] | None = None
        self._offsets = OffsetIndex(base_offset)
        self._times = TimeIndex(base_offset)
        self._largest_timestamp_ms = -1
        self._offset_of_largest = base_offset

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

    def position_before(self, offset: Offset) -> int:
        """See `OffsetIndex.position_before`."""
        return self._offsets.position_before(offset)

    def position_up_to(self, position: int) -> int:
        """See `OffsetIndex.position_up_to`."""
        return self._offsets.position_up_to(position)

    def position_before_timestamp(self, timestamp_ms: int) -> int:
        """Return the position of an indexed batch before which no record has this timestamp or a later one.

        If a record of the segment has it, the first such batch begins at most an interval later, whatever the clocks of
        the writers did: each entry for a position comes with one for the time, unless the largest timestamp is the
        same.
        """
        offset = self._times.offset_reaching(timestamp_ms)
        return self.position_below(self._offset_of_largest if offset is None else offset)

    def position_below(self, offset: Offset) -> int:
        """Return the position of the last indexed batch with only lower offsets than `offset`; 0 if there is none."""
        return self._offsets.position_before(Offset(offset - 1))

    def largest_before(self, end_offset: Offset) -> tuple[int, Offset] | None:
        """See `TimeIndex.largest_before`."""
        return self._times.largest_before(end_offset)

    def note(self, header: BatchHeader, position: int) -> None:
        """Add a batch that was written at `position`, and write the entries that are due."""
        self._note_timestamp(header)
        if header.is_transactional or header.control_value is not None:
            start_offset = header.base_offset if self._transactional is None else self._transactional[0]
            self._transactional = (start_offset, header.end_offset)
        if position - self._offsets.last_position > INDEX_INTERVAL_BYTES:
            offset_entry = self._offsets.append(header.last_offset, position)
            time_entry = self._times.append(self._largest_timestamp_ms, self._offset_of_largest)
            if self._opened is not None:
                offset_index, time_index = self._opened
                offset_index.append(offset_entry)
                if time_entry:
                    time_index.append(time_entry)

    def attach(self) -> None:
        """Write the indexes to their files, and keep these open for more entries. Does nothing if they are open."""
        if self._opened is not None:
            return
        contents = (self._offsets.to_bytes(), self._times.to_bytes())
        offset_index, time_index = map(self._make_equal, self._names, contents)
        self._opened = (offset_index, time_index)
        self.aborted.attach()

    def seal(self) -> None:
        """Add the largest timestamp, so that the time index covers the whole segment, and close the files."""
        entry = self._times.append(self._largest_timestamp_ms, self._offset_of_largest)
        if self._opened is not None:
            offset_index, time_index = self._opened
            if entry:
                time_index.append(entry)
            self._opened = None
            offset_index.close()
            time_index.close()
            self.aborted.close()

    def truncate(self, end_offset: Offset, rest: list[BatchHeader]) -> None:
        """Remove the entries of `end_offset` and later offsets, and open the files again if they were sealed.

        Args:
            end_offset: the new end of the segment.
            rest: headers of the batches from the last indexed one up to the end.
        """
        self._offsets.truncate(end_offset)
        self._times.truncate(end_offset)
        self.aborted.truncate(end_offset)
        if self._transactional is not None:
            start_offset, last = self._transactional
            self._transactional = (start_offset, min(last, end_offset)) if start_offset < end_offset else None
        self._largest_timestamp_ms, self._offset_of_largest = self._times.last_entry
        for header in rest:
            self._note_timestamp(header)
        self.close()
        self.attach()

    def close(self) -> None:
        """Close the files."""
        if self._opened is not None:
            for file in self._opened:
                file.close()
            self._opened = None
        self.aborted.close()

    def remove(self) -> None:
        """Close and remove the files."""
        self.close()
        for name in self._names:
            self._files.remove(name)
        self.aborted.remove()

    def _note_timestamp(self, header: BatchHeader) -> None:
        if header.max_timestamp_ms > self._largest_timestamp_ms:
            self._largest_timestamp_ms = header.max_timestamp_ms
            self._offset_of_largest = header.last_offset

    def _make_equal(self, name: str, content: bytes) -> File:
        if self._files.exists(name):
            file = self._files.open(name)
            if file.size_bytes == len(content) and file.read(0, len(content)) == content:
                return file
            file.close()
        file = self._files.create(name)
        if content:
            file.append(content)
        return file
