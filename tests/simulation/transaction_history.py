"""Transactions by the committed log alone: the reference for what nodes and readers derive in other ways."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from raft.records.batch import read_records
from raft.types import ControlType, Offset, WriteCommit
from tests.simulation.log_model import Entry

_ENDS = (ControlType.COMMIT, ControlType.ABORT)


@dataclass(eq=False)
class LoggedTransaction:
    """A transaction in a log.

    Fields:
        producer_id: of its batches.
        producer_epoch: of its last batch.
        entries: its batches.
        end: how it ended; None while it is open.
        end_offset: of its marker; None while it is open.
        write: the WRITE_COMMIT that names it; None for none.
    """

    producer_id: int
    producer_epoch: int
    entries: list[Entry] = field(default_factory=list)
    end: ControlType | None = None
    end_offset: Offset | None = None
    write: WriteCommit | None = None

    @property
    def first_offset(self) -> Offset:
        """Offset of its first record."""
        return self.entries[0].header.base_offset

    @property
    def values(self) -> list[bytes]:
        """The values of its records."""
        return [record.value or b"" for entry in self.entries for record in read_records(entry.payload)]


class TransactionHistory:
    """The transactions of a log, batch by batch."""

    def __init__(self, entries: Iterable[Entry] = ()) -> None:
        self.transactions: list[LoggedTransaction] = []
        self._open: dict[int, LoggedTransaction] = {}
        for entry in entries:
            self.add(entry)

    @property
    def open(self) -> dict[int, LoggedTransaction]:
        """The open ones, by producer id."""
        return self._open

    def add(self, entry: Entry) -> LoggedTransaction | None:
        """Count a batch; return the transaction that it ends, if it does."""
        header = entry.header
        producer_id = header.producer_id
        if isinstance(header.control_value, WriteCommit):
            for part in header.control_value.parts:
                if part.producer_id in self._open:
                    self._open[part.producer_id].write = header.control_value
        if not header.is_transactional or producer_id is None:
            return None
        if header.control_types and header.control_types[0] in _ENDS:
            ended = self._open.pop(producer_id, None)
            if ended is not None:
                ended.end, ended.end_offset = ControlType(header.control_types[0]), header.end_offset
            return ended
        transaction = self._open.get(producer_id)
        if transaction is None:
            transaction = self._open[producer_id] = LoggedTransaction(producer_id, header.producer_epoch)
            self.transactions.append(transaction)
        transaction.producer_epoch = header.producer_epoch
        transaction.entries.append(entry)
        return None

    def last_stable_offset(self, end_offset: Offset) -> Offset:
        """Return the last stable offset of a log that ends at `end_offset`, all of it committed."""
        stable, writes = self.kafkas_stable_offset(end_offset), self.whole_writes
        while within := [first for first, end in writes if first < stable < end]:
            stable = min(within)
        return stable

    def kafkas_stable_offset(self, end_offset: Offset) -> Offset:
        """Return what Kafka has as the last stable offset: multipart writes that have ended do not count."""
        stable = end_offset
        for parts in self._groups():
            if any(part.end is None for part in parts):
                stable = min(stable, parts[0].first_offset)
        return stable

    @property
    def whole_writes(self) -> list[tuple[Offset, Offset]]:
        """First offset and end of each multipart write whose last marker is in the log."""
        return [
            (parts[0].first_offset, Offset(max(part.end_offset or 0 for part in parts)))
            for parts in self._groups()
            if parts[0].write is not None and all(part.end is not None for part in parts)
        ]

    def _groups(self) -> list[list[LoggedTransaction]]:
        """The parts of each write, and each other transaction by itself; in the order of their first offsets."""
        groups: dict[int, list[LoggedTransaction]] = {}
        for transaction in self.transactions:
            groups.setdefault(id(transaction.write or transaction), []).append(transaction)
        return list(groups.values())

    def visible(self, entries: Iterable[Entry], start_offset: Offset, end_offset: Offset) -> list[tuple[int, bytes]]:
        """Return offset and value of the records of committed transactions, and of those without one, in a range."""
        aborted = {
            entry.header.base_offset
            for transaction in self.transactions
            if transaction.end is not ControlType.COMMIT
            for entry in transaction.entries
        }
        return [
            (record.offset, record.value or b"")
            for entry in entries
            if not entry.header.is_control and entry.header.base_offset not in aborted
            for record in read_records(entry.payload)
            if start_offset <= record.offset < end_offset
        ]
