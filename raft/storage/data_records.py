"""Counts the data records that a client can read, without reading data batches.

Two kinds of offsets do not count: control records, and records of aborted transactions. Without transactions a leader
appends control batches only at the beginning of its epoch, before its first data batch. So outside of the ranges with
transactions, which each segment knows, all control batches are at the start offsets in the epoch cache, and all other
offsets are those of data records. Inside of these ranges, the header of each batch tells, and so it does in a snapshot,
which has gaps between its records.

Source: rule CLIENT-15; Kafka LeaderState.appendStartOfEpochControlRecords.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Generator, Iterator, Sequence
from itertools import chain, islice

from raft.epoch_cache import EpochCache
from raft.records.batch import read_records
from raft.records.header_fields import HeaderFields
from raft.storage.aborted_transactions import aborted_in
from raft.storage.batch_file import BatchFile
from raft.storage.compacted_records import CompactedRecords
from raft.storage.log import Log
from raft.transactions import AbortedTransaction
from raft.types import Offset

MAX_EPOCHS = 1_000
"""Most epochs in one count. A range with more epochs ends there: the caller gets fewer records, and the thread of the
log is free for other work."""

MAX_HEADERS = 10_000
"""Most batches in ranges with transactions in one count; a range with more ends there, too."""

PIECE_HEADERS = 500
"""After so many batches the thread of the log does its other work, and then the count goes on."""


def end_of_data(
    log: Log, *, start_offset: Offset, max_records: int, end_offset: Offset
) -> Generator[None, None, Offset]:
    """Return the offset after `max_records` data records, and after the others right after them.

    It yields after each piece. If a snapshot has replaced the start of the log when it goes on, the result means
    nothing.

    Args:
        log: has the offsets from `start_offset` to `end_offset`.
        start_offset: where the count begins.
        max_records: data records to count, at least 1.
        end_offset: the result is no higher. It is at most the last stable offset.

    Raises:
        CorruptBatchError: a file of the log is damaged.
    """
    count = _Count(log, start_offset, max_records, end_offset)
    while log.compacted is not None and count.add_compacted(log.compacted, log.start_offset):
        yield
        if log.start_offset != count.log_start:
            return start_offset
    for first, end in _transactional_ranges(log, start_offset, count.end_offset):
        count.add_plain(first)
        while count.add_transactional(end):
            yield
            if log.start_offset != count.log_start:
                return start_offset
    count.add_plain(end_offset)
    return count.position


def _transactional_ranges(log: Log, start_offset: Offset, end_offset: Offset) -> list[tuple[Offset, Offset]]:
    ranges = []
    for segment in log.files_from(start_offset):
        if segment.base_offset >= end_offset:
            break
        found = segment.indexes.transactional_range
        if found is not None and found[1] > start_offset and found[0] < end_offset:
            ranges.append(found)
    return ranges


class _Count:
    """A count that goes on from range to range, until all records are counted or a limit is reached."""

    def __init__(self, log: Log, start_offset: Offset, max_records: int, end_offset: Offset) -> None:
        self._log = log
        self.log_start = log.start_offset
        self._epochs = EpochCache(log.epochs).entries_from(start_offset)
        if len(self._epochs) > MAX_EPOCHS:
            end_offset = min(end_offset, self._epochs[MAX_EPOCHS].start_offset)
        self.end_offset = end_offset
        self.position = start_offset
        self._left = max_records
        self._headers_left = MAX_HEADERS
        self._is_over = False

    def add_plain(self, end_offset: Offset) -> None:
        """Add a range without transactions, up to `end_offset`."""
        end_offset = min(end_offset, self.end_offset)
        if self._is_over or self.position >= end_offset:
            return
        for epoch in self._epochs:
            if epoch.start_offset < self.log_start:
                continue
            data_records = max(epoch.start_offset - self.position, 0)
            if data_records > self._left or epoch.start_offset >= end_offset:
                break
            self._take(data_records)
            self.position = max(self.position, _end_of_control(self._log, epoch.start_offset, end_offset))
        self._take(min(end_offset - self.position, self._left))
        self._is_over = self.position < end_offset

    def add_compacted(self, compacted: CompactedRecords, log_start: Offset) -> bool:
        """Add a piece of the records of a snapshot, which stand before `log_start`; return whether there is more."""
        end_offset = min(log_start, self.end_offset)
        if self._is_over or self.position >= end_offset:
            return False
        headers = list(islice(compacted.stored_headers(self.position), PIECE_HEADERS))
        for header in headers:
            is_whole = self.position <= header.base_offset and header.end_offset <= end_offset
            if is_whole and header.record_count <= self._left:
                self._left -= header.record_count
                self.position = header.end_offset
            else:
                self._is_over = self._is_full_with(compacted.batch_at(compacted.locate(header.base_offset)), end_offset)
            self._headers_left -= 1
            if self._is_over or not self._headers_left or self.position >= end_offset:
                self._is_over = self._is_over or not self._headers_left
                return False
        if len(headers) < PIECE_HEADERS:
            self.position = end_offset
        return self.position < end_offset

    def _is_full_with(self, batch: bytes, end_offset: Offset) -> bool:
        """Add the records of one batch of a snapshot below an offset; return whether there are more than requested."""
        for record in read_records(batch):
            if record.offset >= end_offset:
                self.position = end_offset
                return False
            if record.offset >= self.position:
                if not self._left:
                    return True
                self._left -= 1
                self.position = Offset(record.offset + 1)
        return False

    def add_transactional(self, end_offset: Offset) -> bool:
        """Add a piece of a range with transactions, which goes up to `end_offset`; return whether there is more."""
        end_offset = min(end_offset, self.end_offset)
        if self._is_over or self.position >= end_offset:
            return False
        headers = list(islice(_headers_between(self._log, self.position, end_offset), PIECE_HEADERS))
        aborted = _Aborted(self._log, headers)
        for header in headers:
            batch_end = min(header.end_offset, end_offset)
            is_data = not header.is_control and not (header.is_transactional and header in aborted)
            data_records = batch_end - self.position if is_data else 0
            self._headers_left -= 1
            if data_records > self._left or not self._headers_left:
                self._take(min(data_records, self._left))
                self._is_over = True
                return False
            self._left -= data_records
            self.position = batch_end
        return self.position < end_offset

    def _take(self, data_records: int) -> None:
        self.position = Offset(self.position + data_records)
        self._left -= data_records


class _Aborted:
    """Which of some batches in a row belong to aborted transactions.

    A producer may have thousands of aborted transactions there. They are searched, because they do not overlap.
    """

    def __init__(self, log: Log, headers: Sequence[HeaderFields]) -> None:
        producer_ids = frozenset(header.producer_id for header in headers if header.is_transactional)
        self._of: dict[int | None, list[AbortedTransaction]] = {}
        for each in aborted_in(log, headers[0].base_offset, headers[-1].end_offset, producer_ids=producer_ids):
            self._of.setdefault(each.producer_id, []).append(each)

    def __contains__(self, header: HeaderFields) -> bool:
        transactions = self._of.get(header.producer_id, [])
        at = bisect_right(transactions, header.base_offset, key=_first_offset) - 1
        return at >= 0 and header.base_offset < transactions[at].last_offset


def _first_offset(transaction: AbortedTransaction) -> Offset:
    return transaction.first_offset


def _headers_between(log: Log, offset: Offset, end_offset: Offset) -> Iterator[HeaderFields]:
    """Yield the headers of the batches from the one that holds `offset` up to `end_offset`."""

    def headers_of(segment: BatchFile) -> Iterator[HeaderFields]:
        return segment.stored_headers(max(offset, segment.base_offset))

    headers = chain.from_iterable(map(headers_of, log.files_from(offset)))
    while (header := next(headers)).end_offset < end_offset:
        yield header
    yield header


def _end_of_control(log: Log, offset: Offset, end_offset: Offset) -> Offset:
    """Return the end of the control batches that begin at `offset`; `offset` itself if there are none."""
    while offset < end_offset and (header := log.header_of(offset)).is_control:
        offset = header.end_offset
    return offset
