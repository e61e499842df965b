"""The index of aborted transactions of a segment: what it finds, and its file, which Kafka's tools read (TXN-10)."""

from __future__ import annotations

import struct

import pytest

from raft.storage.aborted_index import AbortedIndex
from raft.storage.files import Files
from raft.transactions import AbortedTransaction
from raft.types import Offset
from tests.memory_files.files import Call, MemoryFiles

NAME = "00000000000000000000.txnindex"


def aborted(producer_id: int, first: int, last: int, stable: int | None = None) -> AbortedTransaction:
    return AbortedTransaction(
        producer_id=producer_id,
        first_offset=Offset(first),
        last_offset=Offset(last),
        last_stable_offset=Offset(last + 1 if stable is None else stable),
    )


FIRST = aborted(1, 3, 9, stable=5)
"""The second one was open when it ended."""

SECOND = aborted(2, 5, 12)
THIRD = aborted(1, 20, 22)
ALL = (FIRST, SECOND, THIRD)


def index_of(*entries: AbortedTransaction, files: Files | None = None) -> AbortedIndex:
    index = AbortedIndex(files or MemoryFiles(), NAME)
    for entry in entries:
        index.note([entry])
    return index


def content_of(*entries: AbortedTransaction) -> bytes:
    """The bytes of Kafka's AbortedTxn."""
    return b"".join(
        struct.pack(">hqqqq", 0, each.producer_id, each.first_offset, each.last_offset, each.last_stable_offset)
        for each in entries
    )


def stored(files: Files) -> bytes | None:
    return files.read(NAME) if files.exists(NAME) else None


@pytest.mark.rule("TXN-10")
@pytest.mark.parametrize(
    ("start", "end", "expected", "has_more"),
    [
        pytest.param(0, 3, (), False, id="before the first transaction"),
        pytest.param(0, 4, (FIRST,), False, id="with its first record"),
        pytest.param(9, 10, (FIRST, SECOND), False, id="with its marker alone"),
        pytest.param(10, 13, (SECOND,), False, id="behind the first marker"),
        pytest.param(13, 20, (), False, id="between transactions"),
        pytest.param(13, 23, (THIRD,), False, id="up to the end of the last marker"),
        pytest.param(13, 24, (THIRD,), True, id="behind the last marker"),
        pytest.param(0, 24, ALL, True, id="everything"),
        pytest.param(23, 24, (), True, id="behind all transactions"),
    ],
)
def test_transactions_with_records_or_a_marker_in_a_range_are_found(
    start: int, end: int, expected: tuple[AbortedTransaction, ...], has_more: bool
) -> None:
    index = index_of(*ALL)

    assert index.overlapping(Offset(start), Offset(end)) == (list(expected), has_more)


@pytest.mark.rule("TXN-10")
@pytest.mark.parametrize(
    ("producer_ids", "expected"),
    [
        pytest.param({1}, [FIRST, THIRD], id="a producer of two transactions"),
        pytest.param({2, 9}, [SECOND], id="a producer of one, and one of none"),
        pytest.param(set(), [], id="no producer"),
    ],
)
def test_transactions_of_some_producers_are_found(producer_ids: set[int], expected: list[AbortedTransaction]) -> None:
    index = index_of(*ALL)

    assert index.overlapping(Offset(0), Offset(24), producer_ids) == (expected, True)


def test_index_without_entries_finds_nothing_and_sends_the_reader_on() -> None:
    index = index_of()

    assert len(index) == 0
    assert index.overlapping(Offset(0), Offset(10)) == ([], True)


def test_entries_that_are_noted_together_are_one_write() -> None:
    files = MemoryFiles()
    index = index_of(FIRST, files=files)
    index.attach()
    calls_before = files.calls.total()

    index.note([])
    index.note([SECOND, THIRD])

    assert files.calls.total() - calls_before == 1
    assert stored(files) == content_of(*ALL)


@pytest.mark.rule("TXN-10")
def test_file_does_not_exist_before_the_index_is_attached(files: Files) -> None:
    index = index_of(FIRST, files=files)

    assert len(index) == 1
    assert stored(files) is None


