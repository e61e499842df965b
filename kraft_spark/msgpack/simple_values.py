"""Converts simple values of msgpack to values from which Arrow makes those of a Spark type, or refuses them."""

from __future__ import annotations

import decimal
import re
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import msgpack
from pyspark.sql.types import (
    BinaryType,
    BooleanType,
    ByteType,
    CalendarIntervalType,
    CharType,
    DataType,
    DateType,
    DayTimeIntervalType,
    DecimalType,
    DoubleType,
    FloatType,
    IntegerType,
    LongType,
    NullType,
    ShortType,
    StringType,
    TimestampNTZType,
    TimestampType,
    TimeType,
    VarcharType,
    VariantType,
    YearMonthIntervalType,
)

from kraft_spark.msgpack.found import found
from kraft_spark.msgpack.ranges import in_range, micros_of
from kraft_spark.msgpack.texts import read_date, read_time, read_timestamp
from kraft_spark.msgpack.variant_bytes import variant_of

Convert = Callable[[Any], Any]
"""Raises TypeError for a value of another type, ValueError for one that does not fit."""

LARGEST_FLOAT = (2 - 2**-23) * 2.0**127

_BITS: dict[type[DataType], int] = {ByteType: 8, ShortType: 16, IntegerType: 32, LongType: 64}
_PYTHON_TYPES: dict[type[DataType], type] = {
    StringType: str,
    BinaryType: bytes,
    BooleanType: bool,
    NullType: type(None),
}
_NAN = float("nan")
_DECIMAL = re.compile(r"[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?", re.ASCII)
"""Python's decimals accept more: underscores, spaces, digits of other scripts, infinity."""
_UNITS = {
    DayTimeIntervalType.DAY: 86_400_000_000,
    DayTimeIntervalType.HOUR: 3_600_000_000,
    DayTimeIntervalType.MINUTE: 60_000_000,
    DayTimeIntervalType.SECOND: 1,
}
_MONTHS_A_YEAR = 12
_LONGEST_MICROS = (2**63 - 1) // 1_000
"""Of an interval: its nanoseconds have 64 bits in Arrow."""


def converter(data_type: DataType) -> Convert:
    """Return the function for values of a simple type, except null."""
    expected = data_type.simpleString()
    match data_type:
        case ByteType() | ShortType() | IntegerType() | LongType():
            bits = _BITS[type(data_type)]
            return lambda value: in_range(expect(value, int, expected), bits)
        case DoubleType():
            return lambda value: _one_nan(float(expect(value, (int, float), expected)))
        case FloatType():
            return lambda value: _float(expect(value, (int, float), expected))
        case DecimalType():
            return _decimal(data_type)
        case TimestampType():
            return lambda value: micros_of(expect(value, msgpack.Timestamp, expected))
        case TimestampNTZType():
            return lambda value: read_timestamp(expect(value, str, expected))
        case DateType():
            return lambda value: read_date(expect(value, str, expected))
        case TimeType():
            return _time(data_type)
        case DayTimeIntervalType() | YearMonthIntervalType():
            return _interval(data_type)
        case CalendarIntervalType():
            return _calendar_interval
        case CharType() | VarcharType():
            return _limited(data_type)
        case VariantType():
            return variant_of
        case _:
            python_type = _PYTHON_TYPES[type(data_type)]
            return lambda value: expect(value, python_type, expected)


def expect(value: Any, python_type: type | tuple[type, ...], expected: str) -> Any:
    """Return a value if it has a type.

    Raises:
        TypeError: it has not; a boolean is no number.
    """
    is_bool_for_number = isinstance(value, bool) and python_type is not bool
    if is_bool_for_number or not isinstance(value, python_type):
        raise TypeError(f"found {found(value)}, expected {expected}")
    return value


def _float(value: float) -> float:
    number = float(value)
    if LARGEST_FLOAT < abs(number) < float("inf"):
        raise ValueError(f"{number} does not fit into a float")
    return _one_nan(number)


def _one_nan(number: float) -> float:
    """Return the number; for NaN always the same object, so that it is one key of a map."""
    return number if number == number else _NAN


def _decimal(data_type: DecimalType) -> Convert:
    expected = data_type.simpleString()
    smallest = decimal.Decimal((0, (1,), -data_type.scale))
    # With this precision the check below is exact, because no number of the type has more digits.
    context = decimal.Context(prec=data_type.precision, traps=[decimal.InvalidOperation, decimal.Inexact])

    def convert(value: Any) -> decimal.Decimal:
        number = expect(value, (str, int), expected)
        if type(number) is int or _DECIMAL.fullmatch(number):
            with suppress(decimal.DecimalException):
                return decimal.Decimal(number).quantize(smallest, context=context)
        raise ValueError(f"{number} does not fit into {expected}")

    return convert


def _time(data_type: TimeType) -> Convert:
    expected, precision = data_type.simpleString(), data_type.precision
    dropped = 10 ** (9 - precision)

    def convert(value: Any) -> Any:
        nanoseconds = read_time(expect(value, str, expected)) // dropped * dropped
        if precision == 6:  # the precision that Arrow functions return
            return nanoseconds
        seconds, rest = divmod(nanoseconds, 1_000_000_000)
        return f"{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}.{rest:09}"

    return convert


def _interval(data_type: DayTimeIntervalType | YearMonthIntervalType) -> Convert:
    """Return the function for microseconds, or for months: in units of years if the type has no months."""
    expected = data_type.simpleString()
    is_months = isinstance(data_type, YearMonthIntervalType)
    if is_months:
        unit = _MONTHS_A_YEAR if data_type.endField == YearMonthIntervalType.YEAR else 1
    else:
        unit = _UNITS[data_type.endField]
    bits, divisor = (32, unit) if is_months else (64, 1)

    def convert(value: Any) -> int:
        number = in_range(expect(value, int, expected), bits)
        if number % unit:
            raise ValueError(f"{number} does not fit into {expected}, expected a multiple of {unit}")
        return number // divisor

    return convert


def _calendar_interval(value: Any) -> str:
    parts = expect(value, tuple, "interval")
    if [type(part) for part in parts] != [int, int, int]:
        raise ValueError("expected the integers months, days and microseconds for an interval")
    months, days, micros = parts
    if abs(micros) > _LONGEST_MICROS:
        raise ValueError(f"{micros} microseconds do not fit into an interval, expected at most {_LONGEST_MICROS}")
    return f"{in_range(months, 32)} months {in_range(days, 32)} days {micros} microseconds"


def _limited(data_type: CharType | VarcharType) -> Convert:
    """Return the function for text of a limited length, as in Spark's tables: `char` is padded with spaces."""
    expected, length = data_type.simpleString(), data_type.length
    padding = length if isinstance(data_type, CharType) else 0

    def convert(value: Any) -> str:
        text: str = expect(value, str, expected)
        if len(text) > length:
            text = text[:length] + text[length:].rstrip(" ")
        if len(text) > length:
            raise ValueError(f"{len(text)} characters do not fit into {expected}")
        return text.ljust(padding)

    return convert
