"""The first and the last value of each type are unchanged after pack and unpack; what is beyond them is malformed."""

from __future__ import annotations

import decimal
import struct
from fractions import Fraction
from typing import Any

import msgpack
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyspark.sql.types import (
    ArrayType,
    ByteType,
    DataType,
    DateType,
    DayTimeIntervalType,
    DecimalType,
    DoubleType,
    FloatType,
    IntegerType,
    LongType,
    MapType,
    ShortType,
    StringType,
    StructType,
    TimestampNTZType,
    TimestampType,
    TimeType,
    YearMonthIntervalType,
)

from kraft_spark.msgpack.arrays import arrow_type_of
from kraft_spark.msgpack.errors import MalformedValueError
from kraft_spark.packer import pack
from kraft_spark.unpacker import unpack

_FIRST_INSTANT, _LAST_INSTANT = -(2**63), 2**63 - 1


def micros(number: int) -> msgpack.Timestamp:
    return msgpack.Timestamp(number // 1_000_000, number % 1_000_000 * 1_000)


RANGES: list[tuple[DataType, object, object, list[object]]] = [
    (ByteType(), -(2**7), 2**7 - 1, [-(2**7) - 1, 2**7, 2**63]),
    (ShortType(), -(2**15), 2**15 - 1, [-(2**15) - 1, 2**15, 2**63]),
    (IntegerType(), -(2**31), 2**31 - 1, [-(2**31) - 1, 2**31, 2**63]),
    (LongType(), -(2**63), 2**63 - 1, [2**63, 2**64 - 1]),
    (YearMonthIntervalType(), -(2**31), 2**31 - 1, [-(2**31) - 1, 2**31]),
    (DayTimeIntervalType(), -(2**63), 2**63 - 1, [2**63]),
    (
        TimestampType(),
        micros(_FIRST_INSTANT),
        micros(_LAST_INSTANT),
        [micros(_FIRST_INSTANT - 1), micros(_LAST_INSTANT + 1), msgpack.Timestamp(2**63 - 1, 999_999_999)],
    ),
    (
        TimestampNTZType(),
        "-290308-12-21T19:59:05.224192",
        "+294247-01-10T04:00:54.775807",
        ["-290308-12-21T19:59:05.224191", "+294247-01-10T04:00:54.775808", "9999999-01-01T00:00:00"],
    ),
    (DateType(), "-5877641-06-23", "+5881580-07-11", ["-5877641-06-22", "+5881580-07-12"]),
    (TimeType(6), "00:00:00", "23:59:59.999999", ["24:00:00", "23:60:00", "23:59:60", "-00:00:01"]),
]
IDS = [data_type.simpleString() for data_type, *_ in RANGES]


def read(value: object, data_type: DataType) -> pa.Array:
    return unpack(pa.array([msgpack.packb(value)]), data_type, is_permissive=False)


@pytest.mark.parametrize(("data_type", "first", "last", "_beyond"), RANGES, ids=IDS)
def test_first_and_last_value_are_unchanged(
    data_type: DataType, first: object, last: object, _beyond: list[object]
) -> None:
    packed = [msgpack.packb(value) for value in (first, last)]

    column = unpack(pa.array(packed), data_type, is_permissive=False)

    assert column.null_count == 0
    assert pack(column).to_pylist() == packed


@pytest.mark.parametrize(
    ("data_type", "beyond"),
    [
        pytest.param(data_type, value, id=f"{data_type.simpleString()} {value}")
        for data_type, _, _, beyond in RANGES
        for value in beyond
    ],
)
def test_value_out_of_range_is_malformed_at_any_depth_and_never_another_value(
    data_type: DataType, beyond: object
) -> None:
    nestings: list[tuple[object, DataType]] = [
        (beyond, data_type),
        ({"x": beyond}, StructType().add("x", data_type)),
        ([beyond], ArrayType(data_type)),
        ({"key": beyond}, MapType(StringType(), data_type)),
        ({beyond: 1}, MapType(data_type, IntegerType())),
    ]
    for value, nested in nestings:
        assert unpack(pa.array([msgpack.packb(value)]), nested, is_permissive=True).null_count == 1
        with pytest.raises(MalformedValueError):
            read(value, nested)


PRECISIONS = [(precision, scale) for precision in range(1, 39) for scale in {0, 1, precision // 2, precision}]


@pytest.mark.parametrize(("precision", "scale"), PRECISIONS)
def test_decimal_of_any_precision_holds_its_digits_and_no_more(precision: int, scale: int) -> None:
    data_type = DecimalType(precision, scale)
    smallest = decimal.Decimal((0, (1,), -scale))
    largest = decimal.Decimal((0, (9,) * precision, -scale))
    values = [largest, largest.copy_negate(), smallest, smallest.copy_negate(), decimal.Decimal(0), None]
    column = pa.array(values, arrow_type_of(data_type))

    assert unpack(pack(column), data_type, is_permissive=False).equals(column)
    for beyond in (f"1{'0' * (precision - scale)}", f"-1E+{precision - scale}", f"1E-{scale + 1}"):
        with pytest.raises(MalformedValueError, match=rf"{beyond.replace('+', '.')} does not fit into decimal"):
            read(beyond, data_type)


@given(st.integers(-(10**39), 10**39), st.integers(-45, 45), st.integers(1, 38), st.data())
def test_decimal_is_read_exactly_or_is_malformed(
    digits: int, exponent: int, precision: int, data: st.DataObject
) -> None:
    scale = data.draw(st.integers(0, precision))
    packed = pa.array([msgpack.packb(f"{digits}E{exponent}")])

    [found] = unpack(packed, DecimalType(precision, scale), is_permissive=True).to_pylist()

    unscaled = digits * Fraction(10) ** (exponent + scale)
    fits = unscaled.denominator == 1 and abs(unscaled) < 10**precision
    assert (None if found is None else Fraction(found) * 10**scale) == (unscaled if fits else None)


@pytest.mark.parametrize(
    "text", ["1_000", " 1", "1 ", "", ".", "+", "1e", "0x1", "1,5", "٣", "Infinity", "sNaN", "1E+99999999999999999999"]
)
def test_text_that_is_no_decimal_in_other_languages_is_malformed(text: str) -> None:
    with pytest.raises(MalformedValueError, match=r"does not fit into decimal\(10,2\)"):
        read(text, DecimalType(10, 2))


@pytest.mark.parametrize(
    ("text", "expected"), [("1.", "1"), (".5", "0.5"), ("+1e1", "10"), ("-0", "0"), ("0E+99", "0")]
)
def test_other_texts_of_decimals_are_read(text: str, expected: str) -> None:
    assert read(text, DecimalType(10, 2)).to_pylist() == [decimal.Decimal(expected)]


def bits(number: float, form: str) -> bytes:
    return struct.pack(form, number)


FLOATS = {
    "zero": 0.0,
    "negative zero": -0.0,
    "infinity": float("inf"),
    "negative infinity": float("-inf"),
    "smallest float": 2.0**-149,
    "largest float": float.fromhex("0x1.fffffep127"),
}
DOUBLES = FLOATS | {
    "smallest double": 5e-324,
    "largest double": float.fromhex("0x1.fffffffffffffp+1023"),
    "more digits than a float has": 0.1,
}


@pytest.mark.parametrize(
    ("number", "data_type", "form"),
    [
        *(pytest.param(number, DoubleType(), ">d", id=f"double: {name}") for name, number in DOUBLES.items()),
        *(pytest.param(number, FloatType(), ">f", id=f"float: {name}") for name, number in FLOATS.items()),
    ],
)
def test_float_is_unchanged_bit_by_bit(number: float, data_type: DataType, form: str) -> None:
    nestings: list[tuple[Any, DataType]] = [
        ([number, None], data_type),
        # Keys of this type are converted row by row.
        ([[(number, number)], None], MapType(data_type, data_type)),
    ]
    for values, nested in nestings:
        column = pa.array(values, arrow_type_of(nested))

        found = unpack(pack(column), nested, is_permissive=False).to_pylist()[0]

        numbers = [found] if isinstance(found, float) else found[0]
        assert [bits(part, form) for part in numbers] == [bits(number, form)] * len(numbers)


@pytest.mark.parametrize("data_type", [FloatType(), DoubleType()], ids=lambda data_type: data_type.simpleString())
def test_any_nan_is_nan(data_type: DataType) -> None:
    nans = [
        b"\xcb\x7f\xf8" + bytes(6),
        b"\xcb\xff\xf8" + bytes(6),
        b"\xcb\x7f\xf0" + bytes(5) + b"\x01",
        b"\xca\x7f\xc0" + bytes(2),
    ]

    found = unpack(pa.array(nans), data_type, is_permissive=False).to_pylist()

    assert [number != number for number in found] == [True] * len(nans)
