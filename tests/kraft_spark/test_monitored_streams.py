"""A monitor beside real streams: rows of each micro-batch, a killed leader, a failed query."""

from __future__ import annotations

import logging
import os
import signal
from collections.abc import Iterator
from dataclasses import astuple
from pathlib import Path
from typing import Any

import pytest
from prometheus_client import CollectorRegistry, generate_latest
from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from kraft_spark import QueryMonitor, observe_bytes
from kraft_spark.monitoring import PROGRESS_SCHEMA
from raft.local import LocalQuorum
from tests.hang import HANG_S
from tests.local.conftest import QUICK
from tests.node.harness.waiting import eventually
from tests.spark.frames import Frames, numbered
from tests.spark.quorums import leader_of, local_quorum

pytestmark = pytest.mark.spark


@pytest.fixture(scope="module")
def quorum(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalQuorum]:
    """Three voters for the tests of this file."""
    with local_quorum(spark, tmp_path_factory.mktemp("quorum"), settings=QUICK) as quorum:
        yield quorum


@pytest.fixture
def frames(spark: SparkSession, quorum: LocalQuorum) -> Frames:
    return Frames.of(spark, quorum)


@pytest.fixture
def monitor(spark: SparkSession) -> Iterator[QueryMonitor]:
    monitor = QueryMonitor(log_interval_s=0)
    spark.streams.addListener(monitor)
    yield monitor
    spark.streams.removeListener(monitor)


def start(stream: DataFrame, checkpoint: Path, *, name: str, **trigger: Any) -> StreamingQuery:
    writer = stream.writeStream.format("noop").queryName(name).option("checkpointLocation", str(checkpoint))
    return (writer.trigger(**trigger) if trigger else writer).start()


@pytest.mark.kafka_suite(19)
def test_lag_of_a_stream_behind_its_limit_falls_to_zero(frames: Frames, monitor: QueryMonitor, tmp_path: Path) -> None:
    begin = frames.end()
    frames.write(frames.values(numbered("row", 50)).coalesce(1))

    stream = frames.stream(startingOffsets=begin, maxOffsetsPerTrigger=20)
    query = start(stream, tmp_path, name="behind", availableNow=True)
    assert query.awaitTermination(HANG_S)
    assert monitor.wait_until_terminated(query)

    assert [(row.batch_id, row.input_rows, row.lag_offsets) for row in monitor.rows()] == [
        (0, 20, 30),
        (1, 20, 10),
        (2, 10, 0),
    ]


@pytest.mark.kafka_suite(19)
def test_monitor_follows_a_stream_over_a_change_of_the_leader(
    frames: Frames,
    quorum: LocalQuorum,
    monitor: QueryMonitor,
    spark: SparkSession,
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.INFO, "kraft_spark.monitoring")
    registry = CollectorRegistry()
    monitor.register_metrics(registry)
    begin = frames.end()
    frames.write(frames.values(["aa", "bb", "cc"]).coalesce(1))
    query = start(observe_bytes(frames.stream(startingOffsets=begin)), tmp_path, name="followed")
    query.processAllAvailable()
    before = eventually(monitor.rows, "the first micro-batch is reported")[-1]
    os.kill(quorum.pids[leader_of(quorum)], signal.SIGKILL)
    frames.write(frames.values(["dddd"]))
    query.processAllAvailable()
    eventually(lambda: monitor.rows()[-1].end_offset == frames.end(), "the last micro-batch is reported")
    scraped = generate_latest(registry).decode()
    query.stop()
    assert monitor.wait_until_terminated(query)

    rows = monitor.rows()
    assert rows[0].start_offset == begin
    assert [row.start_offset for row in rows[1:]] == [row.end_offset for row in rows[:-1]]
    assert sum(row.input_rows for row in rows) == 4
    assert sum(row.observed_bytes or 0 for row in rows) == 10
    assert rows[-1].lag_offsets == 0
    assert before.epoch is not None
    assert (rows[-1].epoch or 0) > before.epoch
    assert before.leader_changes == 0
    assert (rows[-1].leader_changes or 0) >= 1
    assert all((row.commit_ms or 0) > 0 and (row.trigger_ms or 0) >= (row.add_batch_ms or 0) > 0 for row in rows)
    labels = f'query_id="{query.id}",query_name="followed"'
    assert f"kraft_query_observed_bytes_total{{{labels}}} 10.0" in scraped
    assert f'kraft_query_lag_offsets{{{labels},source="0"}} 0.0' in scraped
    assert labels not in generate_latest(registry).decode()
    found = monitor.dataframe(spark)
    assert found.schema == PROGRESS_SCHEMA
    assert [tuple(row)[1:] for row in found.collect()] == [astuple(row)[1:] for row in rows]
    ours = [record for record in caplog.records if record.name.startswith("kraft_spark.")]
    said = [record.getMessage().partition(" name=")[0] for record in ours]
    assert [said[0], said[-1]] == ["query started", "query stopped"]
    assert {*said[1:-1]} == {"query progress", "leader changed"}


