"""Counting the data records of a log with transactions, against a model: the list of each record's kind (CLIENT-15)."""

from __future__ import annotations

from dataclasses import dataclass, field

import pytest
from hypothesis import given
from hypothesis import strategies as st

from raft.storage import data_records
from raft.storage.data_records import end_of_data
from raft.storage.log import Log
from raft.transactions import AbortedTransaction
from raft.types import Batch, ControlType, Epoch, Offset, OffsetAndEpoch
from tests.memory_files.files import MemoryFiles
from tests.storage.logs import batch, empty_snapshot, found_end_of_data, open_log
from tests.storage.transactional import (
    PRODUCER,
    abort,
    append_all,
    commit,
    data,
    leader_change,
    marker,
    transactional_id,
)


@dataclass(slots=True)
class History:
    """Batches in a row, and of each of their records whether a reader of committed records gets it."""

    batches: list[Batch] = field(default_factory=list)
    is_read: list[bool] = field(default_factory=list)
    epoch: int = 1
    _offsets_of: dict[int, list[int]] = field(default_factory=dict)

    @property
    def end_offset(self) -> int:
        return len(self.is_read)

    @property
    def open_producers(self) -> list[int]:
        return sorted(self._offsets_of)

    def begin_epoch(self) -> None:
        self.epoch += bool(self.batches)
        self._add(leader_change(self.end_offset, self.epoch))

    def write(self, records: int) -> None:
        self._add(batch(self.end_offset, count=records, epoch=self.epoch), is_read=True)

    def write_of(self, producer_id: int, records: int, *, is_transactional: bool = True) -> None:
        if is_transactional:
            offsets = range(self.end_offset, self.end_offset + records)
            self._offsets_of.setdefault(producer_id, []).extend(offsets)
        written = data(
            producer_id, self.end_offset, records=records, epoch=self.epoch, is_transactional=is_transactional
        )
        self._add(written, is_read=True)

    def end(self, producer_id: int, end: ControlType) -> None:
        for offset in self._offsets_of.pop(producer_id, []):
            self.is_read[offset] = end is ControlType.COMMIT
        self._add(marker(producer_id, self.end_offset, end, epoch=self.epoch))

    def name(self, producer_id: int) -> None:
        self._add(transactional_id(producer_id, self.end_offset, epoch=self.epoch))

    def _add(self, added: Batch, *, is_read: bool = False) -> None:
        self.batches.append(added)
        self.is_read += [is_read] * added.header.record_count


@st.composite
def histories(draw: st.DrawFn) -> History:
    """A log in which every transaction has ended, so that all of it can be read."""
    history = History()
    history.begin_epoch()
    steps = st.sampled_from(
        ["epoch", "write", "write", "transaction", "transaction", "idempotent", "end", "end", "name"]
    )
    for step in draw(st.lists(steps, max_size=25), label="steps"):
        producer_id = draw(st.integers(1, 3), label="producer")
        match step:
            case "epoch":
                history.begin_epoch()
            case "write":
                history.write(draw(st.integers(1, 3)))
            case "transaction":
                history.write_of(producer_id, draw(st.integers(1, 3)))
            case "idempotent" if producer_id not in history.open_producers:
                history.write_of(producer_id, 1, is_transactional=False)
            case "end":
                history.end(producer_id, draw(st.sampled_from([ControlType.ABORT, ControlType.COMMIT])))
            case _:
                history.name(producer_id)
    for producer_id in history.open_producers:
        history.end(producer_id, draw(st.sampled_from([ControlType.ABORT, ControlType.COMMIT])))
    return history


def log_of(batches: list[Batch], *, segment_bytes: int = 300) -> Log:
    log = open_log(MemoryFiles(), segment_bytes=segment_bytes)
    append_all(log, batches)
    return log


def counted(is_read: list[bool], *, start: int, most: int, end: int) -> int:
    """Where a count ends, record by record."""
    at = start
    while at < end and (most or not is_read[at]):
        most -= is_read[at]
        at += 1
    return at


@pytest.mark.rule("CLIENT-15", "TXN-10")
@given(
    history=histories(),
    segment_bytes=st.sampled_from([1, 300, 1 << 20]),
    piece_headers=st.sampled_from([1, 2, 3, data_records.PIECE_HEADERS]),
    draws=st.data(),
)
def test_committed_records_are_counted_from_any_offset_and_in_pieces_of_any_size(
    history: History, segment_bytes: int, piece_headers: int, draws: st.DataObject
) -> None:
    log = log_of(history.batches, segment_bytes=segment_bytes)
    start = draws.draw(st.integers(0, history.end_offset - 1), label="start")
    end = draws.draw(st.integers(start + 1, history.end_offset), label="end")
    most = draws.draw(st.integers(1, history.end_offset), label="most")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(data_records, "PIECE_HEADERS", piece_headers)
        found = found_end_of_data(log, start_offset=Offset(start), max_records=most, end_offset=Offset(end))

    assert found == counted(history.is_read, start=start, most=most, end=end)


