"""Tasks that read a log which is compacted, or cut, between two of their fetches (READ-7, READ-8)."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from datasource import range_reader, view_reader
from datasource.options import ReadOptions
from datasource.range_reader import read_range
from datasource.read_plan import DataLossError, LogRange
from datasource.view_range import ViewRange
from datasource.view_reader import read_view
from raft.types import Epoch, Offset
from tests.datasource.compacting_log import CompactingLog, Entry, changes, entries, keyed, places

OPTIONS = {"kraft.bootstrap.servers": "localhost:1", "kraft.default.api.timeout.ms": "300"}


def options(**given: str) -> ReadOptions:
    return ReadOptions.of(OPTIONS | given)


def rows_of(record_batches: list[pa.RecordBatch]) -> list[tuple[int, bytes | None, bytes | None]]:
    return [
        (row["offset"], row["key"], row["value"]) for record_batch in record_batches for row in record_batch.to_pylist()
    ]


def read(log: CompactingLog, start: int, end: int, **given: str) -> list[tuple[int, bytes | None, bytes | None]]:
    part = LogRange(start_offset=Offset(start), end_offset=Offset(end), cluster_id="cluster", epoch=Epoch(1))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(range_reader, "client_for", lambda *_, **__: log)
        return rows_of(list(read_range(options(**given), part)))


def view(
    log: CompactingLog, end: int | None = None, *, share: int = 0, shares: int = 1, may_move: bool = True, **given: str
) -> dict[bytes, tuple[int, bytes]]:
    part = ViewRange(
        end_offset=None if end is None else Offset(end),
        may_move=may_move,
        share=share,
        shares=shares,
        cluster_id="cluster",
        epoch=Epoch(1),
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(view_reader, "client_for", lambda *_, **__: log)
        rows = rows_of(list(read_view(options(**given), part)))
    assert all(before[0] < after[0] for before, after in pairwise(rows))
    found = {key: (offset, value) for offset, key, value in rows if key is not None and value is not None}
    assert len(found) == len(rows), "one row for each key"
    return found


@pytest.mark.rule("READ-7")
@given(entries=entries, between=changes(), bounds=st.tuples(places, places), most=st.integers(1, 4))
@settings(max_examples=300, deadline=None)
def test_range_of_a_log_that_is_compacted_meanwhile_has_fewer_old_rows_and_never_a_wrong_one(
    entries: list[Entry], between: Callable[[CompactingLog], None], bounds: tuple[int, int], most: int
) -> None:
    log = CompactingLog(entries, between=between, batches_of_a_fetch=most)
    start, end = (min(bound, len(entries)) for bound in sorted(bounds))

    rows = read(log, start, end)

    assert all(log.entries[offset] == (key, value) for offset, key, value in rows)
    offsets = [offset for offset, _, _ in rows]
    assert all(before < after for before, after in pairwise(offsets))
    assert {offset for offset in log.left() if start <= offset < end} <= set(offsets) <= set(range(start, end))


@pytest.mark.rule("READ-7")
@given(entries=keyed, between=changes(), most=st.integers(1, 4), keeps_records=st.booleans())
@settings(max_examples=300, deadline=None)
def test_view_is_the_state_of_one_moment_though_the_log_is_compacted_or_cut_meanwhile(
    entries: list[Entry], between: Callable[[CompactingLog], None], most: int, keeps_records: bool
) -> None:
    log = CompactingLog(entries, keeps_records=keeps_records, between=between, batches_of_a_fetch=most)

    found = view(log)

    starts = [0] if keeps_records else range(log.start + 1)
    assert any(found == log.state(end, start) for end in range(len(entries), len(log.entries) + 1) for start in starts)


@pytest.mark.rule("READ-7")
@given(entries=keyed, compacted=places, end=places, between=changes(), keeps_records=st.booleans())
@settings(max_examples=300, deadline=None)
def test_view_as_of_an_offset_is_exact_or_refused(
    entries: list[Entry],
    compacted: int,
    end: int,
    between: Callable[[CompactingLog], None],
    keeps_records: bool,
) -> None:
    log = CompactingLog(entries, keeps_records=keeps_records, between=between)
    log.start = min(compacted, len(entries))
    end, start = min(end, len(entries)), log.start

    try:
        found = view(log, end, may_move=False)
    except DataLossError:
        assert log.start > end, "the log was compacted past the end"
        return

    assert any(found == log.state(end, each) for each in ([0] if keeps_records else range(start, log.start + 1)))


@given(entries=entries, shares=st.integers(1, 4))
@settings(max_examples=50, deadline=None)
def test_shares_of_the_keys_make_the_whole_state(entries: list[Entry], shares: int) -> None:
    log = CompactingLog(entries)
    log.start = len(entries) // 2

    parts = [view(log, len(entries), share=share, shares=shares) for share in range(shares)]

    assert {key: row for part in parts for key, row in part.items()} == log.state(len(entries))
    assert sum(map(len, parts)) == len(log.state(len(entries)))


THREE: list[Entry] = [(b"a", b"1"), (b"b", b"1"), (b"a", b"2"), (b"a", b"3")]


@pytest.mark.parametrize("start", [3, 4])
def test_view_before_the_end_of_what_is_compacted_is_data_loss(start: int, caplog: pytest.LogCaptureFixture) -> None:
    log = CompactingLog(THREE)
    log.start = start
    lost = f"the newest records as of offset 2 are not all left: the log is compacted up to offset {start}"

    with pytest.raises(DataLossError, match=f"{lost}; set failOnDataLoss to false"):
        view(log, 2, may_move=False)

    assert view(log, 2, may_move=False, failOnDataLoss="false") == {b"b": (1, b"1")}
    assert caplog.text.count(lost) == 1


def test_view_before_the_start_of_the_log_is_data_loss() -> None:
    log = CompactingLog(THREE, keeps_records=False)
    log.start = 3

    with pytest.raises(DataLossError, match="Some data may have been lost because it was aged out by the quorum"):
        view(log, 2, may_move=False)

    assert view(log, 2, may_move=False, failOnDataLoss="false") == {}
    assert view(log) == {b"a": (3, b"3")}


def test_range_whose_start_was_aged_out_goes_on_at_the_earliest_record_if_data_may_be_lost() -> None:
    log = CompactingLog(THREE, keeps_records=False)
    log.start = 2

    with pytest.raises(DataLossError, match="Some data may have been lost because it was aged out by the quorum"):
        read(log, 1, 4)

    assert [offset for offset, _, _ in read(log, 1, 4, failOnDataLoss="false")] == [2, 3]
