"""Columns to msgpack and back in Spark: every type, the modes, and what is refused at once."""

from __future__ import annotations

import datetime

import msgpack
import pytest
from chispa import assert_df_equality
from pyspark.errors import ArithmeticException, PythonException, UnsupportedOperationException
from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql.functions import col, struct
from pyspark.sql.types import StructType
from pyspark.testing.objects import ExamplePoint, ExamplePointUDT

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


def test_result_columns_are_named_after_their_arguments(spark: SparkSession) -> None:
    assert spark.range(1).select(to_msgpack("id"), from_msgpack(to_msgpack("id"), "long")).columns == [
        "to_msgpack(id)",
        "from_msgpack(to_msgpack(id))",
    ]


def test_timestamp_after_the_year_9999_is_unchanged(spark: SparkSession) -> None:
    rows = spark.sql("select timestamp'+12026-11-21 01:02:03.456789' as moment")

    there_and_back = rows.select("moment", from_msgpack(to_msgpack("moment"), "timestamp").alias("again"))

    assert there_and_back.where("moment = again").count() == 1


FURTHER_TYPES = """
    select inline(array(
        named_struct(
            'local', timestamp_ntz'2026-11-21 01:02:03.4', 'elapsed', interval '-1 02:03:04.5' day to second,
            'days', interval '3' day, 'months', interval '-1-2' year to month, 'years', interval '3' year,
            'some', array(interval '7' month, null), 'calendar', make_interval(1, -2, 0, 4, 5, 6, 7.5),
            'by_list', map(array(1, 2), 'a', array(), null), 'by_struct', map(named_struct('a', 1, 'b', 'x'), 1),
            'by_interval', map(make_interval(1), interval '1' year), 'nothing', null, 'clock', time'12:13:14.123456',
            'any', parse_json('{"b": [null, true, "x", 1.5, 12345678901234567890], "a": {}}')),
        named_struct(
            'local', timestamp_ntz'0001-01-01 00:00:00', 'elapsed', interval '106751991 04:00:54.775807' day to second,
            'days', interval '-106751991' day, 'months', interval '-178956970-8' year to month,
            'years', interval '-178956970' year, 'some', array(), 'calendar', make_interval(),
            'by_list', map(), 'by_struct', map(), 'by_interval', map(), 'nothing', null, 'clock', time'00:00:00',
            'any', parse_json('[null]')),
        named_struct(
            'local', null, 'elapsed', null, 'days', null, 'months', null, 'years', null, 'some', null, 'calendar', null,
            'by_list', null, 'by_struct', null, 'by_interval', null, 'nothing', null, 'clock', null, 'any', null)))
"""


def test_further_types_are_unchanged_after_pack_and_unpack(spark: SparkSession) -> None:
    spark.conf.set("spark.sql.timeType.enabled", "true")
    try:
        rows = spark.sql(FURTHER_TYPES).selectExpr("struct(*) row")
        schema = rows.schema["row"].dataType

        again = rows.select(from_msgpack(to_msgpack("row"), schema).alias("row"))

        assert again.schema["row"].dataType.simpleString() == schema.simpleString()
        # Python has no values for some of the types, so rows are compared as the text that Spark makes of them.
        assert [row[0] for row in again.selectExpr("to_json(row)").collect()] == [
            row[0] for row in rows.selectExpr("to_json(row)").collect()
        ]
    finally:
        spark.conf.unset("spark.sql.timeType.enabled")


@pytest.mark.parametrize("precision", [0, 3, 9])
def test_time_of_any_precision_is_unchanged_when_the_type_is_enabled(spark: SparkSession, precision: int) -> None:
    spark.conf.set("spark.sql.timeType.enabled", "true")
    try:
        rows = spark.sql(f"select cast('12:13:14.123456789' as time({precision})) clock")

        again = rows.select("clock", from_msgpack(to_msgpack("clock"), f"time({precision})").alias("again"))

        assert again.where("clock = again and typeof(clock) = typeof(again)").count() == 1
    finally:
        spark.conf.unset("spark.sql.timeType.enabled")


