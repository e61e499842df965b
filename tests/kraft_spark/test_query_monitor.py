"""What a monitor makes of the events of queries: rows, lag, leader changes, and log lines."""

from __future__ import annotations

import logging
from dataclasses import fields
from datetime import UTC, datetime
from typing import Any

import pytest

from kraft_spark import QueryMonitor
from kraft_spark.monitoring import PROGRESS_SCHEMA, ProgressRow, monitored_query, query_table
from tests.kraft_spark.query_events import CLUSTER, RATE_SOURCE, QueryEvents, kraft_source

DATA_SOURCE = "[PYTHON_DATA_SOURCE_ERROR] the value is 4711"


class Clock:
    """Time that a test moves."""

    now_s = 1000.0

    def __call__(self) -> float:
        return self.now_s


def lags(monitor: QueryMonitor) -> list[int | None]:
    return [row.lag_offsets for row in monitor.rows()]


def leader_changes(monitor: QueryMonitor) -> list[int | None]:
    return [row.leader_changes for row in monitor.rows()]


def test_representation_has_the_numbers_of_queries_and_rows() -> None:
    monitor, query = QueryMonitor(), QueryEvents()
    monitor.onQueryStarted(query.started())
    monitor.onQueryProgress(query.progress(kraft_source(30, 75, epoch=3)))

    assert repr(monitor) == "<QueryMonitor running_queries=1 rows=1>"


def test_row_has_the_fields_of_the_progress() -> None:
    monitor, query = QueryMonitor(), QueryEvents()
    monitor.onQueryStarted(query.started())

    monitor.onQueryProgress(query.progress(kraft_source(30, 75, epoch=3), observed={"kraft_bytes": {"bytes": 1200}}))

    assert monitor.rows() == [
        ProgressRow(
            timestamp=datetime(2026, 11, 21, 10, 0, 0, 250_000, tzinfo=UTC),
            query_name="orders",
            query_id=str(query.query_id),
            run_id=str(query.run_id),
            batch_id=0,
            input_rows=10,
            input_rows_per_second=5.0,
            processed_rows_per_second=20.0,
            observed_bytes=1200,
            processed_bytes_per_second=2400.0,
            trigger_ms=500,
            latest_offset_ms=7,
            add_batch_ms=300,
            commit_ms=100,
            source=0,
            cluster_id=CLUSTER,
            start_offset=20,
            end_offset=30,
            latest_offset=75,
            lag_offsets=45,
            epoch=3,
            leader_changes=0,
        )
    ]


def test_schema_has_the_fields_of_a_row_in_their_order() -> None:
    assert PROGRESS_SCHEMA.names == [field.name for field in fields(ProgressRow)]
    assert [field.nullable for field in PROGRESS_SCHEMA] == ["None" in str(field.type) for field in fields(ProgressRow)]


@pytest.mark.kafka_suite(19)
@pytest.mark.parametrize(
    ("source", "lag"),
    [
        pytest.param(kraft_source(10, 10), 0, id="at the end"),
        pytest.param(kraft_source(10, 4), 0, id="behind a leader that knows less"),
        pytest.param(kraft_source(10, None), None, id="no latest offset"),
        pytest.param(
            kraft_source(10, 0, latestOffset={"version": 2, "clusterId": "another", "offset": 99, "epoch": 1}),
            None,
            id="end of another cluster",
        ),
        pytest.param(kraft_source(10, 0, latestOffset={"version": 99, "offset": 99}), None, id="later version"),
        pytest.param(kraft_source(10, 0, latestOffset="None"), None, id="None of Java"),
        pytest.param(kraft_source(10, 0, latestOffset='{"version": 2, "start": "latest"}'), None, id="a start"),
    ],
)
def test_lag_is_none_if_the_end_of_the_log_is_unknown(source: dict[str, Any], lag: int | None) -> None:
    monitor = QueryMonitor()

    monitor.onQueryProgress(QueryEvents().progress(source))

    assert lags(monitor) == [lag]


@pytest.mark.parametrize(
    ("offsets", "start"),
    [
        pytest.param({"startOffset": None}, None, id="unknown"),
        pytest.param({"startOffset": '{"version": 2, "start": "earliest"}'}, None, id="a start"),
        pytest.param(
            {
                "startOffset": None,
                "endOffset": {
                    "version": 2,
                    "clusterId": CLUSTER,
                    "offset": 9,
                    "epoch": 1,
                    "from": {"offset": 4, "epoch": 1},
                },
            },
            4,
            id="in the end of the first batch",
        ),
    ],
)
def test_start_of_a_first_batch_is_in_its_end(offsets: dict[str, Any], start: int | None) -> None:
    monitor = QueryMonitor()

    monitor.onQueryProgress(QueryEvents().progress(kraft_source(9, 9, **offsets)))

    assert [row.start_offset for row in monitor.rows()] == [start]


