"""Batch reads: every column as it was written, ranges, splits, and a DataFrame that is read again."""

from __future__ import annotations

import json
from typing import Any

import pytest
from chispa import assert_df_equality
from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructType

from raft.local import LocalQuorum
from tests.node.harness.batches import batch_of
from tests.spark.frames import SERVERS, Frames, numbered

pytestmark = pytest.mark.spark

HEADERS = "array<struct<key:string,value:binary>>"


@pytest.mark.kafka_suite(28, 29)
def test_batch_has_the_rows_that_were_written_when_values_are_of_every_kind(
    frames: Frames, spark: SparkSession
) -> None:
    start = frames.end()
    big = b"x" * 1_000_000
    written: list[tuple[bytes | None, bytes | None, list[tuple[str, bytes | None]] | None]] = [
        (b"null value", None, None),
        (None, b"null key", []),
        (b"", b"", [("", b"")]),
        (None, None, [("twice", b"1"), ("twice", None), ("\u00fc", b"\xff\x00")]),
        (b"big", big, [("big", b"y" * 1000)]),
        (b"\x00\xff", b"\x80", None),
    ]

    frames.write(frames.rows(written, f"key binary, value binary, headers {HEADERS}").coalesce(1))

    found = frames.read(startingOffsets=start, includeHeaders=True)
    columns = f"key binary, value binary, offset bigint, timestamp timestamp, epoch int, headers {HEADERS}"
    assert found.schema == StructType.fromDDL(columns)
    # A record without headers has null there, also if it was written with an empty list.
    expected = [(key, value, start + at, headers or None) for at, (key, value, headers) in enumerate(written)]
    assert_df_equality(
        found.drop("timestamp", "epoch"),
        frames.rows(expected, f"key binary, value binary, offset bigint, headers {HEADERS}"),
        ignore_row_order=True,
    )
    stamps = found.selectExpr("count(distinct timestamp)", "min(timestamp) > now() - interval 1 minute", "min(epoch)")
    count, is_recent, epoch = stamps.collect()[0]
    assert (count, is_recent, epoch >= 1) == (1, True, True)


@pytest.mark.kafka_suite(31)
@pytest.mark.parametrize(
    ("options", "expected"),
    [
        pytest.param({"minPartitions": 3}, [33, 33, 34], id="minPartitions"),
        pytest.param({"maxRecordsPerPartition": 40}, [33, 33, 34], id="maxRecordsPerPartition"),
        pytest.param({"minPartitions": 2, "maxRecordsPerPartition": 30}, [25, 25, 25, 25], id="both"),
        pytest.param({"minPartitions": 500, "endingOffsets": 5}, [1, 1, 1, 1, 1], id="more than rows"),
    ],
)
def test_batch_is_split_into_tasks_when_options_say_so(
    frames: Frames, hundred: tuple[int, list[str]], options: dict[str, int], expected: list[int]
) -> None:
    start, values = hundred
    end = start + options.pop("endingOffsets", 100)

    read = frames.read(startingOffsets=start, endingOffsets=end, **options)

    rows = read.selectExpr("spark_partition_id() task", "offset", "cast(value as string) value").collect()
    sizes = [sum(row.task == task for row in rows) for task in sorted({row.task for row in rows})]
    assert sizes == expected
    assert sorted((row.offset, row.value) for row in rows) == list(enumerate(values, start))[: end - start]
    assert all(row.task <= other.task for row in rows for other in rows if row.offset < other.offset)


@pytest.fixture(scope="module")
def hundred(spark: SparkSession, quorum: LocalQuorum) -> tuple[int, list[str]]:
    """Write a hundred records in one batch; return their first offset and their values."""
    frames = Frames.of(spark, quorum)
    start, values = frames.end(), numbered("hundred", 100)
    frames.write(frames.values(values).coalesce(1))
    return start, values


@pytest.mark.kafka_suite(35, 36)
def test_latest_is_evaluated_at_each_run_when_one_dataframe_is_read_again(frames: Frames) -> None:
    start = frames.end()
    frames.write(frames.values(["first"]))
    read = frames.read(startingOffsets=start).selectExpr("cast(value as string) value")
    twice, view = read.union(read), f"log_from_{start}"
    read.createOrReplaceTempView(view)

    def seen(frame: DataFrame) -> list[str]:
        return sorted(row.value for row in frame.collect())

    assert seen(read) == ["first"]
    frames.write(frames.values(["second"]))

    assert seen(read) == ["first", "second"]
    assert seen(read.where("value = 'second'")) == ["second"]
    assert seen(twice) == ["first", "first", "second", "second"]
    assert seen(read.alias("a").join(read.alias("b"), "value")) == ["first", "second"]
    assert seen(frames.spark.sql(f"select value from {view} where value > 'a'")) == ["first", "second"]


