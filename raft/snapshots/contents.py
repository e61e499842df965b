"""Reads a snapshot, and checks it on the way: nothing may be taken from a torn or damaged one."""

from __future__ import annotations

from dataclasses import dataclass, replace

from raft.errors import DecodeError
from raft.records.batches import read_batches
from raft.records.control import read_control_records
from raft.records.control_messages import SnapshotHeaderRecord
from raft.records.header_fields import HEADER, batch_size_bytes
from raft.snapshots.offset_index import SnapshotIndex
from raft.snapshots.state_batches import NO_STATE, read_state
from raft.transactions import SnapshotSummary
from raft.types import Batch, BatchHeader, ControlType, LoggedVoters, Offset, OffsetAndEpoch

_FOOTER = (ControlType.SNAPSHOT_FOOTER,)


@dataclass(frozen=True, slots=True, kw_only=True)
class SnapshotContents:
    """What a snapshot holds.

    Fields:
        summary: the state of the log at its end.
        index: of its records; of those of a snapshot of Kafka there is none, because they have other offsets there.
        size_bytes: size of the file.
    """

    summary: SnapshotSummary
    index: SnapshotIndex
    size_bytes: int


class SnapshotScan:
    """Takes the bytes of a snapshot from its begin, piece by piece.

    Args:
        end: end offset and epoch, from its name.
    """

    def __init__(self, end: OffsetAndEpoch) -> None:
        self._end = end
        self._unread = bytearray()
        self._position = 0
        self._log_time_ms: int | None = None
        self._logged_voters: LoggedVoters | None = None
        self._state_count = NO_STATE
        self._state: list[BatchHeader] = []
        self._records: _Records | None = None
        self._has_footer = False

    @property
    def is_past_state(self) -> bool:
        """Whether the state was read, and the records or the footer follow."""
        return self._records is not None

    @property
    def position(self) -> int:
        """Where the batch begins that is read next; after an error, the one that is damaged."""
        return self._position

    def feed(self, piece: bytes) -> None:
        """Read the next bytes, which may end within a batch.

        Raises:
            DecodeError: the snapshot is damaged.
        """
        self._unread += piece
        # A batch may be larger than many pieces. It is copied once.
        size = batch_size_bytes(bytes(self._unread[: HEADER.size]))
        if size is None or size > len(self._unread):
            return
        start = self._position
        for batch in read_batches(bytes(self._unread)):
            self._add(batch)
            self._position += batch.header.size_bytes
        del self._unread[: self._position - start]

    def summary(self) -> SnapshotSummary:
        """Return the state; it was read completely.

        Raises:
            DecodeError: the state contradicts itself, or is missing.
        """
        if self._log_time_ms is None or self._records is None:
            raise DecodeError(f"snapshot of {self._position + len(self._unread)} bytes without a footer")
        state = read_state(self._end, self._log_time_ms, self._state, shows_records=self._records.have_own_offsets)
        return replace(state, logged_voters=self._logged_voters)

    def finish(self) -> SnapshotContents:
        """Return what the snapshot holds, after its last byte.

        Raises:
            DecodeError: the snapshot is torn, or contradicts itself.
        """
        if self._unread or self._records is None or not self._has_footer:
            raise DecodeError(f"snapshot of {self._position + len(self._unread)} bytes without a footer")
        return SnapshotContents(summary=self.summary(), index=self._records.index, size_bytes=self._position)

    def _add(self, batch: Batch) -> None:
        header = batch.header
        if self._log_time_ms is None:
            self._log_time_ms, self._state_count = _log_time_ms(batch), header.base_sequence
            self._logged_voters = header.logged_voters  # Kafka writes them into the batch of the header.
            return
        if self._has_footer:
            raise DecodeError(f"a batch at offset {header.base_offset} follows the footer of a snapshot")
        if len(self._state) < self._state_count:
            self._state.append(header)
            return
        if self._records is None:
            self._records = _Records(self._end, self._position, have_own_offsets=self._state_count != NO_STATE)
        if header.control_types == _FOOTER:
            self._has_footer = True
        else:
            self._records.add(batch)


class _Records:
    """The batches of records of a snapshot.

    Args:
        end: of the snapshot.
        position: of the first of them.
        have_own_offsets: whether they have the offsets that they had in the log; not in a snapshot of Kafka.
    """

    def __init__(self, end: OffsetAndEpoch, position: int, *, have_own_offsets: bool) -> None:
        self._end = end
        self.have_own_offsets = have_own_offsets
        self._next_offset = Offset(0)
        self.index = SnapshotIndex(start_position=position)

    def add(self, batch: Batch) -> None:
        header = batch.header
        if not self.have_own_offsets:
            return
        if header.base_offset < self._next_offset or header.end_offset > self._end.offset or header.is_control:
            raise DecodeError(
                f"batch at offset {header.base_offset} before offset {self._next_offset} among the records of a "
                f"snapshot that ends at {self._end}"
            )
        self._next_offset = header.end_offset
        self.index.note(header)


def _log_time_ms(first: Batch) -> int:
    """Return the log time in the header of a snapshot."""
    if first.header.is_control:
        value = read_control_records(first.payload)[0].value
        if isinstance(value, SnapshotHeaderRecord):
            return value.last_contained_log_timestamp
    raise DecodeError("snapshot without a header")
