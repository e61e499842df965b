"""Columns to msgpack and back: every type of the table, and bytes that are something else."""

from __future__ import annotations

import datetime
from typing import Any

import msgpack
import pytest
from chispa import assert_df_equality
from pyspark.errors import PythonException
from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql.functions import col

from kraft_spark import from_msgpack, to_msgpack

pytestmark = pytest.mark.spark

EVERY_TYPE = """
    text string, octets binary, yes boolean, tiny tinyint, small smallint, number int, large bigint,
    narrow float, wide double, moment timestamp, day date, amount decimal(38,18), names array<string>,
    inner struct<x: int, deeper: struct<y: array<struct<z: timestamp>>>>
"""

VALUES = """
    select inline(array(
        named_struct(
            'text', 'ü€', 'octets', X'00FF', 'yes', true, 'tiny', -128Y, 'small', -32768S, 'number', -2147483648,
            'large', -9223372036854775808L, 'narrow', 1.5f, 'wide', 1e300d,
            'moment', timestamp'2026-11-21 01:02:03.456789', 'day', date'2026-11-21',
            'amount', cast(-0.000000000000000001 as decimal(38,18)), 'names', array('a', null, ''),
            'inner', named_struct('x', 1, 'deeper', named_struct('y', array(
                named_struct('z', timestamp'1969-12-31 23:59:59.000001'), null)))),
        named_struct(
            'text', '', 'octets', X'', 'yes', false, 'tiny', 127Y, 'small', 32767S, 'number', 2147483647,
            'large', 9223372036854775807L, 'narrow', -0.0f, 'wide', double('-infinity'),
            'moment', timestamp'0001-01-02 00:00:00', 'day', date'0001-01-01',
            'amount', cast(99999999999999999999.999999999999999999 as decimal(38,18)), 'names', array(),
            'inner', named_struct('x', null, 'deeper', null)),
        named_struct(
            'text', null, 'octets', null, 'yes', null, 'tiny', null, 'small', null, 'number', null, 'large', null,
            'narrow', null, 'wide', null, 'moment', null, 'day', null, 'amount', null, 'names', null, 'inner', null)))
"""


@pytest.fixture(scope="module")
def rows(spark: SparkSession) -> DataFrame:
    """Rows with a value of every type, at its ends, and with none."""
    rows = spark.sql(VALUES).selectExpr("struct(*) row")
    return rows.select(col("row").cast(f"struct<{EVERY_TYPE}>").alias("row"))


@pytest.mark.parametrize("zone", ["UTC", "Asia/Tokyo"])
def test_every_type_comes_back_as_it_was(spark: SparkSession, rows: DataFrame, zone: str) -> None:
    spark.conf.set("spark.sql.session.timeZone", zone)
    try:
        there_and_back = rows.select(from_msgpack(to_msgpack("row"), EVERY_TYPE).alias("row"))

        assert_df_equality(there_and_back.select("row.*"), rows.select("row.*"), ignore_nullable=True)
    finally:
        spark.conf.set("spark.sql.session.timeZone", "UTC")


def test_bytes_are_those_of_the_table(rows: DataFrame) -> None:
    first, _, nothing = (row[0] for row in rows.select(to_msgpack("row")).collect())

    moment = datetime.datetime(2026, 11, 21, 1, 2, 3, 456789, tzinfo=datetime.UTC)
    before_1970 = datetime.datetime(1969, 12, 31, 23, 59, 59, 1, tzinfo=datetime.UTC)
    assert msgpack.unpackb(first, timestamp=3) == {
        "text": "ü€",
        "octets": b"\x00\xff",
        "yes": True,
        "tiny": -(2**7),
        "small": -(2**15),
        "number": -(2**31),
        "large": -(2**63),
        "narrow": 1.5,
        "wide": 1e300,
        "moment": moment,
        "day": "2026-11-21",
        "amount": "-1E-18",
        "names": ["a", None, ""],
        "inner": {"x": 1, "deeper": {"y": [{"z": before_1970}, None]}},
    }
    assert set(msgpack.unpackb(nothing).values()) == {None}


def test_column_that_is_no_struct_is_packed_as_it_is(spark: SparkSession) -> None:
    packed = spark.sql("select 5 as n, cast(null as int) as nothing, array(1, 2) as list").select(
        to_msgpack("n"), to_msgpack(col("nothing")), to_msgpack("list")
    )

    assert tuple(packed.collect()[0]) == (b"\x05", None, b"\x92\x01\x02")


def unpacked(spark: SparkSession, packed: list[bytes | None], schema: str, mode: Any) -> list[Row | None]:
    """Unpack some bytes, one a row, in their order."""
    rows = spark.createDataFrame(list(enumerate(packed)), "at int, packed binary").coalesce(1)
    return [row[0] for row in rows.select(from_msgpack("packed", schema, mode)).collect()]


