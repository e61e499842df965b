"""Msgpack to Arrow columns, without Spark: what fits a schema, what does not, and the errors."""

from __future__ import annotations

import datetime
import decimal
import math
import re
from typing import Any

import msgpack
import pyarrow as pa
import pytest
from pyspark.sql.types import (
    ArrayType,
    DataType,
    DateType,
    DoubleType,
    IntegerType,
    MapType,
    StringType,
    StructType,
)

from kraft_spark.msgpack.errors import MalformedValueError, SchemaError
from kraft_spark.unpacker import unpack

dt = datetime.datetime


def x(data_type: DataType | str, *, is_nullable: bool = True) -> StructType:
    """A struct with one field."""
    return StructType().add("x", data_type, is_nullable)


def unpack_all(packed: list[bytes | None], data_type: DataType, *, is_permissive: bool = False) -> list[Any]:
    values: list[Any] = unpack(pa.array(packed, pa.binary()), data_type, is_permissive=is_permissive).to_pylist()
    return values


INTS_BY_NAME = MapType(StringType(), IntegerType())
LISTS = ArrayType(IntegerType(), containsNull=False)

NOT_THESE = {
    "empty": (b"", x("integer"), "Unpack failed: incomplete input"),
    "cut short": (msgpack.packb({"x": 1})[:-1], x("integer"), "Unpack failed: incomplete input"),
    "something behind": (msgpack.packb({"x": 1}) + b"\x00", x("integer"), "unpack(b) received extra data."),
    "no msgpack": (b"\xc1", x("integer"), "FormatError"),
    "too deep": (b"\x91" * 5000, x("integer"), "StackError"),
    "a map as a key": (b"\x81\x81\x01\x02\x03", x("integer"), "unhashable type: 'dict'"),
    "list for struct": (msgpack.packb([1]), x("integer"), "found an array"),
    "too large": (msgpack.packb({"x": 200}), x("byte"), "x: 200 does not fit into 8 bits"),
    "unsigned": (msgpack.packb({"x": 2**64 - 1}), x("long"), f"x: {2**64 - 1} does not fit into 64 bits"),
    "boolean for number": (msgpack.packb({"x": True}), x("integer"), "x: found a boolean"),
    "number for boolean": (msgpack.packb({"x": 1}), x("boolean"), "x: found an integer"),
    "float for integer": (msgpack.packb({"x": 1.0}), x("integer"), "x: found a float"),
    "double for float": (msgpack.packb({"x": 1e300}), x("float"), "x: 1e+300 does not fit into a float"),
    "integer for string": (msgpack.packb({"x": 1}), x("string"), "x: found an integer"),
    "octets for string": (msgpack.packb({"x": b"a"}), x("string"), "x: found a bin"),
    "not UTF-8": (b"\x81\xa1x\xa1\xff", x("string"), "'utf-8' codec can't decode byte 0xff"),
    "no date": (msgpack.packb({"x": "2026-13-01"}), x("date"), "x: month must be in 1..12"),
    "no decimal": (msgpack.packb({"x": "twelve"}), x("decimal(10,2)"), "x: twelve does not fit into decimal(10,2)"),
    "digits too small": (msgpack.packb({"x": "1.234"}), x("decimal(10,2)"), "x: 1.234 does not fit into decimal(10,2)"),
    "digits too many": (msgpack.packb({"x": 10**8}), x("decimal(10,2)"), "x: 100000000 does not fit into decimal"),
    "no number": (msgpack.packb({"x": "NaN"}), x("decimal(10,2)"), "x: NaN does not fit into decimal(10,2)"),
    "endless": (msgpack.packb({"x": "-Infinity"}), x("decimal(10,2)"), "x: -Infinity does not fit into decimal"),
    "too far ahead": (msgpack.packb({"x": msgpack.Timestamp(10**13)}), x("timestamp"), f"x: {10**19} does not fit"),
    "another extension": (
        msgpack.packb({"x": msgpack.ExtType(5, b"a")}),
        x("integer"),
        "x: found another extension than a timestamp",
    ),
    "no timestamp": (
        msgpack.packb({"x": msgpack.ExtType(5, b"a")}),
        x("timestamp"),
        "x: found another extension than a timestamp",
    ),
    "null key": (msgpack.packb({"x": {None: 1}}), x(INTS_BY_NAME), "x: entry 0: found no value, expected one"),
    "null element": (msgpack.packb({"x": [1, None]}), x(LISTS), "x: element 1: found no value, expected one"),
    "missing": (msgpack.packb({}), x("integer", is_nullable=False), "x: found no value, expected one"),
    "null": (msgpack.packb({"x": None}), x("integer", is_nullable=False), "x: found no value, expected one"),
    "deep inside": (
        msgpack.packb({"x": [{"x": "a"}]}),
        x(ArrayType(x("integer"))),
        "x: element 0: x: found a str, expected int",
    ),
    "something for nothing": (msgpack.packb({"x": 0}), x("void"), "x: found an integer, expected void"),
    "date with a time": (msgpack.packb({"x": "2026-11-21T01:02:03"}), x("date"), "x: Invalid isoformat string"),
    "date too far ahead": (msgpack.packb({"x": "+9999999-01-01"}), x("date"), "x: +9999999-01-01 does not fit into a"),
    "zone": (
        msgpack.packb({"x": "2026-11-21T01:02:03Z"}),
        x("timestamp_ntz"),
        "x: 2026-11-21T01:02:03Z is no date with",
    ),
    "instant": (
        msgpack.packb({"x": msgpack.Timestamp(1)}),
        x("timestamp_ntz"),
        "x: found a timestamp, expected timest",
    ),
    "no time": (msgpack.packb({"x": "25:00:00"}), x("time(6)"), "x: hour must be in 0..23"),
    "part of a day": (
        msgpack.packb({"x": 1}),
        x("interval day"),
        "x: 1 does not fit into interval day, expected a mult",
    ),
    "part of a year": (
        msgpack.packb({"x": 13}),
        x("interval year"),
        "x: 13 does not fit into interval year, expected a",
    ),
    "months too many": (msgpack.packb({"x": 2**31}), x("interval month"), f"x: {2**31} does not fit into 32 bits"),
    "interval of floats": (
        msgpack.packb({"x": [1, 2, 3.0]}),
        x("interval"),
        "x: expected the integers months, days and",
    ),
    "interval too long": (msgpack.packb({"x": [0, 0, 2**62]}), x("interval"), f"x: {2**62} microseconds do not fit"),
    "text too long": (msgpack.packb({"x": "abcd "}), x("varchar(3)"), "x: 4 characters do not fit into varchar(3)"),
    "map for pairs": (
        msgpack.packb({"x": {1: 2}}),
        x(MapType(LISTS, IntegerType())),
        "x: found a map, expected map<ar",
    ),
    "no pair": (
        msgpack.packb({"x": [[[1], 2, 3]]}),
        x(MapType(LISTS, IntegerType())),
        "x: entry 0 is no array of a key",
    ),
    "map in variant": (
        msgpack.packb({"x": {1: 2}}),
        x("variant"),
        "x: found an integer as the key of a map, expected a",
    ),
    "extension in variant": (msgpack.packb({"x": msgpack.ExtType(5, b"")}), x("variant"), "x: found another extension"),
    "variant too deep": (b"\x81\xa1x" + b"\x91" * 600 + b"\xc0", x("variant"), "x: nested deeper than 500 levels"),
}


