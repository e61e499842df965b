"""What a log holds, read from the files of a node: its writes in their order, and its aborted parts."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from raft.records.batch import read_records
from raft.types import FIRST_KEYED_PRODUCER_ID, Batch, BatchHeader, ControlType, WriteCommit
from raft.writers import WriteId
from tests.workload.history import LoggedValue

Rows = list[LoggedValue]


@dataclass(frozen=True, slots=True, kw_only=True)
class LoggedWrite:
    """A committed write.

    Fields:
        key: writer and version.
        parts: the rows of each part; those of a write in one batch are one part.
        is_multipart: whether it was committed by WRITE_COMMIT.
    """

    key: WriteId
    parts: Sequence[Rows]
    is_multipart: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class LoggedWrites:
    """The writes of a log.

    Fields:
        writes: in the order in which they were committed.
        aborted_parts, aborted_rows: parts that no write has.
        complaints: what cannot be in a log.
    """

    writes: Sequence[LoggedWrite]
    aborted_parts: int
    aborted_rows: int
    complaints: Sequence[str]

    @classmethod
    def of(cls, batches: Iterable[Batch]) -> LoggedWrites:
        """Read the log."""
        reading = _Reading()
        for batch in batches:
            reading.add(batch)
        reading.complaints += [f"part {producer_id} is neither committed nor aborted" for producer_id in reading.open]
        return cls(
            writes=reading.writes,
            aborted_parts=reading.aborted_parts,
            aborted_rows=reading.aborted_rows,
            complaints=reading.complaints,
        )

    @property
    def rows(self) -> Rows:
        """Its committed rows, in the order of their offsets."""
        return sorted(row for write in self.writes for part in write.parts for row in part)

    @property
    def multipart_writes(self) -> int:
        """How many writes were appended in parts."""
        return sum(write.is_multipart for write in self.writes)

    @property
    def single_batches(self) -> int:
        """How many writes were appended as one batch."""
        return len(self.writes) - self.multipart_writes


class _Reading:
    def __init__(self) -> None:
        self.writes: list[LoggedWrite] = []
        self.open: dict[int, Rows] = {}
        self.committed: set[int] = set()
        self.aborted_parts = 0
        self.aborted_rows = 0
        self.complaints: list[str] = []

    def add(self, batch: Batch) -> None:
        header = batch.header
        producer_id = header.producer_id
        if producer_id is None:
            if not header.is_control:
                self.complaints.append(f"the batch at {header.base_offset} has no key")
        elif isinstance(header.control_value, WriteCommit):
            self._commit(header, header.control_value)
        elif header.is_control:
            self._end(producer_id, header)
        elif header.is_transactional:
            self.open.setdefault(producer_id, []).extend(_rows(batch))
        elif producer_id >= FIRST_KEYED_PRODUCER_ID:
            self.writes.append(LoggedWrite(key=WriteId.of(header), parts=[_rows(batch)], is_multipart=False))
        else:
            self.complaints.append(f"the batch at {header.base_offset} has no key")

    def _commit(self, header: BatchHeader, commit: WriteCommit) -> None:
        parts = []
        for part in commit.parts:
            rows = self.open.get(part.producer_id, [])
            if len(rows) != part.record_count:
                self.complaints.append(
                    f"WRITE_COMMIT at {header.base_offset} names {part.record_count} rows, and the log has {len(rows)}"
                )
            parts.append(rows)
            self.committed.add(part.producer_id)
        self.writes.append(LoggedWrite(key=WriteId.of(header), parts=parts, is_multipart=True))

    def _end(self, producer_id: int, header: BatchHeader) -> None:
        rows = self.open.pop(producer_id, [])
        if header.control_types[0] == ControlType.ABORT:
            self.aborted_parts += 1
            self.aborted_rows += len(rows)
        is_committed = producer_id in self.committed
        self.committed.discard(producer_id)
        if is_committed != (header.control_types[0] == ControlType.COMMIT):
            self.complaints.append(f"the marker at {header.base_offset} contradicts the commits before it")


def _rows(batch: Batch) -> Rows:
    return [(record.offset, record.value or b"") for record in read_records(batch.payload)]
