"""The modes of `from_msgpack` and `read_msgpack` in Spark: malformed rows, their bytes, and what is refused at once."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgpack
import pytest
from pyspark.errors import PythonException
from pyspark.sql import Row, SparkSession
from pyspark.sql.functions import col, expr, from_json
from pyspark.sql.types import StructType
from pyspark.testing.objects import ExamplePointUDT

from kraft_spark import from_msgpack, read_msgpack
from raft.errors import ConfigError

pytestmark = pytest.mark.spark

GOOD = msgpack.packb({"x": 1, "inner": {"must": 2}})
BAD = {
    "is no msgpack": b"\xc1",
    "has another type": msgpack.packb({"x": "a"}),
    "misses what must be there": msgpack.packb({"inner": {}}),
}
SCHEMA = "x int, inner struct<must: int not null>"


def unpacked(spark: SparkSession, packed: list[bytes | None], schema: str, mode: Any) -> list[Row | None]:
    """Unpack some bytes, one a row, in their order."""
    rows = spark.createDataFrame(list(enumerate(packed)), "at int, packed binary").coalesce(1)
    return [row[0] for row in rows.select(from_msgpack("packed", schema, mode)).collect()]


def test_rows_around_the_bad_ones_are_kept_when_bad_ones_are_null(spark: SparkSession) -> None:
    found = unpacked(spark, [GOOD, *BAD.values(), None, GOOD], SCHEMA, "PERMISSIVE")

    good = Row(x=1, inner=Row(must=2))
    assert found == [good, *[None] * len(BAD), None, good]


def test_row_that_does_not_fit_ends_the_query_and_is_named_in_failfast_mode(spark: SparkSession) -> None:
    assert unpacked(spark, [GOOD, None], SCHEMA, "FAILFAST") == [Row(x=1, inner=Row(must=2)), None]

    with pytest.raises(PythonException) as refusal:
        unpacked(spark, [GOOD, BAD["misses what must be there"]], SCHEMA, "FAILFAST")

    reason = "these bytes are not struct<x:int,inner:struct<must:int>> in msgpack: inner: must: found no value"
    assert reason in str(refusal.value)


def test_row_that_does_not_fit_is_named_with_what_was_found_and_expected(spark: SparkSession) -> None:
    with pytest.raises(PythonException, match=r"x: found a str, expected int \(row 1 of 1 in its batch\)"):
        unpacked(spark, [BAD["has another type"]], "x int", "FAILFAST")


MIXED = "x int not null, inner struct<must: int not null, y: string>"


def test_corrupt_record_has_the_bytes_and_the_fields_that_fit_are_kept(spark: SparkSession) -> None:
    partly = msgpack.packb({"x": 1, "inner": {"y": "a"}})

    rows = unpacked(spark, [GOOD, partly, b"\xc1", None], f"{MIXED}, _corrupt_record binary", "PERMISSIVE")

    assert rows == [
        Row(x=1, inner=Row(must=2, y=None), _corrupt_record=None),
        Row(x=1, inner=Row(must=None, y="a"), _corrupt_record=partly),
        Row(x=None, inner=None, _corrupt_record=b"\xc1"),
        None,
    ]


@pytest.mark.parametrize("packed", ['{"x": 1, "y": "a"}', '{"x": "no", "y": "a"}', '{"y": {"z": 1}}', "[1]", "1"])
def test_corrupt_record_is_that_of_from_json_for_the_same_value(spark: SparkSession, packed: str) -> None:
    schema = "x int, y string, list array<int>, inner struct<z: int, a: int>, _corrupt_record"
    value = json.loads(packed)
    rows = spark.createDataFrame([(packed, msgpack.packb(value))], "text string, packed binary")

    beside = rows.select(
        from_json("text", f"{schema} string").alias("json"),
        from_msgpack("packed", f"{schema} binary", "PERMISSIVE").alias("ours"),
    )

    found = beside.selectExpr(
        "struct(json.x, json.list, json.inner) <=> struct(ours.x, ours.list, ours.inner)",
        "(json._corrupt_record is null) = (ours._corrupt_record is null)",
    )
    if not isinstance(value, dict) or not isinstance(value.get("y"), dict):
        assert found.collect()[0] == (True, True)
    else:
        # JSON has text for every value, so a string accepts an object there.
        assert found.collect()[0] == (True, False)


def test_result_with_a_corrupt_record_is_nullable_as_that_of_from_json(spark: SparkSession) -> None:
    rows = spark.createDataFrame([], "value binary")
    schema = "x int not null, list array<struct<y: int not null>>, bad binary"

    result = rows.select(from_msgpack("value", schema, options={"columnNameOfCorruptRecord": "bad"}).alias("row"))

    as_json = rows.select(from_json(col("value").cast("string"), schema.replace("bad binary", "b binary")).alias("row"))
    assert str(result.schema).replace("'bad'", "'b'") == str(as_json.schema)


def test_corrupt_record_has_the_name_in_the_session(spark: SparkSession) -> None:
    spark.conf.set("spark.sql.columnNameOfCorruptRecord", "broken")
    try:
        rows = unpacked(spark, [b"\xc1"], "x int, broken binary", "PERMISSIVE")
    finally:
        spark.conf.unset("spark.sql.columnNameOfCorruptRecord")

    assert rows == [Row(x=None, broken=b"\xc1")]


DROPPED = [GOOD, *BAD.values(), None, GOOD]


@pytest.mark.parametrize(
    ("schema", "good"),
    [
        pytest.param(SCHEMA, Row(x=1, inner=Row(must=2)), id="struct"),
        pytest.param(
            f"{SCHEMA}, _corrupt_record binary", Row(x=1, inner=Row(must=2), _corrupt_record=None), id="corrupt record"
        ),
        pytest.param(
            "x int, inner struct<must: int not null>, m interval", Row(x=1, inner=Row(must=2), m=None), id="cast"
        ),
    ],
)
def test_malformed_rows_are_dropped_and_nulls_are_kept(spark: SparkSession, schema: str, good: Row) -> None:
    rows = spark.createDataFrame(list(enumerate(DROPPED)), "at int, value binary").coalesce(1)

    read = rows.transform(read_msgpack, "value", schema, name="a `name`").select("at", col("`a ``name```").alias("row"))

    assert read.withColumn("m", expr("row.x")).select("at", "m").collect() == [(0, 1), (4, None), (5, 1)]
    assert "m interval" in schema or [row.row for row in read.collect()] == [good, None, good]


def test_malformed_rows_of_a_stream_are_dropped(spark: SparkSession, tmp_path: Path) -> None:
    rows = spark.createDataFrame([(packed,) for packed in DROPPED], "value binary")
    rows.write.parquet(str(tmp_path / "rows"))
    stream = spark.readStream.schema("value binary").parquet(str(tmp_path / "rows"))

    query = (
        read_msgpack(stream, "value", SCHEMA, name="row")
        .select("row.x")
        .writeStream.format("memory")
        .queryName("kept")
        .option("checkpointLocation", str(tmp_path / "checkpoint"))
        .trigger(availableNow=True)
        .start()
    )
    query.awaitTermination()

    assert spark.table("kept").groupBy("x").count().orderBy("x").collect() == [(None, 1), (1, 2)]


def test_dropping_unpacks_every_row_once(spark: SparkSession) -> None:
    read = read_msgpack(spark.createDataFrame([], "value binary"), "value", SCHEMA, name="row")

    plan = read._jdf.queryExecution().executedPlan().toString()

    assert plan.count("ArrowEvalPython") == 1, plan


@pytest.mark.parametrize("mode", ["FAILFAST", "permissive"])
def test_other_modes_of_reading_a_table_are_those_of_the_column(spark: SparkSession, mode: Any) -> None:
    rows = spark.createDataFrame([(GOOD,), (None,)], "value binary").coalesce(1)

    read = read_msgpack(rows, "value", SCHEMA, name="row", mode=mode)

    assert read.select("row").collect() == rows.select(from_msgpack("value", SCHEMA, mode).alias("row")).collect()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        pytest.param({"mode": "LENIENT"}, "mode LENIENT: expected FAILFAST, PERMISSIVE, DROPMALFORMED", id="mode"),
        pytest.param({"mode": 1}, "mode 1: expected FAILFAST", id="mode of another type"),
        pytest.param(
            {"mode": "DropMalformed"},
            "mode DROPMALFORMED: a column cannot remove rows, expected FAILFAST",
            id="dropping",
        ),
        pytest.param(
            {"options": {"Mode": "FAILFAST"}, "mode": "PERMISSIVE"},
            "mode PERMISSIVE: the options have the mode FAILFAST",
            id="two modes",
        ),
        pytest.param(
            {"options": {"multiLine": "true"}},
            "multiLine is not an option of from_msgpack, expected one of mode, columnNameOfCorruptRecord",
            id="option",
        ),
    ],
)
def test_option_that_cannot_be_used_is_refused_at_once(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=f"^{message}") as refusal:
        from_msgpack("packed", StructType().add("x", "integer"), **arguments)

    assert isinstance(refusal.value, ValueError)


@pytest.mark.parametrize(
    ("schema", "message"),
    [
        (
            "x geometry(4326)",
            r"x: geometry\(4326\) cannot be unpacked; expected struct<srid:int,wkb:binary>, from which",
        ),
        ("array<geography(any)>", r"geography\(any\) cannot be unpacked; .* st_geogfromwkb\(wkb\) makes a geography"),
        ("map<array<map<int,int>>,int>", "array<map<int,int>> cannot be the key of a map in Spark"),
        ("x int, x string", "two fields have the name x"),
        ("x int, _corrupt_record string", "_corrupt_record: found string, expected binary"),
        ("x int, _corrupt_record binary not null", "_corrupt_record: found binary not null, expected binary"),
        (StructType().add("x", ExamplePointUDT()), "x: udt has no form in msgpack"),
        (5, "schema 5: found int, expected a type of Spark, or DDL"),
    ],
)
def test_schema_that_cannot_be_used_is_refused_at_once(spark: SparkSession, schema: Any, message: str) -> None:
    with pytest.raises(ConfigError, match=f"^{message}"):
        from_msgpack("packed", schema, "PERMISSIVE")
