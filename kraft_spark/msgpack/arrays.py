"""Makes an Arrow column of values of msgpack by columns; for any value that may not fit it raises an error.

This is the fast way. It has no messages: the values are then converted one by one (`rows.py`), which finds the reason.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import accumulate, chain
from typing import Any

import msgpack
import numpy as np
import pyarrow as pa
from pyspark.sql.pandas.types import to_arrow_type
from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    BooleanType,
    ByteType,
    DataType,
    DateType,
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

from kraft_spark.msgpack.ranges import micros_of
from kraft_spark.msgpack.rows import RowConverter
from kraft_spark.msgpack.simple_values import LARGEST_FLOAT
from kraft_spark.msgpack.types import carrier_of

Values = Sequence[Any]

NOT_BY_COLUMNS = (ValueError, TypeError, OverflowError, pa.ArrowException)
"""The errors of `array_of`: Arrow's, and those that are raised here."""

_NIL = type(None)
_PYTHON_TYPES: dict[type[DataType], frozenset[type]] = {
    BinaryType: frozenset([bytes, _NIL]),
    BooleanType: frozenset([bool, _NIL]),
    ByteType: frozenset([int, _NIL]),
    DateType: frozenset([str, _NIL]),
    DoubleType: frozenset([int, float, _NIL]),
    FloatType: frozenset([int, float, _NIL]),
    IntegerType: frozenset([int, _NIL]),
    LongType: frozenset([int, _NIL]),
    NullType: frozenset([_NIL]),
    ShortType: frozenset([int, _NIL]),
    StringType: frozenset([str, _NIL]),
    TimestampType: frozenset([msgpack.Timestamp, _NIL]),
    StructType: frozenset([dict, _NIL]),
    ArrayType: frozenset([tuple, _NIL]),
    MapType: frozenset([dict, _NIL]),
}
_KEYS_THAT_STAY_DIFFERENT = (StringType, BinaryType, BooleanType, ByteType, ShortType, IntegerType, LongType)


def array_of(values: Values, data_type: DataType, *, is_nullable: bool = True) -> pa.Array:
    """Return a column of the carrier of a type.

    Args:
        values: as msgpack unpacks them, with arrays as tuples.
        data_type: can be unpacked.
        is_nullable: accept null.

    Raises:
        ValueError, TypeError, OverflowError, pa.ArrowException: a value does not fit, or may not fit.
    """
    types = set(map(type, values))
    if not is_nullable and _NIL in types:
        raise ValueError("null")
    known = _PYTHON_TYPES.get(type(data_type))
    if known is None:
        convert = RowConverter(data_type).convert
        return _array([convert(value) for value in values], arrow_type_of(data_type))
    if not types <= known:
        raise TypeError("another type")
    has_nulls = _NIL in types
    match data_type:
        case StructType():
            return _structs(values, data_type, has_nulls=has_nulls)
        case ArrayType():
            return _lists(values, data_type, has_nulls=has_nulls)
        case MapType():
            return _maps(values, data_type, has_nulls=has_nulls)
        case _:
            make = _LEAVES.get(type(data_type), _array)
            return make(values, arrow_type_of(data_type))


def arrow_type_of(data_type: DataType) -> pa.DataType:
    """Return the Arrow type of a column of the carrier of a type."""
    return to_arrow_type(carrier_of(data_type), timezone="UTC")


def _structs(values: Values, data_type: StructType, *, has_nulls: bool) -> pa.Array:
    if not data_type.fields:
        raise ValueError("no fields")
    arrow_type = arrow_type_of(data_type)
    present = _present(values, has_nulls=has_nulls)
    children = []
    for field in data_type:
        name = field.name
        if not has_nulls:
            column = [value.get(name) for value in values]
            children.append(array_of(column, field.dataType, is_nullable=field.nullable))
            continue
        if not field.nullable and any(value.get(name) is None for value in present):
            raise ValueError("null")
        column = [None if value is None else value.get(name) for value in values]
        children.append(array_of(column, field.dataType))
    mask = pa.array([value is None for value in values], pa.bool_()) if has_nulls else None
    return pa.StructArray.from_arrays(children, fields=list(arrow_type), mask=mask)


def _lists(values: Values, data_type: ArrayType, *, has_nulls: bool) -> pa.Array:
    present = _present(values, has_nulls=has_nulls)
    elements = list(chain.from_iterable(present))
    array = array_of(elements, data_type.elementType, is_nullable=data_type.containsNull)
    return pa.ListArray.from_arrays(_offsets(values, has_nulls=has_nulls), array, type=arrow_type_of(data_type))


def _maps(values: Values, data_type: MapType, *, has_nulls: bool) -> pa.Array:
    if not isinstance(data_type.keyType, _KEYS_THAT_STAY_DIFFERENT):
        raise TypeError("keys that may become equal")
    present = _present(values, has_nulls=has_nulls)
    keys = array_of(list(chain.from_iterable(present)), data_type.keyType, is_nullable=False)
    items = list(chain.from_iterable(map(dict.values, present)))
    array = array_of(items, data_type.valueType, is_nullable=data_type.valueContainsNull)
    return pa.MapArray.from_arrays(_offsets(values, has_nulls=has_nulls), keys, array, type=arrow_type_of(data_type))


def _present(values: Values, *, has_nulls: bool) -> Values:
    return [value for value in values if value is not None] if has_nulls else values


def _offsets(values: Values, *, has_nulls: bool) -> pa.Array:
    """Return where the elements of each value begin; null for a null."""
    lengths = (0 if value is None else len(value) for value in values) if has_nulls else map(len, values)
    ends = list(accumulate(lengths, initial=0))
    mask = np.array([value is None for value in values] + [False]) if has_nulls else None
    return pa.array(ends, pa.int32(), mask=mask)


def _array(values: Values, arrow_type: pa.DataType) -> pa.Array:
    array = pa.array(values, arrow_type)
    if isinstance(array, pa.ChunkedArray):
        # Arrow's offsets have 32 bits.
        raise OverflowError("2 GiB")
    return array


def _timestamps(values: Values, arrow_type: pa.DataType) -> pa.Array:
    micros = [None if value is None else micros_of(value) for value in values]
    return pa.array(micros, pa.int64()).cast(arrow_type)


def _dates(values: Values, arrow_type: pa.DataType) -> pa.Array:
    return _array(values, pa.string()).cast(arrow_type)


def _floats(values: Values, arrow_type: pa.DataType) -> pa.Array:
    numbers = pa.array(values, pa.float64())
    magnitudes = np.abs(numbers.to_numpy(zero_copy_only=False))
    if np.any((magnitudes > LARGEST_FLOAT) & (magnitudes < np.inf)):
        raise OverflowError("float")
    return numbers.cast(arrow_type)


_LEAVES: dict[type[DataType], Callable[[Values, pa.DataType], pa.Array]] = {
    DateType: _dates,
    FloatType: _floats,
    TimestampType: _timestamps,
}
