"""Packs an Arrow column: each leaf column is converted to Python values at once, then the rows are packed."""

from __future__ import annotations

import datetime
from typing import Any

import msgpack
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql.pandas.types import from_arrow_type
from pyspark.sql.types import (
    ArrayType,
    DataType,
    DateType,
    DecimalType,
    MapType,
    StructType,
    TimestampType,
)

from kraft_spark.msgpack_types import check_type

_1970 = datetime.date(1970, 1, 1)
_FIRST_DAY = (datetime.date.min - _1970).days
_LAST_DAY = (datetime.date.max - _1970).days


def pack(column: pa.Array) -> pa.Array:
    """Return the packed rows of a column; null stays null.

    Raises:
        ValueError: its type, or a value, has no form in msgpack; says which.
    """
    data_type = from_arrow_type(column.type)
    check_type(data_type)
    packed = msgpack.Packer().pack
    return pa.array([None if value is None else packed(value) for value in _values(column, data_type)], pa.binary())


def _values(column: pa.Array, data_type: DataType) -> list[Any]:
    """Return the value to pack for each row."""
    match data_type:
        case StructType():
            fields = [_values(child, field.dataType) for child, field in zip(column.flatten(), data_type, strict=True)]
            rows = zip(*fields, column.is_valid().to_pylist(), strict=True)
            names = data_type.names
            return [dict(zip(names, row, strict=False)) if row[-1] else None for row in rows]
        case ArrayType():
            items = _values(column.values, data_type.elementType)
            return [None if slot is None else items[slot] for slot in _slots(column)]
        case MapType():
            keys = _values(column.keys, data_type.keyType)
            items = _values(column.items, data_type.valueType)
            return [
                None if slot is None else dict(zip(keys[slot], items[slot], strict=True)) for slot in _slots(column)
            ]
        case TimestampType():
            # datetime is not used, because it ends with the year 9999.
            return [None if micros is None else _timestamp(micros) for micros in column.cast(pa.int64()).to_pylist()]
        case DateType():
            _check_days(column.cast(pa.int32()))
            return _list(column.cast(pa.string()))
        case DecimalType():
            return _list(column.cast(pa.string()))
        case _:
            return _list(column)


def _slots(column: pa.Array) -> list[slice | None]:
    """Return the positions of each row's items in the column of all items; None for a null."""
    offsets = column.offsets.to_pylist()
    valid = column.is_valid().to_pylist()
    return [
        slice(start, end) if is_valid else None
        for start, end, is_valid in zip(offsets, offsets[1:], valid, strict=False)
    ]


def _list(column: pa.Array) -> list[Any]:
    values: list[Any] = column.to_pylist()
    return values


def _timestamp(micros: int) -> msgpack.Timestamp:
    seconds, rest = divmod(micros, 1_000_000)
    return msgpack.Timestamp(seconds, rest * 1_000)


def _check_days(days: pa.Array) -> None:
    first, last = pc.min_max(days).as_py().values()
    if first is not None and (first < _FIRST_DAY or last > _LAST_DAY):
        outside = first if first < _FIRST_DAY else last
        raise ValueError(f"the date {outside} days from 1970 has no form in msgpack, expected a year of 1 to 9999")
