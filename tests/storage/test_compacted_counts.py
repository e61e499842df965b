"""Counting the rows of a log that begins with a snapshot, piece by piece (rules READ-7, CLIENT-15)."""

from __future__ import annotations

import pytest

from raft.storage import data_records
from raft.storage.data_records import end_of_data
from raft.types import Offset
from tests.memory_files.files import MemoryFiles
from tests.storage.logs import found_end_of_data
from tests.storage.test_compacted_log import Store


def store_of_single_batches() -> Store:
    """Offsets 0 to 5 stand in a snapshot, a batch for each because their epochs differ; 6 and 7 are behind it."""
    store = Store(MemoryFiles())
    for epoch, key in enumerate("abcdef", start=1):
        store.write(key, epoch=epoch)
    store.delete_before()
    store.write("g", "h", epoch=6)
    return store


def count(store: Store, most: int, *, start: int = 0, end: int | None = None) -> int:
    end_offset = store.log.end_offset if end is None else Offset(end)
    return found_end_of_data(store.log, start_offset=Offset(start), max_records=most, end_offset=end_offset)


@pytest.mark.rule("READ-7", "CLIENT-15")
@pytest.mark.parametrize("piece_headers", [1, 2, 5, 6, 7])
@pytest.mark.parametrize(
    ("start", "most", "end"),
    [
        pytest.param(0, 1, 1, id="the first piece"),
        pytest.param(0, 5, 5, id="a later piece"),
        pytest.param(3, 3, 6, id="to the end of the snapshot"),
        pytest.param(0, 7, 7, id="a part of the log's first batch"),
        pytest.param(7, 9, 8, id="from behind the snapshot"),
        pytest.param(0, 99, 8, id="all"),
    ],
)
def test_count_does_not_depend_on_the_pieces(
    monkeypatch: pytest.MonkeyPatch, piece_headers: int, start: int, most: int, end: int
) -> None:
    monkeypatch.setattr(data_records, "PIECE_HEADERS", piece_headers)

    assert count(store_of_single_batches(), most, start=start) == end


@pytest.mark.rule("READ-7", "CLIENT-15")
def test_count_ends_after_the_most_headers_that_one_request_may_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(data_records, "MAX_HEADERS", 4)

    assert count(store_of_single_batches(), 99) == 4


@pytest.mark.rule("READ-7", "CLIENT-15")
@pytest.mark.parametrize("end", [1, 2])
def test_count_ends_within_a_batch_of_the_snapshot(end: int) -> None:
    store = Store(MemoryFiles())
    store.write("a", "b", "c")
    store.delete_before()

    assert count(store, 99, end=end) == end


@pytest.mark.rule("READ-7", "CLIENT-15")
def test_nothing_is_counted_when_another_snapshot_takes_the_place_meanwhile(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(data_records, "PIECE_HEADERS", 2)
    store = store_of_single_batches()
    pieces = end_of_data(store.log, start_offset=Offset(0), max_records=99, end_offset=store.log.end_offset)
    next(pieces)

    store.delete_before()

    with pytest.raises(StopIteration) as end:
        next(pieces)
    assert end.value.value == 0
