"""Filters that Spark hands to a batch read: no row that passes them is left out, and less of the log is read."""

from __future__ import annotations

import sys
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from types import ModuleType

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyspark.sql.datasource import (
    DataSourceReader,
    EqualTo,
    Filter,
    GreaterThan,
    GreaterThanOrEqual,
    In,
    IsNotNull,
    LessThan,
    LessThanOrEqual,
    Not,
)

from datasource.batch_reader import FilteringBatchReader, batch_reader
from datasource.options import ReadOptions
from datasource.pushed_filters import Bounds, bounds_of
from raft.types import Offset

Row = tuple[int, int]
"""Offset, and timestamp in ms."""

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
END = 10


def at(milliseconds: float) -> datetime:
    return EPOCH + timedelta(milliseconds=milliseconds)


offsets = st.integers(-2, END + 2)
times = st.integers(-20, 60).map(lambda tenths: at(tenths / 2))

FILTERS: list[tuple[Callable[..., Filter], str, Callable[[object, object], bool]]] = [
    (GreaterThan, "offset", lambda value, given: value > given),  # type: ignore[operator]
    (GreaterThanOrEqual, "offset", lambda value, given: value >= given),  # type: ignore[operator]
    (LessThan, "offset", lambda value, given: value < given),  # type: ignore[operator]
    (LessThanOrEqual, "offset", lambda value, given: value <= given),  # type: ignore[operator]
    (EqualTo, "offset", lambda value, given: value == given),
    (GreaterThan, "timestamp", lambda value, given: value > given),  # type: ignore[operator]
    (GreaterThanOrEqual, "timestamp", lambda value, given: value >= given),  # type: ignore[operator]
    (LessThan, "timestamp", lambda value, given: value < given),  # type: ignore[operator]
    (EqualTo, "timestamp", lambda value, given: value == given),
]


@st.composite
def conditions(draw: st.DrawFn) -> tuple[Filter, Callable[[Row], bool]]:
    """A filter, and whether a row passes it."""
    if draw(st.integers(0, 9)) == 0:
        values = tuple(draw(st.lists(offsets, min_size=1, max_size=3)))
        return In(("offset",), values), lambda row: row[0] in values
    make, column, compare = draw(st.sampled_from(FILTERS))
    value = draw(offsets if column == "offset" else times)
    return make((column,), value), lambda row: compare(row[0] if column == "offset" else at(row[1]), value)


def narrowed(bounds: Bounds, count: int = END, *, has_end: bool = False) -> tuple[int, int | None]:
    """Narrow a read of a log with so many rows."""
    return bounds.narrow(Offset(0), Offset(count) if has_end else None, committed=Offset(count))


@pytest.mark.rule("READ-10")
@given(
    given_=st.lists(conditions(), max_size=4),
    timestamps=st.lists(st.integers(0, 30), max_size=END),
    later=st.lists(st.integers(0, 30), max_size=3),
    has_end=st.booleans(),
)
def test_no_row_that_passes_the_filters_is_left_out(
    given_: list[tuple[Filter, Callable[[Row], bool]]], timestamps: list[int], later: list[int], has_end: bool
) -> None:
    bounds, to_evaluate = bounds_of([each for each, _ in given_])

    start, end = narrowed(bounds, len(timestamps), has_end=has_end)
    # Without an end, records that are committed before the task runs are read too.
    rows = list(enumerate(timestamps if has_end else timestamps + later))

    read = [row for row in rows if start <= row[0] and (end is None or row[0] < end)]
    remaining = [passes for each, passes in given_ if any(each is left for left in to_evaluate)]
    assert [row for row in read if all(passes(row) for passes in remaining)] == [
        row for row in rows if all(passes(row) for _, passes in given_)
    ]


@pytest.mark.rule("READ-10")
@pytest.mark.parametrize(
    ("filters", "expected"),
    [
        pytest.param([], (0, None), id="none"),
        pytest.param([GreaterThanOrEqual(("offset",), 7)], (7, None), id="at least"),
        pytest.param([GreaterThan(("offset",), 7)], (8, None), id="above"),
        pytest.param([LessThan(("offset",), 4)], (0, 4), id="below"),
        pytest.param([LessThanOrEqual(("offset",), 4)], (0, 5), id="at most"),
        pytest.param([EqualTo(("offset",), 4)], (4, 5), id="equal"),
        pytest.param([In(("offset",), (8, 3, 5))], (3, 9), id="in"),
        pytest.param([GreaterThan(("offset",), 2), LessThan(("offset",), 4)], (3, 4), id="between"),
        pytest.param([GreaterThan(("offset",), 6), LessThan(("offset",), 4)], (7, 7), id="nothing"),
        pytest.param([GreaterThan(("offset",), 100)], (101, None), id="after the log"),
        pytest.param([LessThan(("offset",), 100)], (0, None), id="more than the log"),
        pytest.param([GreaterThanOrEqual(("timestamp",), at(5))], (0, None), id="since"),
        pytest.param([LessThan(("timestamp",), at(5))], (0, None), id="until"),
        pytest.param([Not(EqualTo(("offset",), 4)), IsNotNull(("offset",))], (0, None), id="others"),
        pytest.param([EqualTo(("value", "offset"), 4)], (0, None), id="a field of another column"),
    ],
)
def test_read_is_as_narrow_as_the_filters_allow(filters: list[Filter], expected: tuple[int, int | None]) -> None:
    bounds, _ = bounds_of(filters)

    assert narrowed(bounds) == expected


@pytest.mark.rule("READ-10")
def test_only_lower_bounds_of_the_offset_are_left_to_the_read() -> None:
    """Spark evaluates the others too: a log can have more records by the time when a task runs."""
    filters = [GreaterThan(("offset",), 2), GreaterThanOrEqual(("offset",), 2), LessThan(("offset",), 4)]

    assert bounds_of(filters)[1] == filters[2:]


@pytest.mark.rule("READ-10")
def test_filters_do_not_change_which_record_of_a_key_is_the_newest() -> None:
    options = ReadOptions.of({"kraft.bootstrap.servers": "localhost:1", "view": "latest"})
    filters: list[Filter] = [LessThan(("offset",), 4), GreaterThan(("offset",), 2)]

    reader = FilteringBatchReader(options)

    assert list(reader.pushFilters(filters)) == filters
    assert reader._bounds == Bounds()


@pytest.mark.rule("READ-10")
def test_reader_takes_filters_only_where_spark_hands_them_over(monkeypatch: pytest.MonkeyPatch) -> None:
    """Elsewhere Spark refuses a reader that could take them, unless a setting is on that is off by default."""
    options = ReadOptions.of({"kraft.bootstrap.servers": "localhost:1"})
    module = "pyspark.sql.worker.data_source_pushdown_filters"
    monkeypatch.delitem(sys.modules, module, raising=False)

    assert batch_reader(options).pushFilters.__func__ is DataSourceReader.pushFilters  # type: ignore[attr-defined]

    monkeypatch.setitem(sys.modules, module, ModuleType(module))
    assert isinstance(batch_reader(options), FilteringBatchReader)
