"""A log knows its aborted transactions and where transactions lie, whatever happens to it (rules TXN-10, CLIENT-15)."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from raft.records.batches import read_batches
from raft.storage.aborted_transactions import MANY, aborted_among, aborted_in
from raft.storage.files import Files
from raft.storage.log import Log
from raft.transactions import AbortedTransaction
from raft.types import Batch, Epoch, Offset, OffsetAndEpoch
from tests.memory_files.files import MemoryFiles
from tests.storage.logs import DIRECTORY, batch, empty_snapshot, open_log
from tests.storage.transactional import (
    PRODUCER,
    abort,
    aborted_by,
    append_all,
    commit,
    data,
    leader_change,
    transactional_id,
)

SEGMENT_BYTES = 300
"""Room for three batches of this log."""

LOG = [
    leader_change(0, 1),
    batch(1),
    transactional_id(PRODUCER, 2),
    data(PRODUCER, 3, records=2),
    data(8, 5),
    batch(6),
    abort(PRODUCER, 7),
    data(PRODUCER, 8),
    abort(8, 9),
    batch(10),
    commit(PRODUCER, 11),
    batch(12),
    batch(13),
    batch(14),
    data(9, 15),
    abort(9, 16),
]
END = LOG[-1].header.end_offset
FIRST, SECOND, THIRD = (
    AbortedTransaction(
        producer_id=PRODUCER, first_offset=Offset(3), last_offset=Offset(7), last_stable_offset=Offset(5)
    ),
    AbortedTransaction(producer_id=8, first_offset=Offset(5), last_offset=Offset(9), last_stable_offset=Offset(8)),
    AbortedTransaction(producer_id=9, first_offset=Offset(15), last_offset=Offset(16), last_stable_offset=Offset(17)),
)


def log_of(files: Files, batches: list[Batch], *, segment_bytes: int = SEGMENT_BYTES) -> Log:
    log = open_log(files, segment_bytes=segment_bytes)
    append_all(log, batches)
    return log


def index_files(files: Files) -> dict[str, bytes]:
    names = [name for name in files.names_in(DIRECTORY) if name.endswith(".txnindex")]
    return {name: files.read(f"{DIRECTORY}/{name}") for name in names}


@pytest.mark.rule("TXN-10")
def test_index_files_are_whole_when_one_append_begins_several_segments(files: Files) -> None:
    log = open_log(files, segment_bytes=SEGMENT_BYTES)
    log.append(LOG, aborted_by(LOG))
    written = index_files(files)
    log.close()
    open_log(files, segment_bytes=SEGMENT_BYTES)
    opened = index_files(files)

    assert written == opened
    assert len(opened) > 1


def ranges(log: Log) -> list[tuple[Offset, Offset] | None]:
    return [segment.indexes.transactional_range for segment in log.files_from(log.start_offset)]


def transactional_ranges(log: Log, batches: list[Batch]) -> list[tuple[Offset, Offset] | None]:
    """From the first to the last batch of a transaction, for each segment."""
    segments = log.files_from(log.start_offset)
    bounds = [*(segment.base_offset for segment in segments), Offset(1 << 40)]
    found: list[tuple[Offset, Offset] | None] = []
    for start, end in pairwise(bounds):
        headers = [
            each.header
            for each in batches
            if start <= each.header.base_offset < end
            and (each.header.is_transactional or each.header.control_value is not None)
        ]
        found.append((headers[0].base_offset, headers[-1].end_offset) if headers else None)
    return found


def overlapping(log: list[Batch], start: int, end: int) -> list[AbortedTransaction]:
    """The transactions that a scan of all batches finds in a range."""
    return [each for each in aborted_by(log) if each.last_offset >= start and each.first_offset < end]


@pytest.mark.rule("TXN-10")
@pytest.mark.parametrize(
    ("start", "end", "expected"),
    [
        pytest.param(0, 3, [], id="before the first transaction"),
        pytest.param(0, 4, [FIRST], id="its first record"),
        pytest.param(4, 17, [FIRST, SECOND, THIRD], id="everything"),
        pytest.param(8, 10, [SECOND], id="behind the first marker"),
        pytest.param(10, 15, [], id="between transactions"),
        pytest.param(16, 17, [THIRD], id="the last marker"),
    ],
)
@pytest.mark.parametrize("segment_bytes", [1, SEGMENT_BYTES, 1 << 20], ids=["a segment each", "several", "one segment"])
def test_aborted_transactions_of_a_range_are_found_in_any_segments(
    start: int, end: int, expected: list[AbortedTransaction], segment_bytes: int
) -> None:
    log = log_of(MemoryFiles(), LOG, segment_bytes=segment_bytes)

    assert aborted_in(log, Offset(start), Offset(end)) == expected


@pytest.mark.rule("TXN-10")
@given(st.integers(0, END - 1), st.integers(1, END), st.integers(1, 400))
def test_aborted_transactions_among_any_fetched_batches_are_found(start: int, length: int, max_bytes: int) -> None:
    log = log_of(MemoryFiles(), LOG)
    end = Offset(min(start + length, END))
    records = log.read(Offset(start), max_bytes=max_bytes, end_offset=end)

    found = aborted_among(log, Offset(start), records)

    read = [each.header for each in read_batches(records)]
    assert found == (overlapping(LOG, start, read[-1].end_offset) if read else [])


@pytest.mark.rule("TXN-10")
@pytest.mark.parametrize(
    ("start", "producer_id"),
    [
        pytest.param(0, 50, id="the first record"),
        pytest.param(MANY, 50 + MANY, id="the last record"),
        pytest.param(MANY + 1, 50, id="a marker"),
    ],
)
def test_few_records_among_many_aborted_transactions_name_their_own_only(start: int, producer_id: int) -> None:
    count = MANY + 1
    opened = [data(50 + at, at) for at in range(count)]
    log = log_of(MemoryFiles(), [*opened, *(abort(50 + at, count + at) for at in range(count))])
    records = log.read(Offset(start), max_bytes=1, end_offset=log.end_offset)

    found = aborted_among(log, Offset(start), records)

    assert len(aborted_in(log, Offset(start), Offset(start + 1))) == (count if start >= count else start + 1)
    assert [each.producer_id for each in found] == [producer_id]


def test_nothing_is_aborted_among_no_batches_or_in_a_log_without_aborts() -> None:
    assert aborted_among(log_of(MemoryFiles(), LOG), Offset(3), b"") == []
    without = log_of(MemoryFiles(), [batch(0), data(PRODUCER, 1), commit(PRODUCER, 2)])
    records = without.read(Offset(0), max_bytes=1000, end_offset=without.end_offset)
    assert aborted_among(without, Offset(0), records) == []


@pytest.mark.rule("TXN-10")
def test_log_knows_its_aborted_transactions_when_it_is_opened_again(files: Files) -> None:
    log = log_of(files, LOG)
    before = ranges(log)
    log.close()
    written = index_files(files)

    again = open_log(files, segment_bytes=SEGMENT_BYTES)

    assert aborted_in(again, Offset(0), END) == [FIRST, SECOND, THIRD]
    assert ranges(again) == before
    assert index_files(files) == written
    assert sum(map(len, written.values())) == 3 * 34


@pytest.mark.rule("TXN-10")
@pytest.mark.parametrize("damage", [None, b"", b"garbage"], ids=["no file", "empty", "garbage"])
def test_index_files_are_made_right_when_the_log_is_opened(files: Files, damage: bytes | None) -> None:
    log_of(files, LOG).close()
    written = index_files(files)
    for name in [*written, f"{0:020d}.txnindex", f"{5000:020d}.txnindex"]:
        files.remove(f"{DIRECTORY}/{name}")
        if damage is not None:
            file = files.create(f"{DIRECTORY}/{name}")
            file.append(damage)
            file.close()

    open_log(files, segment_bytes=SEGMENT_BYTES)

    assert index_files(files) == written


@pytest.mark.rule("TXN-10", "DIVERGE-6")
@pytest.mark.parametrize("segment_bytes", [SEGMENT_BYTES, 1 << 20], ids=["several segments", "one segment"])
@pytest.mark.parametrize("kept", range(len(LOG)))
def test_truncated_log_knows_the_aborted_transactions_before_its_end(kept: int, segment_bytes: int) -> None:
    files = MemoryFiles()
    log = log_of(files, LOG, segment_bytes=segment_bytes)
    end = LOG[kept].header.base_offset

    log.truncate(end)

    assert aborted_in(log, Offset(0), Offset(end + 1)) == aborted_by(LOG[:kept])
    for found, tight in zip(ranges(log), transactional_ranges(log, LOG[:kept]), strict=True):
        # What was behind the end may have been transactional, so a range may be wider than it has to be.
        assert tight is None or (found is not None and found[0] == tight[0] and tight[1] <= found[1] <= end)

    more = [data(11, end, epoch=2), abort(11, end + 1, epoch=2)]
    new = AbortedTransaction(
        producer_id=11, first_offset=end, last_offset=Offset(end + 1), last_stable_offset=Offset(end + 2)
    )
    log.append(more, [new])

    assert aborted_in(log, Offset(0), Offset(end + 2)) == [*aborted_by(LOG[:kept]), new]
    written = index_files(files)
    log.close()
    open_log(files, segment_bytes=segment_bytes)
    assert sum(map(len, written.values())) == 34 * len([*aborted_by(LOG[:kept]), new])


@pytest.mark.rule("CLIENT-15")
@pytest.mark.parametrize("segment_bytes", [1, SEGMENT_BYTES, 1 << 20], ids=["a segment each", "several", "one segment"])
def test_segment_knows_the_range_from_its_first_to_its_last_batch_of_a_transaction(segment_bytes: int) -> None:
    log = log_of(MemoryFiles(), LOG, segment_bytes=segment_bytes)

    assert ranges(log) == transactional_ranges(log, LOG)


def test_log_that_begins_again_behind_a_snapshot_has_no_transactions(files: Files) -> None:
    log = log_of(files, LOG)

    log.restart_at(empty_snapshot(OffsetAndEpoch(offset=Offset(500), epoch=Epoch(3))))

    assert index_files(files) == {}
    assert aborted_in(log, Offset(500), Offset(600)) == []
    assert ranges(log) == [None]