@pytest.mark.rule("TXN-10")
def test_file_exists_with_the_first_entry(files: Files) -> None:
    index = index_of(files=files)
    index.attach()
    before = stored(files)

    index.note([FIRST])
    after_one = stored(files)
    index.note([SECOND])

    assert before is None
    assert after_one == content_of(FIRST)
    assert stored(files) == content_of(FIRST, SECOND)


@pytest.mark.parametrize(
    "found",
    [
        pytest.param(None, id="no file"),
        pytest.param(b"", id="an empty file"),
        pytest.param(content_of(FIRST, SECOND), id="an equal file"),
        pytest.param(content_of(FIRST), id="an entry is missing"),
        pytest.param(content_of(FIRST, SECOND, THIRD), id="an entry too many"),
        pytest.param(content_of(SECOND, FIRST), id="another order"),
        pytest.param(content_of(FIRST, SECOND)[:-1], id="a torn entry"),
        pytest.param(b"garbage", id="garbage"),
    ],
)
def test_file_has_the_entries_whatever_it_had_when_the_index_is_attached(files: Files, found: bytes | None) -> None:
    if found is not None:
        file = files.create(NAME)
        file.append(found)
        file.close()
    index = index_of(FIRST, SECOND, files=files)

    index.attach()

    assert stored(files) == content_of(FIRST, SECOND)

    index.note([THIRD])

    assert stored(files) == content_of(*ALL)


def test_file_of_an_index_without_entries_is_removed_when_it_is_attached(files: Files) -> None:
    files.create(NAME).close()

    index_of(files=files).attach()

    assert stored(files) is None


def test_file_is_not_written_again_when_it_is_equal() -> None:
    files = MemoryFiles()
    index = index_of(FIRST, files=files)
    index.attach()
    index.close()
    files.calls.clear()

    index.attach()
    index.attach()

    assert files.calls == {}


@pytest.mark.rule("TXN-10")
@pytest.mark.parametrize(
    ("end", "kept"),
    [
        pytest.param(0, (), id="everything"),
        pytest.param(9, (), id="up to the first marker"),
        pytest.param(10, (FIRST,), id="behind the first marker"),
        pytest.param(12, (FIRST,), id="up to the second marker"),
        pytest.param(22, (FIRST, SECOND), id="up to the last marker"),
        pytest.param(23, ALL, id="nothing"),
    ],
)
@pytest.mark.parametrize("is_attached", [True, False], ids=["attached", "in memory"])
def test_truncation_removes_the_transactions_whose_marker_goes(
    files: Files, end: int, kept: tuple[AbortedTransaction, ...], is_attached: bool
) -> None:
    index = index_of(*ALL, files=files)
    if is_attached:
        index.attach()

    index.truncate(Offset(end))

    assert index.overlapping(Offset(0), Offset(100))[0] == list(kept)
    assert stored(files) == (content_of(*kept) or None if is_attached else None)

    index.note([THIRD])
    index.attach()

    assert stored(files) == content_of(*kept, THIRD)


def test_closed_index_keeps_its_entries_and_its_file(files: Files) -> None:
    index = index_of(FIRST, files=files)
    index.attach()

    index.close()
    index.close()

    assert stored(files) == content_of(FIRST)
    assert index.overlapping(Offset(0), Offset(5)) == ([FIRST], False)

    index.attach()
    index.note([SECOND])

    assert stored(files) == content_of(FIRST, SECOND)


def test_removed_index_has_no_file(files: Files) -> None:
    index = index_of(FIRST, files=files)
    index.attach()

    index.remove()

    assert stored(files) is None


def test_index_is_not_flushed() -> None:
    files = MemoryFiles()
    index = index_of(FIRST, files=files)
    index.attach()
    index.note([SECOND])
    index.truncate(Offset(10))
    index.close()

    assert files.calls[Call.WRITE] > 0
    assert files.calls[Call.FLUSH] == 0