def test_bytes_of_a_batch_are_counted_once_when_foreach_batch_runs_two_actions(
    frames: Frames, monitor: QueryMonitor, tmp_path: Path
) -> None:
    def run_twice(rows: DataFrame, _batch: int) -> None:
        assert rows.count() == rows.count()

    begin = frames.end()
    frames.write(frames.values(["aa", "bbbb"]).coalesce(1))
    stream = observe_bytes(frames.stream(startingOffsets=begin))
    writer = stream.writeStream.foreachBatch(run_twice).option("checkpointLocation", str(tmp_path))
    query = writer.trigger(availableNow=True).start()
    assert query.awaitTermination(HANG_S)
    assert monitor.wait_until_terminated(query)

    assert [(row.input_rows, row.observed_bytes) for row in monitor.rows()] == [(4, 6)]


def test_failed_query_is_counted_and_logged_as_failed(
    frames: Frames, monitor: QueryMonitor, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    registry = CollectorRegistry()
    monitor.register_metrics(registry)
    frames.write(frames.values(["secret"]))
    stream = frames.stream(startingOffsets="earliest").selectExpr("raise_error(cast(value as string)) failed")

    query = start(stream, tmp_path, name="failing", availableNow=True)
    with pytest.raises(StreamingQueryException):
        query.awaitTermination(HANG_S)
    assert monitor.wait_until_terminated(query)

    scraped = generate_latest(registry).decode()
    assert 'kraft_queries_terminated_total{outcome="failed"} 1.0' in scraped
    assert str(query.id) not in scraped
    assert "query failed name='failing'" in caplog.text
    assert "secret" not in caplog.text


def test_monitor_records_nothing_more_when_it_is_removed(
    spark: SparkSession, frames: Frames, monitor: QueryMonitor, tmp_path: Path
) -> None:
    written = frames.values(["value"])
    sink = {"kraft.bootstrap.servers": frames.servers, "checkpointLocation": str(tmp_path / "checkpoint")}
    (tmp_path / "input").mkdir()
    written.write.mode("append").text(str(tmp_path / "input"))
    stream = spark.readStream.text(str(tmp_path / "input"))

    def run() -> StreamingQuery:
        query = stream.writeStream.format("kraft").options(**sink).trigger(availableNow=True).start()
        assert query.awaitTermination(HANG_S)
        return query

    assert monitor.wait_until_terminated(run())
    (row,) = monitor.rows()
    assert (row.source, row.lag_offsets, row.input_rows) == (None, None, 1), "it reads no quorum"
    spark.streams.removeListener(monitor)
    written.write.mode("append").text(str(tmp_path / "input"))

    assert not monitor.wait_until_terminated(run(), timeout_s=0.5)
    assert monitor.rows() == [row]


@pytest.mark.parametrize(
    ("columns", "name", "message"),
    [
        (["cast(id as string) other"], "kraft_bytes", "no column key or value to count; columns are other"),
        (["cast(id as string) value"], "bytes", "name=bytes: expected a name that begins with kraft_bytes"),
    ],
    ids=["columns", "name"],
)
def test_observation_is_refused_when_it_would_count_nothing(
    spark: SparkSession, columns: list[str], name: str, message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        observe_bytes(spark.range(1).selectExpr(*columns), name)
