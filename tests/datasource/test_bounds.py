"""Where a new read starts and ends, by the responses of the quorum."""

from __future__ import annotations

import logging
from typing import Any

import pytest

from datasource.option_values import NamedOffset
from datasource.options import ReadOptions
from datasource.read_plan import DataLossError, before_end, resolve_end, resolve_start
from raft.errors import ConfigError
from tests.datasource.logs import Log, LogClient

TIMES = (10, 20, 20, 15, 40)


def client(*, start: int = 0) -> LogClient:
    return LogClient(Log(epochs=[1] * 5, timestamps_ms=TIMES, start=start))


def options(**given: Any) -> ReadOptions:
    return ReadOptions.of({"kraft.bootstrap.servers": "h:1", **{name: str(value) for name, value in given.items()}})


def start_of(read: ReadOptions, *, default: NamedOffset = NamedOffset.EARLIEST, log_start: int = 0) -> int:
    return resolve_start(client(start=log_start), read, read.starting_offsets, default=default)


@pytest.mark.parametrize(
    ("given", "default", "expected"),
    [
        pytest.param({}, NamedOffset.EARLIEST, 0, id="a batch's default"),
        pytest.param({}, NamedOffset.LATEST, 5, id="a stream's default"),
        pytest.param({"startingOffsets": "earliest"}, NamedOffset.LATEST, 0, id="earliest"),
        pytest.param({"startingOffsets": 3}, NamedOffset.LATEST, 3, id="an offset"),
        pytest.param({"startingOffsets": 5}, NamedOffset.LATEST, 5, id="the end"),
        pytest.param({"startingOffsets": -2}, NamedOffset.LATEST, 3, id="two rows before the end"),
        pytest.param({"startingOffsets": -9}, NamedOffset.LATEST, 0, id="more rows than there are"),
        pytest.param({"startingTimestamp": 15}, NamedOffset.EARLIEST, 1, id="the first that is as young"),
        pytest.param({"startingTimestamp": 15, "startingOffsets": 4}, NamedOffset.EARLIEST, 1, id="time beats offset"),
        pytest.param(
            {"startingTimestamp": 41, "startingOffsetsByTimestampStrategy": "latest"},
            NamedOffset.EARLIEST,
            5,
            id="none: latest",
        ),
    ],
)
def test_read_starts_there(given: dict[str, Any], default: NamedOffset, expected: int) -> None:
    assert start_of(options(**given), default=default) == expected


@pytest.mark.parametrize(
    ("given", "message"),
    [
        pytest.param(
            {"startingOffsets": 6}, "startingOffsets=6 is after the end of the log, expected 0 to 5", id="past the end"
        ),
        pytest.param(
            {"startingTimestamp": 41},
            "startingTimestamp=41: no record has this timestamp",
            id="too young",
        ),
    ],
)
def test_start_that_is_not_there_is_refused(given: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError) as refusal:
        start_of(options(**given))

    assert message in str(refusal.value)


def test_start_that_is_gone_is_data_loss(caplog: pytest.LogCaptureFixture) -> None:
    with pytest.raises(DataLossError, match="startingOffsets=1 is before the start of the log at 3"):
        start_of(options(startingOffsets=1), log_start=3)

    with caplog.at_level(logging.WARNING):
        assert start_of(options(startingOffsets=1, failOnDataLoss="false"), log_start=3) == 3
    assert "startingOffsets=1 is before the start of the log at 3" in caplog.text


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        pytest.param({}, None, id="open"),
        pytest.param({"endingOffsets": "latest"}, None, id="latest is open"),
        pytest.param({"endingOffsets": 5}, 5, id="the end as it is now"),
        pytest.param({"endingTimestamp": 20}, 1, id="before the first that is as young"),
        pytest.param({"endingTimestamp": 41}, None, id="none is as young"),
        pytest.param({"endingTimestamp": 20, "endingOffsets": 4}, 1, id="time beats offset"),
    ],
)
def test_read_ends_there(given: dict[str, Any], expected: int | None) -> None:
    assert resolve_end(client(), options(**given)) == expected


def test_end_past_the_end_is_refused() -> None:
    with pytest.raises(ConfigError, match="endingOffsets=6 is after the end of the log, expected at most 5"):
        resolve_end(client(), options(endingOffsets=6))


@pytest.mark.rule("READ-7")
@pytest.mark.parametrize("offset", [0, 1, 2, 3])
def test_start_in_a_gap_of_a_compacted_log_is_no_data_loss(offset: int) -> None:
    log = LogClient(Log(epochs=[1] * 5, start=4, is_compacted=True, checksums=range(5)))
    read = options(startingOffsets=offset)

    assert resolve_start(log, read, read.starting_offsets, default=NamedOffset.EARLIEST) == offset
    assert resolve_start(log, options(), None, default=NamedOffset.EARLIEST) == 0


@pytest.mark.parametrize("rows", range(1, 13))
@pytest.mark.parametrize(
    "control",
    [
        pytest.param((), id="no control records"),
        pytest.param((0, 7), id="some"),
        pytest.param((3, 4, 5, 6, 7, 8), id="many in the middle"),
        pytest.param((10, 11), id="at the end"),
    ],
)
def test_rows_before_the_end_are_counted_without_control_records(rows: int, control: tuple[int, ...]) -> None:
    log = LogClient(Log(epochs=[1] * 12, checksums=range(12), control=frozenset(control)))
    data = [offset for offset in range(12) if offset not in control]

    start = before_end(log, rows, counts_control_records=False)

    assert [offset for offset in data if offset >= start] == data[-rows:]
    assert log.plans <= 12


def test_rows_before_the_end_are_offsets_when_control_records_are_rows_or_the_leader_cannot_count() -> None:
    counting = LogClient(Log(epochs=[1] * 12, checksums=range(12), control=frozenset((9, 10))))
    not_counting = LogClient(Log(epochs=[1] * 12))

    assert before_end(counting, 4, counts_control_records=True) == 8
    assert before_end(not_counting, 4, counts_control_records=False) == 8
