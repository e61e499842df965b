"""Unpacks a column of msgpack. The values of each row are converted to the types of the schema, or refused.

The conversion is built once for each column as a tree of functions, one for each node of the schema. A function takes a
value of msgpack and returns a value from which Arrow makes one of the type.
"""

from __future__ import annotations

import datetime
import decimal
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import msgpack
import pyarrow as pa
from pyspark.sql.pandas.types import to_arrow_type
from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    BooleanType,
    ByteType,
    DataType,
    DateType,
    DecimalType,
    DoubleType,
    FloatType,
    IntegerType,
    LongType,
    MapType,
    NullType,
    ShortType,
    StringType,
    StructType,
    TimestampType,
)

_Fit = Callable[[Any], Any]

_BITS: dict[type[DataType], int] = {ByteType: 8, ShortType: 16, IntegerType: 32, LongType: 64}
_PYTHON_TYPES: dict[type[DataType], type] = {StringType: str, BinaryType: bytes, BooleanType: bool}
_FOUND: dict[type, str] = {
    dict: "a map",
    tuple: "an array",
    str: "a str",
    bytes: "a bin",
    int: "an integer",
    float: "a float",
    bool: "a boolean",
    msgpack.Timestamp: "a timestamp",
    msgpack.ExtType: "another extension than a timestamp",
}
_LARGEST_FLOAT = (2 - 2**-23) * 2.0**127


def unpack(column: pa.Array, data_type: DataType, *, is_permissive: bool) -> pa.Array:
    """Return the unpacked rows of a column of bytes; null stays null.

    Args:
        column: the bytes.
        data_type: a type with a form in msgpack.
        is_permissive: return null for bytes that do not fit the type.

    Raises:
        ValueError: bytes do not fit, and it is not permissive; names the field and the reason.
    """
    fit = _fit(data_type, is_nullable=True)

    def value(packed: bytes) -> Any:
        try:
            # Keys may have any type; arrays become tuples, which can be keys of a dict.
            return fit(msgpack.unpackb(packed, strict_map_key=False, use_list=False))
        except (ValueError, TypeError) as error:
            if is_permissive:
                return None
            # Some errors of msgpack have no message.
            reason = str(error) or type(error).__name__
            raise ValueError(f"these bytes are not {data_type.simpleString()} in msgpack: {reason}") from error

    values = [None if packed is None else value(packed) for packed in column.to_pylist()]
    return pa.array(values, to_arrow_type(data_type, timezone="UTC"))


def _fit(data_type: DataType, *, is_nullable: bool) -> _Fit:
    """Return the function for values of a type.

    The function raises TypeError for a value of another type, ValueError for one that does not fit.
    """
    fit = _fit_present(data_type)

    def fit_any(value: Any) -> Any:
        if value is not None:
            return fit(value)
        if not is_nullable:
            raise ValueError("found no value, expected one that is not null")
        return None

    return fit_any


def _fit_present(data_type: DataType) -> _Fit:
    match data_type:
        case StructType():
            return _struct(data_type)
        case MapType():
            key = _fit(data_type.keyType, is_nullable=False)
            item = _fit(data_type.valueType, is_nullable=data_type.valueContainsNull)
            # A dict removes keys that become equal here, such as timestamps within one microsecond.
            return lambda value: list({key(k): item(v) for k, v in _expect(value, dict).items()}.items())
        case ArrayType():
            element = _fit(data_type.elementType, is_nullable=data_type.containsNull)
            return lambda value: [element(item) for item in _expect(value, tuple)]
        case TimestampType():
            return _micros
        case DateType():
            return lambda value: datetime.date.fromisoformat(_expect(value, str))
        case DecimalType():
            return _decimal(data_type)
        case DoubleType():
            return lambda value: float(_expect(value, (int, float)))
        case FloatType():
            return _float
        case ByteType() | ShortType() | IntegerType() | LongType():
            bits = _BITS[type(data_type)]
            return lambda value: _in_range(_expect(value, int), bits)
        case NullType():
            return lambda value: _expect(value, type(None))
        case _:
            python_type = _PYTHON_TYPES[type(data_type)]
            return lambda value: _expect(value, python_type)


def _struct(data_type: StructType) -> _Fit:
    fields = [(field.name, _fit(field.dataType, is_nullable=field.nullable)) for field in data_type]

    def fit(value: Any) -> tuple[Any, ...]:
        found = _expect(value, dict)
        row = []
        for name, fit_field in fields:
            try:
                row.append(fit_field(found.get(name)))
            except (ValueError, TypeError) as error:
                raise ValueError(f"{name}: {error}") from error
        return tuple(row)

    return fit


def _decimal(data_type: DecimalType) -> _Fit:
    smallest = decimal.Decimal((0, (1,), -data_type.scale))
    # With this precision the check below is exact, because no number of the type has more digits.
    context = decimal.Context(prec=data_type.precision, traps=[decimal.InvalidOperation, decimal.Inexact])

    def fit(value: Any) -> decimal.Decimal:
        text = _expect(value, (str, int))
        with suppress(decimal.DecimalException):
            number = decimal.Decimal(text)
            if number.is_finite():
                return number.quantize(smallest, context=context)
        raise ValueError(f"{text} does not fit into {data_type.simpleString()}")

    return fit


def _float(value: Any) -> float:
    number = float(_expect(value, (int, float)))
    if _LARGEST_FLOAT < abs(number) < float("inf"):
        raise ValueError(f"{number} does not fit into a float")
    return number


def _micros(value: Any) -> int:
    timestamp = _expect(value, msgpack.Timestamp)
    return _in_range(timestamp.seconds * 1_000_000 + timestamp.nanoseconds // 1_000, 64)


def _in_range(number: int, bits: int) -> int:
    if not -(1 << bits - 1) <= number < 1 << bits - 1:
        raise ValueError(f"{number} does not fit into {bits} bits")
    return number


def _expect(value: Any, python_type: type | tuple[type, ...]) -> Any:
    is_bool_for_number = isinstance(value, bool) and python_type is not bool
    if is_bool_for_number or not isinstance(value, python_type):
        raise TypeError(f"found {_FOUND[type(value)]}")
    return value