@pytest.mark.parametrize(("packed", "data_type", "reason"), NOT_THESE.values(), ids=NOT_THESE)
def test_bytes_that_do_not_fit_are_named_or_null(packed: bytes, data_type: StructType, reason: str) -> None:
    with pytest.raises(ValueError, match="these bytes are not") as refusal:
        unpack_all([packed], data_type)

    assert str(refusal.value).startswith(f"these bytes are not {data_type.simpleString()} in msgpack: {reason}")
    assert unpack_all([None, packed], data_type, is_permissive=True) == [None, None]


@pytest.mark.parametrize("is_permissive", [False, True])
def test_fields_that_are_missing_are_null_and_others_are_dropped(is_permissive: bool) -> None:
    schema = StructType().add("x", "integer").add("y", "string")
    values: tuple[object, ...] = ({"x": 1, "y": "a"}, {"more": {(1, 2): [1]}, "x": 2}, {"y": None}, {}, None)

    found = unpack_all([*map(msgpack.packb, values), None], schema, is_permissive=is_permissive)

    nothing = {"x": None, "y": None}
    assert found == [{"x": 1, "y": "a"}, {"x": 2, "y": None}, nothing, nothing, None, None]


LARGEST_FLOAT = float.fromhex("0x1.fffffep127")


@pytest.mark.parametrize(
    ("value", "data_type", "expected"),
    [
        pytest.param(1, "double", 1.0, id="integer for double"),
        pytest.param(-3, "float", -3.0, id="integer for float"),
        pytest.param(LARGEST_FLOAT, "float", LARGEST_FLOAT, id="the largest float"),
        pytest.param(float("-inf"), "float", float("-inf"), id="infinity"),
        pytest.param(0.1, "float", float.fromhex("0x1.99999ap-4"), id="a double rounded"),
        pytest.param("12.5", "decimal(10,2)", decimal.Decimal("12.50"), id="fewer digits"),
        pytest.param("1.25E+1", "decimal(10,2)", decimal.Decimal("12.50"), id="an exponent"),
        pytest.param("99999999.990", "decimal(10,2)", decimal.Decimal("99999999.99"), id="zeros at the end"),
        pytest.param(-12, "decimal(10,2)", decimal.Decimal("-12.00"), id="integer for decimal"),
    ],
)
def test_number_of_another_writer_is_taken_where_it_fits(value: object, data_type: str, expected: object) -> None:
    assert unpack_all([msgpack.packb({"x": value})], x(data_type)) == [{"x": expected}]


