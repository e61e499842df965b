"""What readers of committed transactions may see of a log, by Kafka's protocol and the bytes of the batches alone.

Nothing of `raft.transactions` is used here, because its work is what the checks of a run are about.

    COMMIT, ABORT    a control batch with the transactional bit; types 1 and 0. It ends the transaction of the producer
                     id in its header
    WRITE_COMMIT     type 1000, of this project: int16 version, int32 number of parts, and for each part int64
                     producer id, int64 record count, uint64 checksum. These transactions end together

Source: KIP-98; rules TXN-1, TXN-2, TXN-6.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from raft.records.batch import read_records
from raft.records.record import Record
from raft.types import Batch, Offset
from tests.workload.history import LoggedValue

_ATTRIBUTES = struct.Struct(">h")
_ATTRIBUTES_AT = 21
_PRODUCER_ID = struct.Struct(">q")
_PRODUCER_ID_AT = 43
_TRANSACTIONAL, _CONTROL = 0x10, 0x20
_KEY = struct.Struct(">hh")
_ABORT, _COMMIT, _WRITE_COMMIT = 0, 1, 1000
_COMMIT_BEGIN = struct.Struct(">hi")
_PART = struct.Struct(">qqQ")


@dataclass(slots=True, eq=False)
class LoggedTransaction:
    """A transaction in a log.

    Fields:
        producer_id: of its batches.
        records: its records.
        is_committed: whether it ended with a COMMIT marker.
        end_offset: one past the marker with which readers go on: its own, or the last one of its write. None without.
        is_part: whether a WRITE_COMMIT names it.
    """

    producer_id: int
    records: list[LoggedValue] = field(default_factory=list)
    is_committed: bool = False
    end_offset: Offset | None = None
    is_part: bool = False

    @property
    def first_offset(self) -> Offset:
        """Offset of its first record."""
        return self.records[0][0]


@dataclass(slots=True, kw_only=True)
class VisibleLog:
    """A log as readers of committed transactions see it.

    Fields:
        records: the data records without a transaction, or of a committed one, in order.
        transactions: all of them, in the order in which they ended; open ones come last.
        complaints: what no leader may have written.
    """

    records: Sequence[LoggedValue]
    transactions: Sequence[LoggedTransaction]
    complaints: Sequence[str]

    @classmethod
    def of(cls, batches: Iterable[Batch]) -> VisibleLog:
        """Read a whole log."""
        reading = _Reading()
        for batch in batches:
            reading.add(batch.payload)
        return reading.result()


@dataclass(slots=True, eq=False)
class _Write:
    """A multipart write: its parts, and the producer ids of those without a marker."""

    parts: list[LoggedTransaction]
    missing: set[int]


class _Reading:
    def __init__(self) -> None:
        self._visible: list[LoggedValue] = []
        self._open: dict[int, LoggedTransaction] = {}
        self._ended: list[LoggedTransaction] = []
        self._writes: dict[int, _Write] = {}
        self._complaints: list[str] = []

    def add(self, payload: bytes) -> None:
        (attributes,) = _ATTRIBUTES.unpack_from(payload, _ATTRIBUTES_AT)
        (producer_id,) = _PRODUCER_ID.unpack_from(payload, _PRODUCER_ID_AT)
        if attributes & _CONTROL:
            for record in read_records(payload):
                self._control(record, producer_id, is_transactional=bool(attributes & _TRANSACTIONAL))
            return
        values = [(record.offset, record.value or b"") for record in read_records(payload)]
        if attributes & _TRANSACTIONAL:
            self._open.setdefault(producer_id, LoggedTransaction(producer_id)).records += values
        else:
            self._visible += values

    def result(self) -> VisibleLog:
        for transaction in self._ended:
            if transaction.is_committed:
                self._visible += transaction.records
        for write in self._writes.values():
            self._complaints.append(f"WRITE_COMMIT without markers for the parts {sorted(write.missing)}")
        return VisibleLog(
            records=sorted(self._visible),
            transactions=[*self._ended, *self._open.values()],
            complaints=self._complaints,
        )

    def _control(self, record: Record, producer_id: int, *, is_transactional: bool) -> None:
        _, control_type = _KEY.unpack_from(record.key or b"")
        if control_type == _WRITE_COMMIT:
            self._begin_write(record)
        elif is_transactional and control_type in (_ABORT, _COMMIT):
            self._end(record.offset, producer_id, is_committed=control_type == _COMMIT)

    def _begin_write(self, record: Record) -> None:
        value = record.value or b""
        _, count = _COMMIT_BEGIN.unpack_from(value)
        begin = _COMMIT_BEGIN.size
        named = list(_PART.iter_unpack(value[begin : begin + count * _PART.size]))
        whole = [
            producer_id
            for producer_id, record_count, _ in named
            if producer_id in self._open and len(self._open[producer_id].records) == record_count
        ]
        if len(whole) < len(named):
            self._complaints.append(
                f"WRITE_COMMIT at {record.offset} names {len(named)} parts, of which {len(whole)} are whole"
            )
        for producer_id in whole:
            self._open[producer_id].is_part = True
        write = _Write([self._open[producer_id] for producer_id in whole], set(whole))
        self._writes.update(dict.fromkeys(whole, write))

    def _end(self, offset: Offset, producer_id: int, *, is_committed: bool) -> None:
        transaction, write = self._open.pop(producer_id, None), self._writes.pop(producer_id, None)
        if transaction is None:
            return  # a marker that only raises the producer's epoch
        transaction.is_committed, transaction.end_offset = is_committed, Offset(offset + 1)
        self._ended.append(transaction)
        if write is None:
            return
        if not is_committed:
            self._complaints.append(f"ABORT at {offset} for a part that a WRITE_COMMIT names")
        write.missing.discard(producer_id)
        for part in write.parts:
            part.end_offset = None if write.missing else Offset(offset + 1)
