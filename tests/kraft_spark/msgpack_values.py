"""Generated types of Spark, and columns of them in Arrow, for tests of msgpack."""

from __future__ import annotations

import datetime
import decimal
import itertools
from typing import Any

import pyarrow as pa
from hypothesis import strategies as st
from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    BooleanType,
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
    NullType,
    ShortType,
    StringType,
    StructType,
    TimestampNTZType,
    TimestampType,
    TimeType,
)

_BITS = {ByteType: 8, ShortType: 16, IntegerType: 32, LongType: 64}

_KEYS: st.SearchStrategy[DataType] = st.sampled_from(
    [
        ByteType(),
        ShortType(),
        IntegerType(),
        LongType(),
        StringType(),
        BinaryType(),
        BooleanType(),
        DateType(),
        TimestampType(),
        TimestampNTZType(),
        TimeType(),
        DayTimeIntervalType(),
    ]
) | st.integers(1, 38).flatmap(lambda precision: st.builds(DecimalType, st.just(precision), st.integers(0, precision)))
_SIMPLE = _KEYS | st.sampled_from([NullType(), FloatType(), DoubleType()])


def _nested(children: st.SearchStrategy[DataType]) -> st.SearchStrategy[DataType]:
    names = st.lists(st.text(max_size=3), unique=True, min_size=1, max_size=4)
    return (
        st.builds(ArrayType, children)
        | st.builds(MapType, _KEYS, children)
        | st.builds(MapType, st.builds(ArrayType, _KEYS, st.just(False)), children)
        | names.flatmap(lambda names: st.tuples(*(children for _ in names)).map(lambda types: _struct(names, types)))
    )


def _struct(names: list[str], types: tuple[DataType, ...]) -> StructType:
    struct = StructType()
    for name, data_type in zip(names, types, strict=True):
        struct.add(name, data_type)
    return struct


data_types: st.SearchStrategy[DataType] = st.recursive(_SIMPLE, _nested, max_leaves=5)


def values_of(data_type: DataType, *, is_nullable: bool = True) -> st.SearchStrategy[Any]:
    """Return values from which Arrow makes those of a type; those of dates and times as integers."""
    present = _present(data_type)
    return st.none() | present if is_nullable else present


def _present(data_type: DataType) -> st.SearchStrategy[Any]:
    match data_type:
        case StructType():
            return st.fixed_dictionaries({field.name: values_of(field.dataType) for field in data_type})
        case ArrayType():
            return st.lists(values_of(data_type.elementType, is_nullable=data_type.containsNull), max_size=4)
        case MapType():
            key = values_of(data_type.keyType, is_nullable=False)
            pairs = st.tuples(key, values_of(data_type.valueType))
            return st.lists(pairs, max_size=4, unique_by=lambda pair: repr(pair[0]))
        case DecimalType():
            largest, scale = 10**data_type.precision - 1, data_type.scale
            return st.integers(-largest, largest).map(lambda digits: decimal.Decimal(digits).scaleb(-scale, _PRECISE))
        case _:
            return _SIMPLE_VALUES[type(data_type)]


_PRECISE = decimal.Context(prec=60)
_SIMPLE_VALUES: dict[type[DataType], st.SearchStrategy[Any]] = {
    **{kind: st.integers(-(1 << bits - 1), (1 << bits - 1) - 1) for kind, bits in _BITS.items()},
    StringType: st.text(max_size=40),
    BinaryType: st.binary(max_size=40),
    BooleanType: st.booleans(),
    NullType: st.none(),
    FloatType: st.floats(width=32),
    DoubleType: st.floats(),
    DateType: st.integers(-(2**31), 2**31 - 1) | st.dates().map(lambda day: (day - datetime.date(1970, 1, 1)).days),
    TimestampType: st.integers(-(2**63), 2**63 - 1) | st.integers(-(2**50), 2**50),
    TimestampNTZType: st.integers(-(2**63), 2**63 - 1) | st.integers(-(2**50), 2**50),
    TimeType: st.integers(0, 86_399_999_999).map(lambda micros: micros * 1_000),
    DayTimeIntervalType: st.integers(-(2**63), 2**63 - 1),
}


def same(column: pa.Array, other: pa.Array) -> bool:
    """Return whether two columns have the same values; NaN is equal to NaN, and dates may be out of Python's range."""
    return bool(column.type == other.type) and repr(_plain(column)) == repr(_plain(other))


def _plain(column: pa.Array) -> list[Any]:
    """Return the values, with integers in place of dates and times."""
    arrow_type = column.type
    values: list[Any]
    if pa.types.is_struct(arrow_type):
        values = list(zip(*map(_plain, column.flatten()), strict=True))
    elif pa.types.is_list(arrow_type):
        values = _runs(column, _plain(column.values))
    elif pa.types.is_map(arrow_type):
        values = _runs(column, list(zip(_plain(column.keys), _plain(column.items), strict=True)))
    elif pa.types.is_null(arrow_type):
        values = [None] * len(column)
    elif pa.types.is_date32(arrow_type):
        values = column.cast(pa.int32()).to_pylist()
    else:
        values = (column.cast(pa.int64()) if pa.types.is_temporal(arrow_type) else column).to_pylist()
    return [value if is_valid else None for value, is_valid in zip(values, column.is_valid().to_pylist(), strict=True)]


def _runs(column: pa.Array, items: list[Any]) -> list[list[Any]]:
    ends = column.offsets.to_pylist()
    return [items[start:end] for start, end in itertools.pairwise(ends)]
