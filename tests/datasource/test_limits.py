"""The limits of micro-batches: rows, bytes, and the wait for enough rows."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest
from pyspark.sql.streaming.datasource import ReadAllAvailable, ReadLimit, ReadMaxBytes, ReadMaxRows, ReadMinRows

from datasource.limits import BatchLimits, TriggerDelay, default_limit
from datasource.micro_batch import has_rows, next_batch
from datasource.offsets import Reached
from datasource.options import ReadOptions
from datasource.stream_reader import KraftStreamReader
from raft.client import BatchPlan, LogPosition
from raft.errors import ConfigError
from raft.types import Epoch, Offset
from tests.datasource.logs import CLUSTER_ID, Log, LogClient

LIMIT = ReadMaxRows(1)
"""Any limit but ReadAllAvailable: the options count."""


def options(**given: Any) -> ReadOptions:
    return ReadOptions.of({"kraft.bootstrap.servers": "h:1", **{name: str(value) for name, value in given.items()}})


def client(records: int, *, control: Iterable[int] = (), counts_bytes: bool = True) -> LogClient:
    return LogClient(
        Log(epochs=[1] * records, checksums=range(records), control=frozenset(control), counts_bytes=counts_bytes)
    )


def start_of_log() -> Reached:
    return Reached(cluster_id=CLUSTER_ID, point=LogPosition(offset=Offset(0), epoch=Epoch(0)))


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        pytest.param({}, ReadAllAvailable(), id="no limit"),
        pytest.param({"maxOffsetsPerTrigger": 5}, ReadMaxRows(5), id="rows"),
        pytest.param({"maxBytesPerTrigger": 6}, ReadMaxBytes(6), id="bytes"),
        pytest.param({"minOffsetsPerTrigger": 7}, ReadMinRows(7), id="at least"),
        pytest.param({"maxOffsetsPerTrigger": 9, "minOffsetsPerTrigger": 7}, ReadMaxRows(9), id="between"),
    ],
)
def test_spark_is_given_one_of_the_limits(given: dict[str, int], expected: ReadLimit) -> None:
    assert default_limit(options(**given)) == expected


def test_all_limits_count_whichever_spark_names() -> None:
    read = options(maxOffsetsPerTrigger=9, maxBytesPerTrigger=800, minOffsetsPerTrigger=7)

    assert BatchLimits.of(read, LIMIT, None) == BatchLimits(max_rows=9, max_bytes=800, min_rows=7)


def test_no_limit_counts_when_spark_asks_for_everything() -> None:
    read = options(maxOffsetsPerTrigger=9, maxBytesPerTrigger=800, minOffsetsPerTrigger=7)

    assert BatchLimits.of(read, ReadAllAvailable(), None) == BatchLimits()


def test_query_that_ends_with_what_is_available_waits_for_no_rows() -> None:
    limits = BatchLimits.of(options(minOffsetsPerTrigger=7), LIMIT, Offset(3))

    assert limits == BatchLimits(min_rows=None, target=Offset(3))


@pytest.mark.parametrize(
    ("limits", "end"),
    [
        pytest.param(BatchLimits(max_bytes=350), 3, id="bytes"),
        pytest.param(BatchLimits(max_bytes=10), 1, id="bytes, fewer than one record has"),
        pytest.param(BatchLimits(max_bytes=350, max_rows=2), 2, id="rows are fewer"),
        pytest.param(BatchLimits(max_bytes=350, max_rows=5), 3, id="bytes are fewer"),
        pytest.param(BatchLimits(max_bytes=350, target=Offset(2)), 2, id="the target is before"),
    ],
)
def test_batch_ends_at_the_lowest_limit(limits: BatchLimits, end: int) -> None:
    batch = next_batch(client(8), options(), start_of_log(), limits)

    assert (batch.end.offset, batch.log_end) == (end, 8)


def test_limit_of_bytes_is_refused_when_the_leader_cannot_count_them() -> None:
    with pytest.raises(
        ConfigError, match=r"maxBytesPerTrigger: the leader cannot count bytes, .* maxOffsetsPerTrigger"
    ):
        next_batch(client(8, counts_bytes=False), options(), start_of_log(), BatchLimits(max_bytes=350))


@pytest.mark.parametrize(
    ("records", "control", "includes_control", "at_least", "expected"),
    [
        pytest.param(5, (), False, 5, True, id="as many"),
        pytest.param(5, (), False, 6, False, id="fewer"),
        pytest.param(9, (), False, 3, True, id="more"),
        pytest.param(5, (2,), False, 5, False, id="control records do not count"),
        pytest.param(5, (2,), False, 4, True, id="enough besides the control records"),
        pytest.param(5, (2, 4), False, 3, True, id="control records at the end"),
        pytest.param(5, (2,), True, 5, True, id="control records are rows"),
        pytest.param(1, (), False, 1, True, id="one"),
        pytest.param(0, (), False, 1, False, id="none"),
    ],
)
def test_rows_of_a_batch_are_compared_with_the_least(
    records: int, control: tuple[int, ...], includes_control: bool, at_least: int, expected: bool
) -> None:
    limits = BatchLimits(counts_control_records=includes_control)
    start = LogPosition(offset=Offset(0), epoch=Epoch(0))

    assert has_rows(client(records, control=control), start, limits, at_least=at_least) is expected


def test_first_batch_does_not_wait() -> None:
    assert not TriggerDelay(10, lambda: 0).waits(has_enough_rows=False)


@pytest.mark.kafka_suite(13)
def test_batch_waits_until_it_has_enough_rows_or_is_due() -> None:
    times_s = iter([0, 9, 9, 18, 19, 20])
    delay = TriggerDelay(10, lambda: next(times_s))

    waited = [delay.waits(has_enough_rows=has_enough) for has_enough in (True, False, True, False, False, False)]

    assert waited == [False, True, False, True, False, True]


# The reader as Spark calls it


class ReaderOf(KraftStreamReader):
    """A reader of a log in memory."""

    def __init__(self, read: ReadOptions, log_client: LogClient) -> None:
        super().__init__(read)
        self._own_client = log_client


@pytest.mark.kafka_suite(13, 14)
def test_reader_waits_for_rows_after_its_first_batch() -> None:
    reader = ReaderOf(options(startingOffsets="earliest", minOffsetsPerTrigger=3), client(4))
    first = reader.latestOffset(reader.initialOffset(), LIMIT)

    ends = []
    planned = first
    for records in (5, 7, 9, 10):
        reader._own_client = client(records)
        planned = reader.latestOffset(planned, LIMIT)
        ends.append(planned["offset"])

    assert first["offset"] == 4, "the first batch of a query does not wait"
    assert ends == [4, 7, 7, 10]


class Growing(LogClient):
    """A log to which rows are appended after the first request."""

    def plan_batch(self, *args: Any, **kwargs: Any) -> BatchPlan:
        plan = super().plan_batch(*args, **kwargs)
        self._log = client(10)._log
        return plan


@pytest.mark.kafka_suite(13, 14)
def test_batch_has_the_rows_for_which_it_has_waited_when_they_are_committed_while_it_is_planned() -> None:
    reader = ReaderOf(options(startingOffsets="earliest", minOffsetsPerTrigger=3), client(4))
    first = reader.latestOffset(reader.initialOffset(), LIMIT)
    reader._own_client = Growing(client(5)._log)

    assert reader.latestOffset(first, LIMIT)["offset"] == 10


def test_first_batch_counts_as_a_batch_though_it_starts_at_the_end_without_rows() -> None:
    reader = ReaderOf(options(startingOffsets="latest", minOffsetsPerTrigger=3), client(4))
    planned = reader.latestOffset(reader.initialOffset(), LIMIT)
    assert planned["offset"] == 4

    ends = []
    for records in (5, 6, 7):
        reader._own_client = client(records)
        planned = reader.latestOffset(planned, LIMIT)
        ends.append(planned["offset"])

    assert ends == [4, 4, 7]


def test_reader_reports_where_the_log_ends_and_not_the_batch() -> None:
    reader = ReaderOf(options(startingOffsets="earliest", maxOffsetsPerTrigger=2), client(8))

    planned = reader.latestOffset(reader.initialOffset(), LIMIT)

    assert planned["offset"] == 2
    assert reader.reportLatestOffset() == {"version": 2, "clusterId": CLUSTER_ID, "offset": 8, "epoch": 1}


def test_reader_that_has_planned_nothing_reports_nothing() -> None:
    assert ReaderOf(options(), client(8)).reportLatestOffset() is None