@pytest.mark.kafka_suite(31, 35)
def test_tasks_of_a_dataframe_that_is_read_again_have_the_rows_that_were_written_since(frames: Frames) -> None:
    start = frames.end()
    frames.write(frames.values(numbered("row", 21)).coalesce(1))
    read = frames.read(startingOffsets=start, minPartitions=6).selectExpr("cast(value as string) value")
    rows = read.rdd

    def seen() -> list[list[str]]:
        return [[row.value for row in task] for task in rows.glom().collect()]

    assert [len(task) for task in seen()] == [3, 4, 3, 4, 3, 4]
    frames.write(frames.values(numbered("row", 10, start=21)).coalesce(1))

    assert [len(task) for task in seen()] == [3, 4, 3, 4, 3, 14]
    assert [value for task in seen() for value in task] == numbered("row", 31)


def test_control_records_are_rows_when_the_option_includes_them(frames: Frames) -> None:
    start = frames.end()
    frames.write(frames.rows([(b"k", b"v", [("h", b"1")])], f"key binary, value binary, headers {HEADERS}"))

    read = frames.read(includeControlRecords=True, includeHeaders=True)

    rows = {row.offset: row.asDict(recursive=True) for row in read.collect()}
    assert [*rows] == list(range(frames.end())), "every offset of the log is a row"
    assert [*rows[0]] == ["key", "value", "offset", "timestamp", "epoch", "headers", "control"]
    first: dict[str, Any] = json.loads(rows[0]["control"])
    assert (rows[0]["key"], rows[0]["value"], rows[0]["headers"]) == (None, None, None)
    assert (first["type"], [voter["voterId"] for voter in first["voters"]]) == ("LeaderChange", [1, 2, 3])
    assert first["leaderId"] in (1, 2, 3)
    assert [rows[start][name] for name in ("key", "value", "headers", "control")] == [
        b"k",
        b"v",
        [{"key": "h", "value": b"1"}],
        None,
    ]


def test_control_records_are_read_beside_a_timestamp_beyond_the_range_of_python(lone_frames: Frames) -> None:
    with lone_frames.client() as client:
        client.append(batch_of(b"of the year 10000", timestamp_ms=253_402_300_800_000))

    read = lone_frames.read(includeControlRecords=True).selectExpr("offset", "control is null").orderBy("offset")

    assert [tuple(row) for row in read.collect()] == [(0, False), (1, True)]


@pytest.mark.parametrize("at_end", [False, True], ids=["at the start", "at the end"])
def test_batch_of_an_empty_range_is_empty(frames: Frames, at_end: bool) -> None:
    offset = frames.end() if at_end else 0

    assert frames.read(startingOffsets=offset, endingOffsets=offset).collect() == []


def test_sql_reads_and_writes_the_log_when_the_statement_has_the_options(frames: Frames, spark: SparkSession) -> None:
    start = frames.end()
    with_servers = f"with (`{SERVERS}` = '{frames.servers}')"
    spark.sql(f"create table log_to_read using kraft options ('{SERVERS}' '{frames.servers}')")
    spark.sql("create table log_to_write (value string) using kraft")
    spark.sql(f"create temporary view log_view using kraft options ('{SERVERS}' '{frames.servers}')")

    try:
        spark.sql(f"insert into log_to_write {with_servers} values ('by sql')")
        by_table, by_view = (
            spark.sql(f"select offset, cast(value as string) from {source} where offset >= {start}").collect()
            for source in (f"log_to_read {with_servers}", "log_view")
        )
        # Spark 4.3 does not pass the options of a table to the source.
        with pytest.raises(AnalysisException, match=f"option {SERVERS} is missing"):
            spark.sql("select * from log_to_read").collect()
    finally:
        spark.sql("drop table log_to_read")
        spark.sql("drop table log_to_write")
        spark.catalog.dropTempView("log_view")

    assert [tuple(row) for row in by_table] == [tuple(row) for row in by_view] == [(start, "by sql")]


@pytest.mark.rule("READ-10")
@pytest.mark.parametrize(
    ("condition", "pushed"),
    [
        pytest.param("offset >= {start} + 40 and offset < {start} + 45", "GreaterThanOrEqual", id="offset"),
        pytest.param("timestamp >= '{time}' and offset > {start} + 97", "GreaterThan", id="timestamp"),
    ],
)
def test_read_of_some_offsets_is_the_same_when_spark_hands_the_condition_over(
    frames: Frames, spark: SparkSession, condition: str, pushed: str
) -> None:
    start = frames.end()
    frames.write(spark.range(100).selectExpr("cast(id as string) as value").coalesce(1))
    whole = frames.read(startingOffsets=start)
    condition = condition.format(start=start, time=whole.agg({"timestamp": "min"}).collect()[0][0])
    expected = sorted(whole.where(condition).collect())

    spark.conf.set("spark.sql.python.filterPushdown.enabled", "true")
    try:
        found = frames.read(startingOffsets=start).where(condition)
        assert sorted(found.collect()) == expected
        mode = spark._jvm.org.apache.spark.sql.execution.ExplainMode.fromString("formatted")  # type: ignore[union-attr]
        shown = found._jdf.queryExecution().explainString(mode)
    finally:
        spark.conf.unset("spark.sql.python.filterPushdown.enabled")
    assert expected
    assert [line for line in shown.splitlines() if "PushedFilters" in line and pushed in line], shown
