"""Reads a snapshot, and checks it on the way: nothing may be taken from a torn or damaged one."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from dataclasses import dataclass

from raft.errors import DecodeError
from raft.records.batch import read_records
from raft.records.control import read_control_records
from raft.records.control_messages import SnapshotHeaderRecord
from raft.records.split import walk_batches
from raft.snapshots.offset_index import SnapshotIndex
from raft.snapshots.state import SnapshotState
from raft.snapshots.state_batches import read_state
from raft.types import Batch, BatchHeader, ControlType, Offset, OffsetAndEpoch

_READ_BYTES = 1 << 20
_FOOTER = (ControlType.SNAPSHOT_FOOTER,)
_STATE_TYPES = ((), (ControlType.TRANSACTIONAL_ID,))

Read = Callable[[int, int], bytes]
"""`read(position, size_bytes)` of a file."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SnapshotContents:
    """What a snapshot holds.

    Fields:
        state: of the log at its end.
        index: of its records; of those of a snapshot of Kafka there is none, because they have other offsets there.
        size_bytes: size of the file.
    """

    state: SnapshotState
    index: SnapshotIndex
    size_bytes: int


class SnapshotReader:
    """Reads a snapshot from its begin.

    Args:
        end: end offset and epoch, from its name.
        read: reads the file.
        size_bytes: size of the file.
    """

    def __init__(self, end: OffsetAndEpoch, read: Read, size_bytes: int) -> None:
        self._end = end
        self._read = read
        self._size_bytes = size_bytes

    def state(self) -> SnapshotState:
        """Return the state; the records are not read.

        Raises:
            DecodeError: the begin of the file is damaged.
        """
        batches = self._batches()
        log_time_ms = _log_time_ms(next(batches, None))
        headers: list[BatchHeader] = []
        for _, batch in batches:
            if not _is_state(batch.header):
                break
            headers.append(batch.header)
        return read_state(self._end, log_time_ms, headers)

    def contents(self) -> Generator[None, None, SnapshotContents]:
        """Read and check the whole file; return what it holds.

        It yields after each mebibyte or so, so that a thread can do other work.

        Raises:
            DecodeError: the file is torn or damaged.
        """
        batches = self._batches()
        log_time_ms = _log_time_ms(next(batches, None))
        headers: list[BatchHeader] = []
        records: _Records | None = None
        has_footer = False
        unread_bytes = _READ_BYTES
        for position, batch in batches:
            header = batch.header
            if has_footer:
                raise DecodeError(f"a batch at offset {header.base_offset} follows the footer of a snapshot")
            if header.control_types == _FOOTER:
                has_footer = True
                records = records or _Records(self._end, headers, position)
            elif records is None and _is_state(header):
                headers.append(header)
            else:
                records = records or _Records(self._end, headers, position)
                records.add(batch)
            unread_bytes -= header.size_bytes
            if unread_bytes <= 0:
                unread_bytes = _READ_BYTES
                yield
        if records is None or not has_footer:
            raise DecodeError(f"snapshot of {self._size_bytes} bytes without a footer")
        state = read_state(self._end, log_time_ms, headers)
        return SnapshotContents(state=state, index=records.index, size_bytes=self._size_bytes)

    def _batches(self) -> Iterator[tuple[int, Batch]]:
        """Yield the position of each batch, and the batch."""
        position, read_bytes = 0, _READ_BYTES
        while position < self._size_bytes:
            start = position
            for batch in walk_batches(self._read(position, read_bytes)):
                yield position, batch
                position += batch.header.size_bytes
            if position == start:
                if read_bytes >= self._size_bytes - position:
                    raise DecodeError(f"snapshot of {self._size_bytes} bytes is torn at byte {position}")
                read_bytes *= 4


class _Records:
    """The batches of records of a snapshot.

    Args:
        end: of the snapshot.
        state: the headers of the batches before.
        position: of the first of them.
    """

    def __init__(self, end: OffsetAndEpoch, state: list[BatchHeader], position: int) -> None:
        self._end = end
        # Only this project's snapshots name epochs. The records of a snapshot of Kafka have other offsets there.
        self._have_own_offsets = any(_is_epoch(header) for header in state)
        self._next_offset = Offset(0)
        self.index = SnapshotIndex(start_position=position, first_offset=end.offset)

    def add(self, batch: Batch) -> None:
        header = batch.header
        if not self._have_own_offsets:
            return
        if header.base_offset < self._next_offset or header.end_offset > self._end.offset or header.is_control:
            raise DecodeError(
                f"batch at offset {header.base_offset} before offset {self._next_offset} among the records of a "
                f"snapshot that ends at {self._end}"
            )
        self._next_offset = header.end_offset
        if self.index.is_empty:
            self.index.first_offset = next(read_records(batch.payload)).offset
        self.index.note(header)


def _log_time_ms(first: tuple[int, Batch] | None) -> int:
    """Return the log time in the header of a snapshot."""
    if first is not None and first[1].header.is_control:
        value = read_control_records(first[1].payload)[0].value
        if isinstance(value, SnapshotHeaderRecord):
            return value.last_contained_log_timestamp
    raise DecodeError("snapshot without a header")


def _is_state(header: BatchHeader) -> bool:
    return header.control_types in _STATE_TYPES and (header.is_control or not header.record_count)


def _is_epoch(header: BatchHeader) -> bool:
    return not header.is_control and header.producer_id is None