def test_query_with_several_sources_has_a_row_for_each_kraft_source() -> None:
    monitor = QueryMonitor()

    monitor.onQueryProgress(QueryEvents().progress(kraft_source(10, 30), RATE_SOURCE, kraft_source(5, 6)))

    assert [(row.source, row.lag_offsets, row.input_rows) for row in monitor.rows()] == [(0, 20, 30), (2, 1, 30)]


def test_query_without_a_kraft_source_has_a_row_without_a_position() -> None:
    monitor = QueryMonitor()

    monitor.onQueryProgress(QueryEvents().progress(RATE_SOURCE, durations_ms={"triggerExecution": 500}))

    (row,) = monitor.rows()
    assert (row.source, row.cluster_id, row.lag_offsets, row.leader_changes) == (None, None, None, None)
    assert (row.input_rows, row.trigger_ms, row.add_batch_ms, row.commit_ms) == (10, 500, None, None)


@pytest.mark.parametrize(
    ("observed", "expected"),
    [
        pytest.param({}, None, id="not observed"),
        pytest.param({"another": {"bytes": 7}}, None, id="another observation"),
        pytest.param({"kraft_bytes": {"bytes": None}}, 0, id="no rows"),
        pytest.param({"kraft_bytes_left": {"bytes": 3}, "kraft_bytes_right": {"bytes": 4}}, 7, id="two streams"),
    ],
)
def test_bytes_are_those_that_were_observed(observed: dict[str, dict[str, Any]], expected: int | None) -> None:
    monitor = QueryMonitor()

    monitor.onQueryProgress(QueryEvents().progress(observed=observed))

    assert [row.observed_bytes for row in monitor.rows()] == [expected]


def test_leader_change_is_counted_when_the_epoch_rises() -> None:
    monitor, query = QueryMonitor(), QueryEvents()
    place = {"version": 2, "clusterId": CLUSTER, "offset": 40, "epoch": 6}

    monitor.onQueryProgress(query.progress(kraft_source(10, 40, epoch=4)))
    monitor.onQueryProgress(query.progress(kraft_source(20, 40, epoch=4)))
    monitor.onQueryProgress(query.progress(kraft_source(30, 40, epoch=4, latestOffset=place)))
    monitor.onQueryProgress(query.progress(kraft_source(40, 40, epoch=6)))
    monitor.onQueryProgress(query.progress(kraft_source(50, 50, epoch=9)))

    assert leader_changes(monitor) == [0, 0, 1, 1, 2]
    assert [row.epoch for row in monitor.rows()] == [4, 4, 6, 6, 9]


def test_replaced_log_is_no_leader_change() -> None:
    monitor, query = QueryMonitor(), QueryEvents()
    other = {"version": 2, "clusterId": "another", "offset": 5, "epoch": 8}

    monitor.onQueryProgress(query.progress(kraft_source(10, 10, epoch=4)))
    monitor.onQueryProgress(query.progress(kraft_source(10, 10, epoch=2)))
    monitor.onQueryProgress(query.progress(kraft_source(10, 10, endOffset=other, latestOffset=other)))
    monitor.onQueryProgress(query.progress(kraft_source(10, 10, epoch=9)))

    assert leader_changes(monitor) == [0, 0, 0, 0]


def test_history_keeps_the_last_rows_when_there_are_more() -> None:
    monitor, query = QueryMonitor(history_rows=3), QueryEvents()

    for end in range(5):
        monitor.onQueryProgress(query.progress(kraft_source(end, 10)))

    assert lags(monitor) == [8, 7, 6]


def test_history_keeps_the_rows_of_a_query_when_it_ends() -> None:
    monitor, query = QueryMonitor(), QueryEvents()
    monitor.onQueryProgress(query.progress())

    monitor.onQueryTerminated(query.terminated())
    monitor.onQueryProgress(query.progress())

    assert [row.batch_id for row in monitor.rows()] == [0], "an event that comes after the end does not count"