@pytest.mark.parametrize("mode", ["FAILFAST", "PERMISSIVE"])
def test_fields_that_are_missing_are_null_and_others_are_dropped(spark: SparkSession, mode: str) -> None:
    packed = [msgpack.packb(value) for value in ({"x": 1, "y": "a"}, {"more": [1], "x": 2}, {"y": None}, {})]

    found = unpacked(spark, [*packed, msgpack.packb(None), None], "x int, y string", mode)

    assert found == [Row(x=1, y="a"), Row(x=2, y=None), Row(x=None, y=None), Row(x=None, y=None), None, None]


NOT_THESE = {
    "empty": (b"", "x int"),
    "cut short": (msgpack.packb({"x": 1})[:-1], "x int"),
    "something behind": (msgpack.packb({"x": 1}) + b"\x00", "x int"),
    "no msgpack": (b"\xc1", "x int"),
    "too deep": (b"\x91" * 5000, "x int"),
    "list for struct": (msgpack.packb([1]), "x int"),
    "too large": (msgpack.packb({"x": 200}), "x tinyint"),
    "unsigned": (msgpack.packb({"x": 2**64 - 1}), "x bigint"),
    "boolean for number": (msgpack.packb({"x": True}), "x int"),
    "float for integer": (msgpack.packb({"x": 1.0}), "x int"),
    "integer for string": (msgpack.packb({"x": 1}), "x string"),
    "octets for string": (msgpack.packb({"x": b"a"}), "x string"),
    "not UTF-8": (b"\x81\xa1x\xa1\xff", "x string"),
    "no date": (msgpack.packb({"x": "2026-13-01"}), "x date"),
    "no decimal": (msgpack.packb({"x": "twelve"}), "x decimal(10,2)"),
    "too far ahead": (msgpack.packb({"x": msgpack.Timestamp(10**12)}), "x timestamp"),
    "another extension": (msgpack.packb({"x": msgpack.ExtType(5, b"a")}), "x int"),
}


def test_bytes_that_are_something_else_are_null_when_that_is_allowed(spark: SparkSession) -> None:
    rows = spark.createDataFrame([[packed for packed, _ in NOT_THESE.values()]], [*NOT_THESE]).coalesce(1)

    found = rows.select(
        *(from_msgpack(col(f"`{name}`"), schema, "PERMISSIVE").alias(name) for name, (_, schema) in NOT_THESE.items())
    )

    assert found.collect()[0].asDict() == dict.fromkeys(NOT_THESE)


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("cut short", "in msgpack: Unpack failed: incomplete input"),
        ("list for struct", "in msgpack: found a list"),
        ("too large", "in msgpack: 200 does not fit into 8 bits"),
        ("no date", "in msgpack: month must be in 1..12"),
    ],
)
def test_bytes_that_are_something_else_end_the_query_when_they_are_not_allowed(
    spark: SparkSession, name: str, reason: str
) -> None:
    packed, schema = NOT_THESE[name]

    with pytest.raises(PythonException) as refusal:
        unpacked(spark, [packed], schema, "FAILFAST")

    assert f"these bytes are not struct<{schema.replace(' ', ':')}> {reason}" in str(refusal.value)


def test_rows_around_the_bad_one_are_kept_when_bad_ones_are_null(spark: SparkSession) -> None:
    good = [msgpack.packb({"x": number}) for number in range(2)]

    assert unpacked(spark, [good[0], b"\xc1", good[1]], "x int", "PERMISSIVE") == [Row(x=0), None, Row(x=1)]


def test_numbers_of_other_writers_are_taken_where_nothing_is_lost(spark: SparkSession) -> None:
    packed = msgpack.packb({"wide": 1, "amount": "12.5", "nanos": msgpack.Timestamp(1, 999)})

    found = unpacked(spark, [packed], "wide double, amount decimal(10,2), nanos timestamp", "FAILFAST")[0]

    assert found is not None
    assert (found.wide, str(found.amount)) == (1.0, "12.50")
    assert found.nanos == datetime.datetime.fromtimestamp(1), "microseconds are what Spark has"


def test_mode_and_types_that_do_not_exist_are_refused(spark: SparkSession) -> None:
    with pytest.raises(ValueError, match="mode permissive: allowed are FAILFAST and PERMISSIVE"):
        from_msgpack("packed", "x int", "permissive")  # type: ignore[arg-type]  # a slip that a user may make

    with pytest.raises(PythonException, match="timedelta has no form in msgpack"):
        spark.sql("select interval 1 day as i").select(to_msgpack("i")).collect()
