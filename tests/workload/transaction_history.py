"""Transactions by the bytes of a log alone: the reference for what nodes, clients and readers derive in other ways.

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
from functools import lru_cache
from typing import Protocol

from raft.records.batch import read_records
from raft.records.record import Record
from raft.types import Offset
from tests.workload.history import LoggedValue

_ATTRIBUTES = struct.Struct(">h")
_ATTRIBUTES_AT = 21
_PRODUCER = struct.Struct(">qh")
_PRODUCER_AT = 43
_TRANSACTIONAL, _CONTROL = 0x10, 0x20
_KEY = struct.Struct(">hh")
_ABORT, _COMMIT, _WRITE_COMMIT = 0, 1, 1000
_COMMIT_BEGIN = struct.Struct(">hi")
_PART = struct.Struct(">qqQ")
_REMEMBERED_BATCHES = 1 << 12


class StoredBatch(Protocol):
    """A batch of a log, as it is in a file."""

    @property
    def payload(self) -> bytes:
        """Its bytes, with the offset that it has in the log."""


@dataclass(slots=True, eq=False)
class MultipartWrite:
    """What a WRITE_COMMIT names.

    Fields:
        offset: of the WRITE_COMMIT.
        parts: the transactions that it names, of those that were open.
        missing: the producer ids of the parts without a marker.
    """

    offset: Offset
    parts: Sequence[LoggedTransaction] = ()
    missing: set[int] = field(default_factory=set)


@dataclass(slots=True, eq=False)
class LoggedTransaction:
    """A transaction in a log.

    Fields:
        producer_id: of its batches.
        records: its records.
        producer_epoch: of its last batch.
        is_committed: whether it ended with a COMMIT marker.
        marker_end_offset: one past its own marker; None while it is open.
        end_offset: one past the marker with which readers go on: its own, or the last one of its write. None without.
        write: the write whose WRITE_COMMIT names it; None for none.
    """

    producer_id: int
    records: list[LoggedValue] = field(default_factory=list)
    producer_epoch: int = 0
    is_committed: bool = False
    marker_end_offset: Offset | None = None
    end_offset: Offset | None = None
    write: MultipartWrite | None = None

    @property
    def first_offset(self) -> Offset:
        """Offset of its first record."""
        return self.records[0][0]

    @property
    def values(self) -> list[bytes]:
        """The values of its records."""
        return [value for _, value in self.records]

    @property
    def is_part(self) -> bool:
        """Whether a WRITE_COMMIT names it."""
        return self.write is not None


class TransactionHistory:
    """The transactions of a log, batch by batch.

    Args:
        batches: the first ones.

    Attributes:
        transactions: in the order in which they began.
        ended: in the order in which they ended.
        open: those without a marker, by producer id.
        complaints: what no leader may have written.
    """

    def __init__(self, batches: Iterable[StoredBatch] = ()) -> None:
        self.transactions: list[LoggedTransaction] = []
        self.ended: list[LoggedTransaction] = []
        self.open: dict[int, LoggedTransaction] = {}
        self.complaints: list[str] = []
        self._writes: list[MultipartWrite] = []
        for batch in batches:
            self.add(batch)

    def add(self, batch: StoredBatch) -> LoggedTransaction | None:
        """Count a batch; return the transaction that it ends, if it does."""
        (attributes,) = _ATTRIBUTES.unpack_from(batch.payload, _ATTRIBUTES_AT)
        producer_id, producer_epoch = _PRODUCER.unpack_from(batch.payload, _PRODUCER_AT)
        if attributes & _CONTROL:
            is_transactional = bool(attributes & _TRANSACTIONAL)
            ends = [self._control(record, producer_id, is_transactional) for record in _read(batch.payload)]
            return next((ended for ended in ends if ended is not None), None)
        if attributes & _TRANSACTIONAL:
            transaction = self.open.get(producer_id)
            if transaction is None:
                transaction = self.open[producer_id] = LoggedTransaction(producer_id)
                self.transactions.append(transaction)
            transaction.producer_epoch = producer_epoch
            transaction.records += _values_of(batch.payload)
        return None

    @property
    def unfinished_writes(self) -> list[MultipartWrite]:
        """The writes of which a part has no marker."""
        return [write for write in self._writes if write.missing]

    @property
    def whole_writes(self) -> list[tuple[Offset, Offset]]:
        """First offset and end of each multipart write whose last marker is in the log."""
        return [
            (min(part.first_offset for part in write.parts), write.parts[0].end_offset or Offset(0))
            for write in self._writes
            if write.parts and not write.missing
        ]

    def last_stable_offset(self, end_offset: Offset) -> Offset:
        """Return the last stable offset of a log that ends at `end_offset`, all of it committed."""
        stable, writes = self.kafkas_stable_offset(end_offset), self.whole_writes
        while within := [first for first, end in writes if first < stable < end]:
            stable = min(within)
        return stable

    def kafkas_stable_offset(self, end_offset: Offset) -> Offset:
        """Return what Kafka has as the last stable offset: multipart writes that have ended do not count."""
        waiting = [*self.open.values(), *(part for write in self.unfinished_writes for part in write.parts)]
        return min((transaction.first_offset for transaction in waiting), default=end_offset)

    def visible(self, batches: Iterable[StoredBatch], start_offset: Offset, end_offset: Offset) -> list[LoggedValue]:
        """Return the records of committed transactions, and those without a transaction, in a range.

        Args:
            batches: of the log, in order; all in the range.
            start_offset: where the range begins.
            end_offset: where it ends.
        """
        hidden = {
            offset
            for transaction in self.transactions
            if not transaction.is_committed
            for offset, _ in transaction.records
        }
        return [
            (offset, value)
            for batch in batches
            if not _is_control(batch.payload)
            for offset, value in _values_of(batch.payload)
            if start_offset <= offset < end_offset and offset not in hidden
        ]

    def _control(self, record: Record, producer_id: int, is_transactional: bool) -> LoggedTransaction | None:
        _, control_type = _KEY.unpack_from(record.key or b"")
        if control_type == _WRITE_COMMIT:
            self._begin_write(record)
        elif is_transactional and control_type in (_ABORT, _COMMIT):
            return self._end(record.offset, producer_id, is_committed=control_type == _COMMIT)
        return None

    def _begin_write(self, record: Record) -> None:
        value = record.value or b""
        _, count = _COMMIT_BEGIN.unpack_from(value)
        begin = _COMMIT_BEGIN.size
        counts = {
            producer_id: record_count
            for producer_id, record_count, _ in _PART.iter_unpack(value[begin : begin + count * _PART.size])
        }
        parts = [self.open[producer_id] for producer_id in counts if producer_id in self.open]
        whole = [part for part in parts if len(part.records) == counts[part.producer_id]]
        if len(whole) < count:
            self.complaints.append(
                f"WRITE_COMMIT at {record.offset} names {count} parts, of which {len(whole)} are whole"
            )
        write = MultipartWrite(record.offset, parts, {part.producer_id for part in parts})
        self._writes.append(write)
        for part in parts:
            part.write = write

    def _end(self, offset: Offset, producer_id: int, *, is_committed: bool) -> LoggedTransaction | None:
        transaction = self.open.pop(producer_id, None)
        if transaction is None:
            return None  # a marker that only raises the producer's epoch
        end_offset = Offset(offset + 1)
        transaction.is_committed = is_committed
        transaction.marker_end_offset = transaction.end_offset = end_offset
        self.ended.append(transaction)
        if (write := transaction.write) is not None:
            if not is_committed:
                self.complaints.append(f"ABORT at {offset} for a part that a WRITE_COMMIT names")
            write.missing.discard(producer_id)
            for part in write.parts:
                part.end_offset = None if write.missing else end_offset
        return transaction


@lru_cache(_REMEMBERED_BATCHES)
def _read(payload: bytes) -> tuple[Record, ...]:
    return tuple(read_records(payload))


@lru_cache(_REMEMBERED_BATCHES)
def _values_of(payload: bytes) -> tuple[LoggedValue, ...]:
    return tuple((record.offset, record.value or b"") for record in _read(payload))


def _is_control(payload: bytes) -> bool:
    return bool(_ATTRIBUTES.unpack_from(payload, _ATTRIBUTES_AT)[0] & _CONTROL)