@pytest.mark.parametrize(
    ("seconds", "nanoseconds", "micros"),
    [
        pytest.param(1, 999, 1_000_000, id="part of a microsecond"),
        pytest.param(-1, 999_999_999, -1, id="before 1970"),
        pytest.param(2**63 // 10**6, 775_807_999, 2**63 - 1, id="last"),
    ],
)
def test_timestamp_of_another_writer_is_truncated_to_microseconds(seconds: int, nanoseconds: int, micros: int) -> None:
    packed = msgpack.packb({"x": msgpack.Timestamp(seconds, nanoseconds)})

    column = unpack(pa.array([packed]), x("timestamp"), is_permissive=False)

    assert column.field("x").cast(pa.int64()).to_pylist() == [micros]


def test_keys_that_become_equal_are_one_key_with_the_last_value() -> None:
    times = {msgpack.Timestamp(1, 1): "early", msgpack.Timestamp(1, 2): "late"}
    schema = x(MapType(StructType().add("t", "timestamp")[0].dataType, StringType()))

    assert unpack_all([msgpack.packb({"x": times})], schema) == [
        {"x": [(datetime.datetime(1970, 1, 1, 0, 0, 1, tzinfo=datetime.UTC), "late")]}
    ]


@pytest.mark.parametrize(
    ("value", "data_type", "expected"),
    [
        pytest.param("2026-11-21T01:02:03.4567899", "timestamp_ntz", dt(2026, 11, 21, 1, 2, 3, 456789), id="no zone"),
        pytest.param("2026-11-21 01:02:03", "timestamp_ntz", dt(2026, 11, 21, 1, 2, 3), id="space"),
        pytest.param("20261121", "date", datetime.date(2026, 11, 21), id="basic form of ISO 8601"),
        pytest.param("12:13:14.1234567", "time(6)", datetime.time(12, 13, 14, 123456), id="time"),
        pytest.param("12:13:14.1239", "time(3)", "12:13:14.123000000", id="time to be cast"),
        pytest.param(-93_784_500_000, "interval day to second", datetime.timedelta(seconds=-93784.5), id="interval"),
        pytest.param(2 * 86_400_000_000, "interval day", datetime.timedelta(days=2), id="interval of days"),
        pytest.param(-14, "interval year to month", -14, id="months to be cast"),
        pytest.param(24, "interval year", 2, id="years to be cast"),
        pytest.param([1, -2, 3], "interval", "1 months -2 days 3 microseconds", id="calendar interval to be cast"),
        pytest.param("ab  ", "char(3)", "ab ", id="char"),
        pytest.param("ab   ", "varchar(3)", "ab ", id="varchar"),
        pytest.param([[[1], 2], [[1], 3]], MapType(LISTS, IntegerType()), [([1], 3)], id="equal keys in pairs"),
        pytest.param(None, "void", None, id="void"),
    ],
)
def test_value_is_unpacked_to_the_type_in_the_schema(
    value: object, data_type: DataType | str, expected: object
) -> None:
    assert unpack_all([msgpack.packb({"x": value})], x(data_type)) == [{"x": expected}]


def test_date_beyond_those_of_python_is_unpacked() -> None:
    texts = ["-5877641-06-23", "+5881580-07-11", "0000-12-31"]

    days = unpack(pa.array([msgpack.packb(text) for text in texts]), DateType(), is_permissive=False)

    assert days.cast(pa.int32()).to_pylist() == [-(2**31), 2**31 - 1, -719_163]


def test_nan_is_one_key_of_a_map() -> None:
    packed = b"\x82" + 2 * (b"\xcb\x7f\xf8" + bytes(6) + b"\x01")
    [entries] = unpack_all([packed], MapType(DoubleType(), IntegerType()))

    assert len(entries) == 1
    assert math.isnan(entries[0][0])


CORRUPT = (
    StructType()
    .add("x", "integer", False)
    .add("bad", "binary")
    .add("inner", StructType().add("y", "integer", False).add("z", "string"))
    .add("list", ArrayType(IntegerType()))
)


@pytest.mark.parametrize(
    ("packed", "expected"),
    [
        pytest.param(msgpack.packb({"x": 1, "bad": b"never read"}), (1, False, None, None), id="good"),
        pytest.param(msgpack.packb({"x": "no", "list": [1]}), (None, True, None, [1]), id="a field"),
        pytest.param(msgpack.packb({"list": [1]}), (None, True, None, [1]), id="no value"),
        pytest.param(
            msgpack.packb({"x": 1, "inner": {"y": "no", "z": "z"}}), (1, True, {"y": None, "z": "z"}, None), id="inside"
        ),
        pytest.param(msgpack.packb({"x": 1, "list": [1, "no"]}), (1, True, None, None), id="an element"),
        pytest.param(msgpack.packb([1]), (None, True, None, None), id="no map"),
        pytest.param(b"\xc1", (None, True, None, None), id="no msgpack"),
        pytest.param(b"", (None, True, None, None), id="empty"),
    ],
)
def test_field_for_corrupt_records_has_the_bytes_and_other_fields_are_kept(
    packed: bytes, expected: tuple[object, bool, object, object]
) -> None:
    good = msgpack.packb({"x": 7})
    column = pa.array([good, packed, None], pa.binary())

    first, row, nothing = unpack(column, CORRUPT, is_permissive=True, corrupt_record="bad").to_pylist()

    value, is_corrupt, inner, elements = expected
    assert row == {"x": value, "bad": packed if is_corrupt else None, "inner": inner, "list": elements}
    assert first == {"x": 7, "bad": None, "inner": None, "list": None}
    assert nothing is None


def test_malformed_row_is_named_by_its_place_in_the_batch() -> None:
    packed = [msgpack.packb(1), None, msgpack.packb("a")]

    with pytest.raises(MalformedValueError, match=r"found a str, expected int \(row 3 of 3 in its batch\)$"):
        unpack_all(packed, IntegerType())


@pytest.mark.parametrize("is_permissive", [False, True])
@pytest.mark.parametrize(
    "column", [pa.array(["a"]), pa.array([5]), pa.array([{"x": b"\xc0"}])], ids=["str", "int", "row"]
)
def test_column_that_is_not_binary_is_refused(column: pa.Array, is_permissive: bool) -> None:
    with pytest.raises(
        SchemaError, match=r"^found a column of the type .*, expected binary: from_msgpack reads bytes$"
    ):
        unpack(column, IntegerType(), is_permissive=is_permissive)


def test_message_has_the_beginning_of_a_long_value() -> None:
    with pytest.raises(MalformedValueError) as refusal:
        unpack_all([msgpack.packb({"x": "9" * 100_000})], x("decimal(10,2)"))

    assert re.search(r"in msgpack: x: 9{497}\.\.\. \(row 1 of 1 in its batch\)$", str(refusal.value))
