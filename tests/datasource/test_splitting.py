"""How a range becomes tasks: every offset in exactly one of them, in order, none of them too large or empty."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from datasource.options import ReadOptions
from datasource.read_plan import LogRange, split
from raft.types import Epoch, Offset


def options(*, min_partitions: int | None = None, max_records: int | None = None) -> ReadOptions:
    given = {"kraft.bootstrap.servers": "h:1"}
    if min_partitions is not None:
        given["minPartitions"] = str(min_partitions)
    if max_records is not None:
        given["maxRecordsPerPartition"] = str(max_records)
    return ReadOptions.of(given)


def pieces(start: int, end: int | None, read: ReadOptions, *, committed: int | None = None) -> list[LogRange]:
    last = end if committed is None else committed
    assert last is not None, "either is known"
    return split(
        Offset(start),
        None if end is None else Offset(end),
        read,
        committed=Offset(last),
        cluster_id="of the log",
        epoch=Epoch(4),
    )


def edges(ranges: list[LogRange]) -> list[tuple[int, int | None]]:
    return [(part.start_offset, part.end_offset) for part in ranges]


@pytest.mark.kafka_suite(31)
@pytest.mark.parametrize(
    ("start", "end", "read", "expected"),
    [
        pytest.param(0, 100, options(), [(0, 100)], id="whole"),
        pytest.param(0, 100, options(min_partitions=3), [(0, 33), (33, 66), (66, 100)], id="three"),
        pytest.param(10, 13, options(min_partitions=9), [(10, 11), (11, 12), (12, 13)], id="no empty task"),
        pytest.param(0, 100, options(max_records=40), [(0, 33), (33, 66), (66, 100)], id="at most 40"),
        pytest.param(0, 100, options(max_records=100), [(0, 100)], id="at most all"),
        pytest.param(0, 6, options(min_partitions=2, max_records=2), [(0, 2), (2, 4), (4, 6)], id="limit beats hint"),
        pytest.param(
            0, 6, options(min_partitions=6, max_records=3), [(n, n + 1) for n in range(6)], id="hint beats limit"
        ),
        pytest.param(7, 7, options(min_partitions=3), [(7, 7)], id="nothing to read"),
    ],
)
def test_range_is_split_as_the_options_say(
    start: int, end: int, read: ReadOptions, expected: list[tuple[int, int]]
) -> None:
    assert edges(pieces(start, end, read)) == expected


@pytest.mark.kafka_suite(31)
@given(
    start=st.integers(0, 50),
    size=st.integers(1, 300),
    min_partitions=st.none() | st.integers(1, 400),
    max_records=st.none() | st.integers(1, 400),
)
def test_every_offset_is_in_exactly_one_task(
    start: int, size: int, min_partitions: int | None, max_records: int | None
) -> None:
    ranges = pieces(start, start + size, options(min_partitions=min_partitions, max_records=max_records))

    covered = [at for part in ranges for at in range(part.start_offset, part.end_offset or 0)]
    sizes = [(part.end_offset or 0) - part.start_offset for part in ranges]
    assert covered == list(range(start, start + size))
    assert min(sizes) >= 1
    assert max(sizes) - min(sizes) <= 1
    assert max(sizes) <= (max_records or size)
    assert len(ranges) >= min(min_partitions or 1, size)


def test_last_task_is_open_when_the_end_is_latest() -> None:
    ranges = pieces(0, None, options(min_partitions=3), committed=9)

    assert edges(ranges) == [(0, 3), (3, 6), (6, None)]
    assert {part.epoch for part in ranges} == {4}


@pytest.mark.parametrize("committed", [0, 4, 5], ids=["empty log", "end before the start", "end at the start"])
def test_one_open_task_is_planned_when_the_log_is_empty(committed: int) -> None:
    assert edges(pieces(5, None, options(min_partitions=3), committed=committed)) == [(5, None)]
