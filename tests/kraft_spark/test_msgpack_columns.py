"""Columns to msgpack and back in Spark: every type of the table, the two modes, and what is refused at once."""

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
    inner struct<x: int, deeper: struct<y: array<struct<z: timestamp>>>>, counts map<string,int>,
    by_day array<map<date,struct<of: map<timestamp,decimal(3,1)>>>>
"""

VALUES = """
    select inline(array(
        named_struct(
            'text', 'ü€', 'octets', X'00FF', 'yes', true, 'tiny', -128Y, 'small', -32768S, 'number', -2147483648,
            'large', -9223372036854775808L, 'narrow', 1.5f, 'wide', 1e300d,
            'moment', timestamp'2026-11-21 01:02:03.456789', 'day', date'2026-11-21',
            'amount', cast(-0.000000000000000001 as decimal(38,18)), 'names', array('a', null, ''),
            'inner', named_struct('x', 1, 'deeper', named_struct('y', array(
                named_struct('z', timestamp'1969-12-31 23:59:59.000001'), null))),
            'counts', map('a', 1, 'b', null),
            'by_day', array(map(date'2026-11-21', named_struct(
                'of', map(timestamp'2026-11-21 01:02:03', cast(1.5 as decimal(3,1)))), date'0001-01-01', null))),
        named_struct(
            'text', '', 'octets', X'', 'yes', false, 'tiny', 127Y, 'small', 32767S, 'number', 2147483647,
            'large', 9223372036854775807L, 'narrow', -0.0f, 'wide', double('-infinity'),
            'moment', timestamp'0001-01-02 00:00:00', 'day', date'0001-01-01',
            'amount', cast(99999999999999999999.999999999999999999 as decimal(38,18)), 'names', array(),
            'inner', named_struct('x', null, 'deeper', null), 'counts', map(), 'by_day', array(null, map())),
        named_struct(
            'text', null, 'octets', null, 'yes', null, 'tiny', null, 'small', null, 'number', null, 'large', null,
            'narrow', null, 'wide', null, 'moment', null, 'day', null, 'amount', null, 'names', null, 'inner', null,
            'counts', null, 'by_day', null)))
"""


@pytest.fixture(scope="module")
def rows(spark: SparkSession) -> DataFrame:
    """Rows with the smallest and the largest value of every type, and with null."""
    rows = spark.sql(VALUES).selectExpr("struct(*) row")
    return rows.select(col("row").cast(f"struct<{EVERY_TYPE}>").alias("row"))


@pytest.mark.parametrize("zone", ["UTC", "Asia/Tokyo"])
def test_every_type_is_unchanged_after_pack_and_unpack(spark: SparkSession, rows: DataFrame, zone: str) -> None:
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
    assert msgpack.unpackb(first, timestamp=3, strict_map_key=False) == {
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
        "counts": {"a": 1, "b": None},
        "by_day": [{"2026-11-21": {"of": {moment.replace(microsecond=0): "1.5"}}, "0001-01-01": None}],
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


def test_result_columns_are_named_after_their_arguments(spark: SparkSession) -> None:
    assert spark.range(1).select(to_msgpack("id"), from_msgpack(to_msgpack("id"), "long")).columns == [
        "to_msgpack(id)",
        "from_msgpack(to_msgpack(id))",
    ]


def test_timestamp_after_the_year_9999_is_unchanged(spark: SparkSession) -> None:
    rows = spark.sql("select timestamp'+12026-11-21 01:02:03.456789' as moment")

    there_and_back = rows.select("moment", from_msgpack(to_msgpack("moment"), "timestamp").alias("again"))

    assert there_and_back.where("moment = again").count() == 1


GOOD = msgpack.packb({"x": 1, "inner": {"must": 2}})
BAD = {
    "is no msgpack": b"\xc1",
    "has another type": msgpack.packb({"x": "a"}),
    "misses what must be there": msgpack.packb({"inner": {}}),
}
SCHEMA = "x int, inner struct<must: int not null>"


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


def test_mode_that_does_not_exist_is_refused() -> None:
    with pytest.raises(ValueError, match="mode permissive: expected FAILFAST or PERMISSIVE"):
        from_msgpack("packed", "x int", "permissive")  # type: ignore[arg-type]  # a slip that a user may make


@pytest.mark.parametrize(
    ("schema", "message"),
    [
        ("x timestamp_ntz", "x: timestamp_ntz has no form in msgpack"),
        ("x struct<y: array<interval day>>", "x: y: interval day has no form in msgpack"),
        ("x variant", "x: variant has no form in msgpack"),
        ("x varchar(5)", r"x: varchar\(5\) has no form in msgpack"),
        ("map<struct<y: int>,int>", "struct<y:int> has no form in msgpack as the key of a map"),
        ("x int, x string", "two fields have the name x"),
    ],
)
def test_schema_with_a_type_that_has_no_form_is_refused_at_once(spark: SparkSession, schema: str, message: str) -> None:
    with pytest.raises(ValueError, match=f"^{message}"):
        from_msgpack("packed", schema, "PERMISSIVE")


def test_column_of_a_type_that_has_no_form_ends_the_query(spark: SparkSession) -> None:
    rows = spark.sql("select named_struct('v', parse_json('{}')) as row")

    with pytest.raises(PythonException, match="ValueError: v: variant has no form in msgpack"):
        rows.select(to_msgpack("row")).collect()
