"""Msgpack to Arrow columns, without Spark: what fits a schema, what does not, and the errors."""

from __future__ import annotations

import datetime
import decimal
from typing import Any

import msgpack
import pyarrow as pa
import pytest
from pyspark.sql.types import ArrayType, DataType, IntegerType, MapType, StringType, StructType

from kraft_spark.unpacking import unpack


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
    "null key": (msgpack.packb({"x": {None: 1}}), x(INTS_BY_NAME), "x: found no value, expected one"),
    "null element": (msgpack.packb({"x": [1, None]}), x(LISTS), "x: found no value, expected one"),
    "missing": (msgpack.packb({}), x("integer", is_nullable=False), "x: found no value, expected one"),
    "null": (msgpack.packb({"x": None}), x("integer", is_nullable=False), "x: found no value, expected one"),
    "deep inside": (msgpack.packb({"x": [{"x": "a"}]}), x(ArrayType(x("integer"))), "x: x: found a str"),
    "something for nothing": (msgpack.packb({"x": 0}), x("void"), "x: found an integer"),
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
