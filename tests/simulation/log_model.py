"""A model of a log: the batches that it should hold, by the orders of the core."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from zlib import crc32

from raft.records.header_fields import CHECKED_FROM, with_base_offset_and_epoch
from raft.types import Batch, BatchHeader, Epoch, EpochStart, Offset, TransactionalId
from raft.writers.written import content_of

WriteId = tuple[int, int, int]
"""Identifies a write: producer id, producer epoch, base sequence."""


def write_id_of(header: BatchHeader) -> WriteId | None:
    """Return the id of a write; None for a batch without one, and for the batches and control records of transactions.

    The commit of a multipart write has the id of the write.
    """
    is_of_transaction = header.is_transactional or isinstance(header.control_value, TransactionalId)
    if header.producer_id is None or is_of_transaction:
        return None
    return header.producer_id, header.producer_epoch, header.base_sequence


def is_same_write(first: Batch | Entry, second: Batch | Entry) -> bool:
    """Whether two batches of one write have the same records; timestamps do not count if there is a checksum."""
    contents = content_of(first.header), content_of(second.header)
    if contents[0][1] is not None:
        return contents[0] == contents[1]
    return first.payload[CHECKED_FROM:] == second.payload[CHECKED_FROM:]


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One batch of a log.

    Fields:
        header: the header, with offset and epoch.
        payload: the bytes in the file.
        chain: a checksum over these bytes and all before them: two logs with equal chains are equal up to here.
    """

    header: BatchHeader
    payload: bytes
    chain: int


class LogModel:
    """The batches of one log, which begins at offset 0."""

    def __init__(self) -> None:
        self.entries: list[Entry] = []
        self._ends: list[Offset] = []
        self._times_written: dict[WriteId, int] = {}

    def copy(self) -> LogModel:
        """Return an independent log with the same batches."""
        model = LogModel()
        model.entries = self.entries.copy()
        model._ends = self._ends.copy()
        model._times_written = self._times_written.copy()
        return model

    @property
    def end_offset(self) -> Offset:
        """One past the last record."""
        return self._ends[-1] if self._ends else Offset(0)

    @property
    def chain(self) -> int:
        """The checksum over the whole log."""
        return self.entries[-1].chain if self.entries else 0

    @property
    def epochs(self) -> tuple[EpochStart, ...]:
        """The start offset of each epoch."""
        starts: dict[Epoch, Offset] = {}
        for entry in self.entries:
            starts.setdefault(entry.header.epoch, entry.header.base_offset)
        return tuple(EpochStart(epoch=epoch, start_offset=start) for epoch, start in starts.items())

    def append(self, batch: Batch) -> Entry:
        """Add a batch, with the offset and the epoch of its header."""
        header = batch.header
        payload = with_base_offset_and_epoch(batch.payload, header.base_offset, header.epoch)
        entry = Entry(header=header, payload=payload, chain=crc32(payload, self.chain))
        self.add(entry)
        return entry

    def add(self, entry: Entry) -> None:
        """Add a batch of another log that is equal up to it."""
        self.entries.append(entry)
        self._ends.append(entry.header.end_offset)
        write_id = write_id_of(entry.header)
        if write_id is not None:
            self._times_written[write_id] = self.times_written(write_id) + 1

    def truncate(self, end_offset: Offset) -> list[Entry]:
        """Remove the batches from an offset on, and return them."""
        at = bisect_left(self._ends, end_offset + 1)
        removed = self.entries[at:]
        del self.entries[at:]
        del self._ends[at:]
        for entry in removed:
            write_id = write_id_of(entry.header)
            if write_id is not None:
                self._times_written[write_id] -= 1
        return removed

    def times_written(self, write_id: WriteId) -> int:
        """Return how many times a write is in the log; more than once is a bug."""
        return self._times_written.get(write_id, 0)

    def chain_at(self, end_offset: Offset) -> int | None:
        """Return the checksum over everything below an offset; None if no batch ends there."""
        if end_offset == 0:
            return 0
        entry = self.entry_before(end_offset)
        return None if entry is None else entry.chain

    def holds(self, entry: Entry) -> bool:
        """Whether this log is equal to another one up to the end of its batch."""
        return self.chain_at(entry.header.end_offset) == entry.chain

    def entry_before(self, end_offset: Offset) -> Entry | None:
        """Return the batch that ends at an offset; None if no batch does."""
        at = bisect_left(self._ends, end_offset)
        return self.entries[at] if at < len(self._ends) and self._ends[at] == end_offset else None

    def entry_holding(self, offset: Offset) -> Entry | None:
        """Return the batch with the record at an offset; None if there is none."""
        return next(self.after(offset), None)

    def after(self, start_offset: Offset) -> Iterator[Entry]:
        """Yield the batches from an offset on, at which a batch begins or the log ends."""
        return islice(self.entries, bisect_right(self._ends, start_offset), None)

    def between(self, start_offset: Offset, end_offset: Offset) -> list[Entry]:
        """Return the batches between two offsets at which batches end."""
        return self.entries[bisect_right(self._ends, start_offset) : bisect_right(self._ends, end_offset)]