MIXED = [
    leader_change(0, 1),
    batch(1, count=2),
    data(PRODUCER, 3, records=4),
    data(8, 7),
    abort(PRODUCER, 8),
    batch(9),
    commit(8, 10),
    batch(11, count=2),
]
"""The records at 1, 2, 7, 9, 11 and 12 can be read."""


@pytest.mark.rule("CLIENT-15", "TXN-10")
@pytest.mark.parametrize("segment_bytes", [1, 300, 1 << 20], ids=["a segment each", "several", "one segment"])
@pytest.mark.parametrize(
    ("start", "most", "end", "expected"),
    [
        pytest.param(0, 1, 13, 2, id="before the transactions"),
        pytest.param(0, 2, 13, 7, id="the aborted records behind the last one"),
        pytest.param(0, 3, 13, 9, id="in the transactions"),
        pytest.param(0, 4, 13, 11, id="up to the end of the transactions"),
        pytest.param(0, 5, 13, 12, id="behind the transactions"),
        pytest.param(0, 99, 13, 13, id="all"),
        pytest.param(5, 1, 13, 9, id="from an aborted record on"),
        pytest.param(4, 99, 6, 6, id="aborted records only"),
        pytest.param(8, 1, 13, 11, id="from a marker on"),
        pytest.param(12, 9, 13, 13, id="the last record"),
    ],
)
def test_count_leaves_out_markers_and_aborted_records(
    start: int, most: int, end: int, expected: int, segment_bytes: int
) -> None:
    log = log_of(MIXED, segment_bytes=segment_bytes)

    assert found_end_of_data(log, start_offset=Offset(start), max_records=most, end_offset=Offset(end)) == expected


@pytest.mark.rule("CLIENT-15")
@pytest.mark.parametrize("segment_bytes", [1, 1 << 20], ids=["a segment each", "one segment"])
def test_count_ends_early_after_many_batches_of_transactions(
    monkeypatch: pytest.MonkeyPatch, segment_bytes: int
) -> None:
    monkeypatch.setattr(data_records, "MAX_HEADERS", 3)
    log = log_of(
        [batch(0), *(data(PRODUCER, at) for at in range(1, 9)), commit(PRODUCER, 9)], segment_bytes=segment_bytes
    )
    at, ends = 0, []

    while at < log.end_offset:
        at = found_end_of_data(log, start_offset=Offset(at), max_records=100, end_offset=log.end_offset)
        ends.append(at)

    # The first count begins with a batch of no transaction. The third one ends with the header of the marker.
    assert ends == [4, 7, 9, 10]


@pytest.mark.rule("CLIENT-15")
def test_count_that_ends_early_goes_on_when_no_record_of_it_can_be_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(data_records, "MAX_HEADERS", 4)
    log = log_of([*(data(PRODUCER, at) for at in range(8)), abort(PRODUCER, 8), batch(9)], segment_bytes=1)
    at, ends = 0, []

    while at < log.end_offset:
        at = found_end_of_data(log, start_offset=Offset(at), max_records=1, end_offset=log.end_offset)
        ends.append(at)

    assert ends == [3, 6, 10]


def test_count_reads_no_batch_behind_its_end() -> None:
    files = MemoryFiles()
    log = open_log(files, segment_bytes=1, tail_bytes=0)
    append_all(log, [data(PRODUCER, 0), commit(PRODUCER, 1), data(8, 2), abort(8, 3)])
    files.lose("log-0/00000000000000000002.log")

    assert found_end_of_data(log, start_offset=Offset(0), max_records=9, end_offset=Offset(2)) == 2


def test_count_looks_at_few_of_the_aborted_transactions_of_one_producer(monkeypatch: pytest.MonkeyPatch) -> None:
    log = log_of([each for at in range(0, 800, 2) for each in (data(PRODUCER, at), abort(PRODUCER, at + 1))])
    looks: list[Offset] = []
    first_offset = data_records._first_offset

    def look(transaction: AbortedTransaction) -> Offset:
        looks.append(transaction.first_offset)
        return first_offset(transaction)

    monkeypatch.setattr(data_records, "_first_offset", look)

    assert found_end_of_data(log, start_offset=Offset(0), max_records=9, end_offset=log.end_offset) == 800
    assert len(looks) <= 400 * 9


def test_count_ends_when_a_snapshot_replaces_the_log_between_two_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(data_records, "PIECE_HEADERS", 3)
    log = log_of([*(data(PRODUCER, at) for at in range(8)), commit(PRODUCER, 8)], segment_bytes=1 << 20)
    pieces = end_of_data(log, start_offset=Offset(0), max_records=9, end_offset=log.end_offset)

    next(pieces)
    log.restart_at(empty_snapshot(OffsetAndEpoch(offset=Offset(20), epoch=Epoch(2))))

    with pytest.raises(StopIteration):
        next(pieces)
