"""The rows of streams: nulls, headers, timestamps, and what Spark's joins and windows make of them.

After Spark's KafkaMicroBatchSourceSuite.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.functions import count, window
from pyspark.sql.types import StructType

from raft.records.record import Record
from tests.spark.frames import Frames, numbered
from tests.spark.lone_log import LoneLog
from tests.spark.streams import Delivered, run_to_end

pytestmark = pytest.mark.spark

HEADERS = "array<struct<key:string,value:binary>>"


class Rows:
    """Collects all columns of the rows of a stream, in the order of their offsets."""

    def __init__(self, checkpoint: Path) -> None:
        self._checkpoint = checkpoint
        self.found: list[dict[str, Any]] = []

    def read(self, stream: DataFrame) -> list[dict[str, Any]]:
        """Read what is available; return the new rows."""
        self.found = []
        writer = stream.writeStream.foreachBatch(self._collect).option("checkpointLocation", str(self._checkpoint))
        run_to_end(writer.trigger(availableNow=True).start())
        return self.found

    def _collect(self, rows: DataFrame, _number: int) -> None:
        self.found += [row.asDict(recursive=True) for row in rows.orderBy("offset").collect()]


@pytest.mark.kafka_suite(28, 29)
def test_stream_has_nulls_and_headers_as_they_were_written(frames: Frames, tmp_path: Path) -> None:
    start, began = frames.end(), datetime.now(UTC)
    pairs = [(None, None)] * 2 + [("key", None)] * 2 + [(None, "value")] * 2
    headers = [None, [], [("a", b"b"), ("c", b"d")], [("e", b"f"), ("e", b"g")], [("h", None)], [("", b"")]]
    written = [(*pair, each) for pair, each in zip(pairs, headers, strict=True)]
    frames.write(frames.rows(written, f"key string, value string, headers {HEADERS}").coalesce(1))

    stream = frames.stream(startingOffsets=start, includeHeaders=True)
    rows = Rows(tmp_path).read(stream)

    columns = f"key binary, value binary, offset bigint, timestamp timestamp, epoch int, headers {HEADERS}"
    assert stream.schema == StructType.fromDDL(columns)
    assert [row["offset"] for row in rows] == list(range(start, start + 6))
    assert [(row["key"], row["value"]) for row in rows] == [
        tuple(None if text is None else text.encode() for text in pair) for pair in pairs
    ]
    assert [row["headers"] and [(each["key"], each["value"]) for each in row["headers"]] for row in rows] == [
        each or None for each in headers
    ]
    assert all(row["timestamp"].astimezone(UTC) >= began - timedelta(seconds=1) for row in rows)


@pytest.mark.kafka_suite(29)
def test_headers_can_be_added_to_a_query_and_left_out_again(frames: Frames, tmp_path: Path) -> None:
    start, rows = frames.end(), Rows(tmp_path)
    schema = f"value string, headers {HEADERS}"
    found = []
    for number, options in enumerate(({}, {"includeHeaders": True}, {})):
        frames.write(frames.rows([(f"row-{number}", [("a", b"b")])], schema))
        found += rows.read(frames.stream(startingOffsets=start, **options))

    assert [row["value"] for row in found] == [b"row-0", b"row-1", b"row-2"]
    assert [row.get("headers", "no column") for row in found] == [
        "no column",
        [{"key": "a", "value": b"b"}],
        "no column",
    ]


@pytest.mark.kafka_suite(30)
def test_timestamp_in_nanoseconds_is_an_error_that_names_its_place(lone_log: LoneLog, tmp_path: Path) -> None:
    lone_log.append(["sound", "malformed"])
    lone_log.replace_last(Record(value=b"malformed", timestamp_ms=1_712_345_678_123_456_789))
    stream = lone_log.frames().stream(startingOffsets="earliest")

    with pytest.raises(StreamingQueryException) as refusal:
        Delivered(stream, tmp_path / "checkpoint").run()

    assert "DataLossError: cannot read offsets 2 to 2: batch at offset 2, record 0: its timestamp does not fit" in str(
        refusal.value
    )


@pytest.mark.kafka_suite(33)
def test_rows_are_counted_by_windows_of_their_timestamps(
    spark: SparkSession, lone_log: LoneLog, tmp_path: Path
) -> None:
    minute_ms = 1_800_000_000_000
    for seconds, values in ((1, ["a"]), (4, ["b", "c"]), (31, ["d"])):
        lone_log.append(values, timestamp_ms=minute_ms + 1000 * seconds)
    stream = lone_log.frames().stream(startingOffsets="earliest")
    counted = stream.withWatermark("timestamp", "10 seconds").groupBy(window("timestamp", "5 seconds"))
    writer = counted.agg(count("*").alias("rows")).selectExpr("unix_millis(window.start) start", "rows").writeStream
    writer = writer.format("memory").outputMode("append").queryName("counted_rows")

    run_to_end(writer.option("checkpointLocation", str(tmp_path)).trigger(availableNow=True).start())

    found = [tuple(row) for row in spark.table("counted_rows").orderBy("start").collect()]
    # The watermark is ten seconds before the last row, so only the window of that row is still open.
    assert found == [(minute_ms, 3)]


@contextmanager
def exchange_reuse(spark: SparkSession, *, enabled: bool) -> Iterator[None]:
    name = "spark.sql.exchange.reuse"
    spark.conf.set(name, enabled)
    try:
        yield
    finally:
        spark.conf.unset(name)


@pytest.mark.kafka_suite(32)
@pytest.mark.parametrize("reuse", [True, False], ids=["exchange reused", "scanned twice"])
def test_stream_joined_with_itself_is_one_source(frames: Frames, tmp_path: Path, reuse: bool) -> None:
    start = frames.end()
    values = frames.stream(startingOffsets=start).selectExpr(
        "cast(cast(value as string) as int) value", "cast(cast(value as string) as int) % 5 key"
    )
    joined = values.join(values, "key")
    found: list[tuple[int, ...]] = []

    def collect(rows: DataFrame, _number: int) -> None:
        found.extend(tuple(row) for row in rows.collect())

    writer = joined.writeStream.foreachBatch(collect).option("checkpointLocation", str(tmp_path))
    with exchange_reuse(frames.spark, enabled=reuse):
        query = writer.start()
        try:
            frames.write(frames.values(["1", "2"]).coalesce(1))
            query.processAllAvailable()
            assert sorted(found) == [(1, 1, 1), (2, 2, 2)]
            frames.write(frames.values(["6", "3"]).coalesce(1))
            query.processAllAvailable()
            input_rows = sum(progress["numInputRows"] for progress in query.recentProgress)
        finally:
            query.stop()

    assert sorted(found) == [(1, 1, 1), (1, 1, 6), (1, 6, 1), (1, 6, 6), (2, 2, 2), (3, 3, 3)]
    assert {len(progress["sources"]) for progress in query.recentProgress} == {1}
    assert input_rows == (4 if reuse else 8)


@pytest.mark.kafka_suite(18, 19)
def test_progress_counts_the_rows_that_were_read(frames: Frames, tmp_path: Path) -> None:
    frames.write(frames.values(["before"]))
    delivered = Delivered(frames.stream(), tmp_path)
    query = delivered.start()
    try:
        query.processAllAvailable()
        frames.write(frames.values(numbered("row", 3)).coalesce(1))
        query.processAllAvailable()
    finally:
        query.stop()

    assert sum(progress["numInputRows"] for progress in query.recentProgress) == 3
    # Spark 4.3 has no metrics of sources in Python; the lag is in `kraft_spark.QueryMonitor`.
    assert [progress["sources"][0].get("metrics", {}) for progress in query.recentProgress] == [{}, {}]
