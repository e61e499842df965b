"""Columns to and from msgpack, used as Spark's `to_avro` and `from_avro` are.

Spark                     msgpack
struct, map               map; a struct's field names are the keys
array                     array
string, binary            str, bin
byte, short, int, long    integer
float, double             float 64
boolean, null             boolean, nil
timestamp                 timestamp extension (type -1), nanoseconds kept as far as Spark has them: microseconds
date, decimal             str: 2026-11-21, 12.50
"""

from __future__ import annotations

import datetime
import decimal
from typing import Any, Literal

import msgpack
import pyarrow as pa
from pyspark.sql import Column
from pyspark.sql.functions import col
from pyspark.sql.pandas.functions import arrow_udf
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
    ShortType,
    StringType,
    StructType,
    TimestampType,
)

Mode = Literal["FAILFAST", "PERMISSIVE"]


def to_msgpack(data: Column | str) -> Column:
    """Pack a column, row by row; null stays null.

    Args:
        data: a column of any type in the module's table; most often a struct.

    Returns:
        A binary column.
    """

    def pack(values: pa.Array) -> pa.Array:
        return pa.array([_packed(value) for value in values.to_pylist()], pa.binary())

    packed: Column = arrow_udf(pack, returnType=BinaryType())(_column(data))  # type: ignore[call-overload]  # stubs lack pa
    return packed


def from_msgpack(data: Column | str, schema: DataType | str, mode: Mode = "FAILFAST") -> Column:
    """Unpack a binary column.

    Fields that the schema does not have are dropped; those that the bytes do not have are null.

    Args:
        data: a binary column; null stays null.
        schema: the type of the result, as a type or as DDL ("name string, size bigint").
        mode: what bytes do that are no msgpack, or not of the schema: FAILFAST ends the query, PERMISSIVE gives null.

    Raises:
        ValueError: the mode is none of the two.
    """
    if mode not in ("FAILFAST", "PERMISSIVE"):
        raise ValueError(f"mode {mode}: allowed are FAILFAST and PERMISSIVE")
    data_type = DataType.fromDDL(schema) if isinstance(schema, str) else schema
    arrow_type = to_arrow_type(data_type, timezone="UTC")

    def unpack(values: pa.Array) -> pa.Array:
        return pa.array([_unpacked(value, data_type, mode) for value in values.to_pylist()], arrow_type)

    unpacked: Column = arrow_udf(unpack, returnType=data_type)(_column(data))  # type: ignore[call-overload]  # stubs lack it
    return unpacked


def _column(data: Column | str) -> Column:
    return col(data) if isinstance(data, str) else data


def _packed(value: Any) -> bytes | None:
    if value is None:
        return None
    packed: bytes = msgpack.packb(value, default=_plain, datetime=True)
    return packed


def _plain(value: Any) -> Any:
    """What msgpack has no type for."""
    match value:
        case datetime.datetime():
            return value.replace(tzinfo=datetime.UTC)
        case datetime.date():
            return value.isoformat()
        case decimal.Decimal():
            return str(value)
        case _:
            raise TypeError(f"{type(value).__name__} has no form in msgpack")


def _unpacked(packed: bytes | None, data_type: DataType, mode: Mode) -> Any:
    if packed is None:
        return None
    try:
        return _typed(msgpack.unpackb(packed, timestamp=3, strict_map_key=False), data_type)
    except (ValueError, TypeError, KeyError, ArithmeticError, msgpack.UnpackException) as error:
        if mode == "PERMISSIVE":
            return None
        raise ValueError(f"these bytes are not {data_type.simpleString()} in msgpack: {error}") from error


def _typed(value: Any, data_type: DataType) -> Any:
    """Give an unpacked value the Python type from which Arrow makes the column's type.

    Raises:
        TypeError, ValueError: it is of another type, or out of range.
    """
    if value is None:
        return None
    match data_type:
        case StructType():
            fields = _expect(value, dict)
            return {field.name: _typed(fields.get(field.name), field.dataType) for field in data_type}
        case MapType():
            pairs = _expect(value, dict).items()
            return [(_typed(key, data_type.keyType), _typed(item, data_type.valueType)) for key, item in pairs]
        case ArrayType():
            return [_typed(item, data_type.elementType) for item in _expect(value, list)]
        case DateType():
            return datetime.date.fromisoformat(_expect(value, str))
        case DecimalType():
            return decimal.Decimal(_expect(value, str))
        case FloatType() | DoubleType():
            return float(_expect(value, (int, float)))
        case ByteType() | ShortType() | IntegerType() | LongType():
            return _in_range(_expect(value, int), _BITS[type(data_type)])
        case _:
            return _expect(value, _PYTHON_TYPES[type(data_type)])


_BITS: dict[type[DataType], int] = {ByteType: 8, ShortType: 16, IntegerType: 32, LongType: 64}
_PYTHON_TYPES: dict[type[DataType], type] = {
    StringType: str,
    BinaryType: bytes,
    BooleanType: bool,
    TimestampType: datetime.datetime,
}


def _expect(value: Any, python_type: type | tuple[type, ...]) -> Any:
    is_bool_for_number = isinstance(value, bool) and python_type is not bool
    if is_bool_for_number or not isinstance(value, python_type):
        raise TypeError(f"found a {type(value).__name__}")
    return value


def _in_range(number: int, bits: int) -> int:
    if not -(1 << bits - 1) <= number < 1 << bits - 1:
        raise ValueError(f"{number} does not fit into {bits} bits")
    return number