def test_text_of_limited_length_is_a_string_with_the_padding_of_char(spark: SparkSession) -> None:
    packed = spark.sql("select named_struct('x', 'ab', 'y', 'ab   ') row").select(to_msgpack("row").alias("packed"))

    rows = packed.select(from_msgpack("packed", "x char(4), y varchar(3)").alias("row"))

    assert rows.schema["row"].dataType.simpleString() == "struct<x:string,y:string>"
    assert rows.collect() == [Row(row=Row(x="ab  ", y="ab "))]


def test_text_of_fixed_length_is_packed_with_its_padding_if_spark_keeps_the_type(spark: SparkSession) -> None:
    spark.conf.set("spark.sql.preserveCharVarcharTypeInfo", "true")
    try:
        packed = spark.sql("select cast('ab' as char(4)) as x").select(to_msgpack("x")).collect()[0][0]
    finally:
        spark.conf.unset("spark.sql.preserveCharVarcharTypeInfo")

    assert packed == msgpack.packb("ab  ")


def test_type_of_a_user_is_packed_as_it_is_stored(spark: SparkSession) -> None:
    point = ExamplePoint(1.0, 2.0)  # type: ignore[no-untyped-call]  # of PySpark's tests
    rows = spark.createDataFrame([(point,)], StructType().add("point", ExamplePointUDT()))

    assert rows.select(to_msgpack("point")).collect()[0][0] == msgpack.packb([1.0, 2.0])


def test_geometry_is_packed_and_made_again_of_its_parts(spark: SparkSession) -> None:
    point = "st_geomfromwkb(X'0101000000000000000000F03F0000000000000040')"
    packed = spark.sql(f"select {point} g, st_asbinary({point}) wkb").withColumn("packed", to_msgpack("g"))

    again = packed.withColumn("parts", from_msgpack("packed", "srid int, wkb binary"))

    assert again.where("st_asbinary(st_geomfromwkb(parts.wkb)) = wkb and parts.srid = 0").count() == 1


def test_interval_of_months_that_is_no_part_of_a_struct_ends_the_query_in_spark(spark: SparkSession) -> None:
    rows = spark.sql("select interval '1-2' year to month as months")

    with pytest.raises(PythonException, match="KeyError: 21"):
        rows.select(to_msgpack("months")).collect()

    assert rows.select(to_msgpack(struct("months"))).collect()[0][0] == msgpack.packb({"months": 14})


def test_interval_that_arrow_cannot_represent_ends_the_query_in_spark(spark: SparkSession) -> None:
    rows = spark.sql("select make_interval(0, 0, 0, 0, 0, 0, 9223372036.0) * 1000 as long")

    with pytest.raises(ArithmeticException, match="DATETIME_OVERFLOW"):
        rows.select(to_msgpack("long")).collect()


def test_variant_with_a_year_after_9999_ends_the_query(spark: SparkSession) -> None:
    rows = spark.sql("select struct(to_variant_object(named_struct('d', date'+10000-01-01'))) as row")

    with pytest.raises(PythonException, match="col1: a variant has no form in msgpack: "):
        rows.select(to_msgpack("row")).collect()


def test_variant_that_holds_null_becomes_null(spark: SparkSession) -> None:
    rows = spark.sql("select struct(parse_json('null') as any) as row")

    assert rows.select(to_msgpack("row")).collect()[0][0] == msgpack.packb({"any": None})
    assert (
        rows.select(from_msgpack(to_msgpack("row"), "any variant").alias("row")).where("row.any is null").count() == 1
    )


def test_struct_with_two_fields_of_one_name_ends_the_query_in_spark(spark: SparkSession) -> None:
    rows = spark.sql("select struct(struct(1 as x, 2 as x) as v) as row")

    with pytest.raises(UnsupportedOperationException, match="DUPLICATED_FIELD_NAME_IN_ARROW_STRUCT"):
        rows.select(to_msgpack("row")).collect()
