"""Settings of the session and types of the column do not change what is packed and unpacked."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import msgpack
import pytest
from pyspark.errors import PythonException
from pyspark.sql import DataFrame, Row, SparkSession

from kraft_spark import from_msgpack, read_msgpack, to_msgpack

pytestmark = pytest.mark.spark


@contextmanager
def setting(spark: SparkSession, name: str, value: str) -> Iterator[None]:
    before = spark.conf.get(name, None)
    spark.conf.set(name, value)
    try:
        yield
    finally:
        if before is None:
            spark.conf.unset(name)
        else:
            spark.conf.set(name, before)


def again(rows: DataFrame) -> DataFrame:
    """Return rows with the column `row`, a struct of all columns, and with `again`, the same after pack and unpack."""
    row = rows.selectExpr("struct(*) row")
    return row.select("row", from_msgpack(to_msgpack("row"), row.schema["row"].dataType).alias("again"))


# Without a zone: the hour that New York leaves out, and the day that Samoa left out. With one: the hour that comes
# twice in New York, and a year in which zones were local mean times.
TIMES = """
    select timestamp_micros(micros) moment, timestamp_ntz'2026-03-08 02:30:00.000001' as local, date'2011-12-30' as day
    from values (1793511000000000L), (1793514600000000L), (-2840140800000001L), (-62135596800000000L) as t(micros)
"""


@pytest.mark.parametrize("writer", ["UTC", "America/New_York", "Pacific/Apia"])
@pytest.mark.parametrize("reader", ["UTC", "America/New_York", "Pacific/Apia"])
def test_times_are_unchanged_in_the_time_zone_of_any_reader(spark: SparkSession, writer: str, reader: str) -> None:
    zone = "spark.sql.session.timeZone"
    with setting(spark, zone, writer):
        packed = [row[0] for row in spark.sql(TIMES).selectExpr("struct(*) row").select(to_msgpack("row")).collect()]
    with setting(spark, zone, reader):
        rows = spark.createDataFrame([(row,) for row in packed], "packed binary").coalesce(1)
        schema = "moment timestamp, local timestamp_ntz, day date"
        found = rows.select(from_msgpack("packed", schema).alias("row"))

        texts = found.selectExpr("unix_micros(row.moment)", "cast(row.local as string)", "cast(row.day as string)")

        assert texts.collect() == [
            (micros, "2026-03-08 02:30:00.000001", "2011-12-30")
            for micros in (1793511000000000, 1793514600000000, -2840140800000001, -62135596800000000)
        ]


VALUES = """
    select inline(array(
        named_struct('x', 'a', 'y', X'00', 'z', map('a', array(X'01')), 'months', interval '-1-2' year to month,
                     'calendar', make_interval(1, -2, 0, 4), 'v', parse_json('[1]')),
        named_struct('x', null, 'y', null, 'z', null, 'months', null, 'calendar', null, 'v', null)))
"""


@pytest.mark.parametrize(
    ("name", "value", "sql"),
    [
        pytest.param("spark.sql.execution.arrow.useLargeVarTypes", "true", VALUES, id="large types of Arrow"),
        pytest.param("spark.sql.execution.arrow.maxRecordsPerBatch", "1", VALUES, id="batches of one row"),
        pytest.param("spark.sql.ansi.enabled", "false", VALUES, id="no ANSI"),
        pytest.param("spark.sql.caseSensitive", "true", "select 1 as x, 'a' as X", id="case-sensitive names"),
    ],
)
def test_values_are_unchanged_with_any_setting(spark: SparkSession, name: str, value: str, sql: str) -> None:
    with setting(spark, name, value):
        rows = spark.sql(sql)

        both = again(rows)

        assert both.schema["again"].dataType.simpleString() == both.schema["row"].dataType.simpleString()
        texts = both.selectExpr("to_json(row)", "to_json(again)").collect()
        assert len(texts) == rows.count()
        assert all(row == after for row, after in texts)


def test_strings_keep_the_collation_of_the_schema(spark: SparkSession) -> None:
    rows = spark.sql("select 'a' collate UNICODE_CI x, array('B' collate UTF8_LCASE) y, map('k' collate UNICODE, 1) z")

    both = again(rows)

    assert both.schema["again"].dataType.simpleString() == (
        "struct<x:string collate UNICODE_CI,y:array<string collate UTF8_LCASE>,z:map<string collate UNICODE,int>>"
    )
    assert both.selectExpr("again.x = 'A'", "array_contains(again.y, 'b')", "again.z['k']").collect() == [
        (True, True, 1)
    ]


def test_corrupt_record_is_found_with_large_types_of_arrow(spark: SparkSession) -> None:
    with setting(spark, "spark.sql.execution.arrow.useLargeVarTypes", "true"):
        rows = spark.sql("select X'C1' as packed")

        found = rows.select(from_msgpack("packed", "x string, _corrupt_record binary", "PERMISSIVE").alias("row"))

        assert found.collect() == [Row(row=Row(x=None, _corrupt_record=b"\xc1"))]


@pytest.mark.parametrize("mode", ["FAILFAST", "PERMISSIVE", "DROPMALFORMED"])
@pytest.mark.parametrize("value", ["'a'", "5", "struct(X'C0' as x)"])
def test_column_that_is_not_binary_ends_the_query_in_every_mode(spark: SparkSession, value: str, mode: Any) -> None:
    rows = spark.sql(f"select {value} as value")

    with pytest.raises(PythonException, match=r"found a column of the type .*, expected binary"):
        rows.transform(read_msgpack, "value", "int", name="number", mode=mode).collect()


def test_null_column_is_null(spark: SparkSession) -> None:
    rows = spark.sql("select null as value")

    assert rows.select(from_msgpack("value", "int").alias("number"), to_msgpack("value").alias("packed")).collect() == [
        Row(number=None, packed=None)
    ]


def test_wide_and_deep_types_are_unchanged(spark: SparkSession) -> None:
    deep: dict[str, Any] = {"x": 1}
    schema = "struct<x: int>"
    for _ in range(60):
        deep, schema = {"x": deep}, f"struct<x: {schema}>"
    wide = {f"field-{number}": number for number in range(1_000)}
    fields = ", ".join(f"`{name}` int" for name in wide)
    rows = spark.createDataFrame([(msgpack.packb(deep), msgpack.packb(wide))], "deep binary, wide binary")

    read = rows.select(from_msgpack("deep", schema).alias("deep"), from_msgpack("wide", fields).alias("wide"))

    assert read.select(to_msgpack("deep"), to_msgpack("wide")).collect() == rows.collect()
    assert read.selectExpr("deep" + ".x" * 61, "wide.`field-999`").collect() == [(1, 999)]