def test_number_of_queries_is_bounded_when_ends_are_not_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(query_table, "_MOST_QUERIES", 2)
    clock = Clock()
    monitor, queries = QueryMonitor(now_s=clock), [QueryEvents(name=f"query-{number}") for number in range(3)]
    for query in queries[:2]:
        clock.now_s += 1
        monitor.onQueryStarted(query.started())
    clock.now_s += 1
    monitor.onQueryIdle(queries[0].idle())

    monitor.onQueryStarted(queries[2].started())

    with monitor._table.reading() as (known, _):
        assert [query.name for query in known] == ["query-0", "query-2"], (
            "the one without events for longest is dropped"
        )


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"history_rows": 0}, "history_rows=0: expected 1 or more"),
        ({"log_interval_s": -1.0}, r"log_interval_s=-1.0: expected 0 or more"),
        ({"lag_warning_offsets": -1}, "lag_warning_offsets=-1: expected 0 or more"),
    ],
    ids=["history", "interval", "warning"],
)
def test_monitor_is_refused_when_a_number_is_too_low(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        QueryMonitor(**arguments)


def test_callback_logs_its_error_and_does_not_raise_it(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(monitored_query, "kraft_positions", None)
    monitor, query = QueryMonitor(), QueryEvents()

    monitor.onQueryStarted(query.started())
    monitor.onQueryProgress(query.progress())
    monitor.onQueryTerminated(query.terminated())

    assert [record.getMessage() for record in caplog.records if record.levelno == logging.WARNING] == [
        "an event of a query was not recorded: callback=onQueryProgress"
    ]
    assert monitor.rows() == []


def test_log_has_a_line_for_each_change_and_one_for_progress_in_an_interval(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "kraft_spark.monitoring")
    clock = Clock()
    monitor, query = QueryMonitor(log_interval_s=10, lag_warning_offsets=50, now_s=clock), QueryEvents()

    monitor.onQueryStarted(query.started())
    monitor.onQueryProgress(query.progress(kraft_source(10, 61), observed={"kraft_bytes": {"bytes": 600}}))
    clock.now_s += 9.9
    monitor.onQueryProgress(query.progress(kraft_source(20, 80, epoch=2)))
    clock.now_s += 0.1
    monitor.onQueryProgress(query.progress(kraft_source(30, 80, epoch=2), RATE_SOURCE, kraft_source(1, None)))
    clock.now_s -= 500
    monitor.onQueryProgress(query.progress(RATE_SOURCE, durations_ms={}))
    monitor.onQueryTerminated(query.terminated())

    named = f"name='orders' query_id={query.query_id}"
    rates = "input_rows_per_s=5.0 processed_rows_per_s=20.0"
    times = "trigger_ms=500 add_batch_ms=300 commit_ms=100"
    third = f"batch=2 rows=30 {rates} bytes_per_s=unknown {times} lag_offsets=50,unknown epoch=2,1"
    unknown = "trigger_ms=unknown add_batch_ms=unknown commit_ms=unknown lag_offsets=unknown epoch=unknown"
    assert [(record.levelname, record.getMessage()) for record in caplog.records] == [
        ("INFO", f"query started {named} run_id={query.run_id}"),
        ("WARNING", f"lag is above its limit {named} source=0 lag_offsets=51 limit=50"),
        ("INFO", f"query progress {named} batch=0 rows=10 {rates} bytes_per_s=1200 {times} lag_offsets=51 epoch=1"),
        ("INFO", f"leader changed {named} source=0 epoch=2"),
        ("INFO", f"lag is within its limit again {named} source=0 lag_offsets=50 limit=50"),
        ("INFO", f"query progress {named} {third}"),
        ("INFO", f"query progress {named} batch=3 rows=10 {rates} bytes_per_s=unknown {unknown}"),
        ("INFO", f"query stopped {named} run_id={query.run_id}"),
    ]


def test_log_names_the_class_of_an_error_but_not_its_message(caplog: pytest.LogCaptureFixture) -> None:
    monitor, query = QueryMonitor(), QueryEvents(name=None)
    monitor.onQueryStarted(query.started())

    monitor.onQueryTerminated(query.terminated(DATA_SOURCE, "PYTHON_DATA_SOURCE_ERROR"))

    assert [record.getMessage() for record in caplog.records if record.levelno == logging.WARNING] == [
        f"query failed name=None query_id={query.query_id} run_id={query.run_id} error=PYTHON_DATA_SOURCE_ERROR"
    ]
    assert "4711" not in caplog.text


def test_name_of_a_query_does_not_begin_another_log_line(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "kraft_spark.monitoring")
    monitor, query = QueryMonitor(), QueryEvents(name="orders\nWARNING forged")

    monitor.onQueryStarted(query.started())
    monitor.onQueryProgress(query.progress())

    assert not [record for record in caplog.records if "\n" in record.getMessage()]
