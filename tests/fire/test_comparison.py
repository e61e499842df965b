"""The comparison finds each kind of difference, and none where there is none."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import pytest

from raft.types import Offset
from raft.writers import WriteId
from tests.fire.comparison import differences_of, judge
from tests.fire.feeder import FedWrite
from tests.fire.logged_writes import LoggedWrite, LoggedWrites, Rows

FED = [
    FedWrite(first=0, count=3, row_bytes=20, invoked_ns=10, acknowledged_ns=19),
    FedWrite(first=3, count=2, row_bytes=40, invoked_ns=20),
    FedWrite(first=5, count=2, row_bytes=15, invoked_ns=30, acknowledged_ns=39),
]
VALUES = [value for write in FED for value in write.values()]
WRITER = 1 << 62


def log_of(*writes: Sequence[Sequence[int]]) -> LoggedWrites:
    """Return a log with these writes: the numbers of the rows in each of their parts, one offset after the other."""
    offset, logged = 0, []
    for version, write in enumerate(writes):
        parts = []
        for numbers in write:
            rows = [(Offset(offset + at), VALUES[number]) for at, number in enumerate(numbers)]
            offset += len(numbers)
            parts.append(rows)
        logged.append(LoggedWrite(key=WriteId(WRITER, version), parts=parts, is_multipart=len(write) > 1))
    return LoggedWrites(writes=logged, aborted_parts=0, aborted_rows=0, complaints=[])


SOURCE = log_of([[0, 1, 2]], [[3, 4]], [[5, 6]])
SINK = log_of([[0, 1]], [[2, 3], [4, 5, 6]])


def sentences(fed: Sequence[FedWrite], source: LoggedWrites, sink: LoggedWrites) -> list[tuple[str, str]]:
    verdict = judge(fed, source, sink, complaints=[])
    kinds = {"lost": verdict.lost, "doubled": verdict.doubled, "broken": verdict.broken}
    return [(kind, sentence) for kind, found in kinds.items() for sentence in found]


def test_equal_logs_have_no_differences() -> None:
    assert sentences(FED, SOURCE, SINK) == []


def test_write_that_is_not_acknowledged_may_be_missing_in_the_source() -> None:
    assert sentences(FED, log_of([[0, 1, 2]], [[5, 6]]), log_of([[0, 1, 2, 5, 6]])) == []


@pytest.mark.parametrize(
    ("source", "sink", "expected"),
    [
        pytest.param(
            log_of([[0, 2]], [[3, 4]], [[5, 6]]),
            log_of([[0, 2, 3, 4, 5, 6]]),
            [("lost", "b'0000000001..........' was acknowledged and is not in the source")],
            id="an acknowledged row is lost in the source",
        ),
        pytest.param(
            SOURCE,
            log_of([[0, 1]], [[2, 3], [5, 6]]),
            [("lost", "b'0000000004..........' is at 4 in the source and not in the sink")],
            id="a row is lost in the sink",
        ),
        pytest.param(
            log_of([[0, 1, 2]], [[3, 4]], [[5, 6]], [[5]]),
            SINK,
            [("doubled", "b'0000000005.....' is in the source 2 times, at [5, 7]")],
            id="a row is doubled in the source",
        ),
        pytest.param(
            SOURCE,
            log_of([[0, 1]], [[2, 3], [4, 5, 5, 6]]),
            [("doubled", "b'0000000005.....' is in the sink 2 times, at [5, 6]")],
            id="a row is doubled in the sink",
        ),
        pytest.param(
            log_of([[0, 1, 2]], [[3]], [[5, 6]]),
            log_of([[0, 1, 2, 3, 5, 6]]),
            [("broken", "1 of 2 rows of the write at row 3 are in the source")],
            id="a write is in the source in part",
        ),
        pytest.param(
            log_of([[0, 1, 2]], [[5, 6]]),
            log_of([[0, 1, 2]], [[3, 5, 6]]),
            [("broken", "b'0000000003..........' at 3 in the sink was written by no client")],
            id="the sink has a row that is not in the source",
        ),
        pytest.param(
            SOURCE,
            log_of([[0, 1]], [[2, 3], [4, 6, 5]]),
            [("broken", "rows of a task of micro-batch 1 are not in the order of the source")],
            id="a task has another order",
        ),
        pytest.param(
            SOURCE,
            log_of([[0, 1, 3]], [[2], [4, 5, 6]]),
            [("broken", "micro-batch 1 has the row of offset 2, after that of offset 3")],
            id="micro-batches have another order",
        ),
    ],
)
def test_difference_is_found(source: LoggedWrites, sink: LoggedWrites, expected: list[tuple[str, str]]) -> None:
    assert sentences(FED, source, sink) == expected


def test_value_that_differs_in_its_last_byte_is_another_one() -> None:
    def changed(log: LoggedWrites) -> LoggedWrites:
        write = log.writes[0]
        parts = [[(offset, value[:-1] + b"!") for offset, value in part] for part in write.parts]
        return replace(log, writes=[replace(write, parts=parts), *log.writes[1:]])

    assert [kind for kind, _ in sentences(FED, SOURCE, changed(SINK))] == ["lost", "lost", "broken", "broken"]


def test_micro_batch_that_is_in_the_sink_twice_under_one_key_is_found() -> None:
    first, second = SINK.writes

    found = sentences(FED, SOURCE, replace(SINK, writes=[first, replace(second, key=first.key)]))

    assert found == [("broken", f"micro-batch 0 of writer {WRITER} is in the sink 2 times")]


def test_complaints_of_the_run_and_of_the_logs_are_in_the_verdict() -> None:
    verdict = judge(
        FED, replace(SOURCE, complaints=["of the source"]), replace(SINK, complaints=["of the sink"]), complaints=["a"]
    )

    assert verdict.broken == ["a", "of the source", "of the sink"]


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        pytest.param(lambda rows: rows, [], id="equal"),
        pytest.param(
            lambda rows: rows[:-1], ["reader has read nothing, where the log has b'0000000006.....' at 6"], id="too few"
        ),
        pytest.param(
            lambda rows: [*rows, (Offset(9), b"more")],
            ["reader has read b'more' at 9, where the log has nothing"],
            id="too many",
        ),
        pytest.param(
            lambda rows: [(Offset(offset + 1), value) for offset, value in rows],
            ["reader has read b'0000000000..........' at 1, where the log has b'0000000000..........' at 0"],
            id="other offsets",
        ),
    ],
)
def test_reader_that_has_read_other_rows_is_named(change: Callable[[Rows], Rows], expected: list[str]) -> None:
    rows = SOURCE.rows

    assert [*differences_of({"reader": change(rows)}, rows)] == expected
