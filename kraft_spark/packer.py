"""Packs an Arrow column: each leaf column is packed by columns, and joined with the others to rows.

A packed column is binary and has no nulls: a null is the nil of msgpack. docs/msgpack.md has the encodings.
"""

from __future__ import annotations

from collections.abc import Callable

import msgpack
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql.pandas.types import is_variant

from kraft_spark.msgpack.binary_columns import Numbers, joined_runs, repeated
from kraft_spark.msgpack.errors import SchemaError, UnpackableValueError
from kraft_spark.msgpack.months import months_as_integers
from kraft_spark.msgpack.numbers import (
    ARRAY,
    BIN,
    MAP,
    STR,
    Head,
    pack_floats,
    pack_heads,
    pack_integers,
    pack_timestamps,
)
from kraft_spark.msgpack.texts import date_texts, time_texts, timestamp_texts
from kraft_spark.msgpack.variants import variant_packer

_NIL = pa.scalar(b"\xc0", pa.binary())
_PAIR = pa.scalar(b"\x92", pa.binary())
_TRUE = pa.scalar(b"\xc3", pa.binary())
_FALSE = pa.scalar(b"\xc2", pa.binary())
_NOTHING = pa.scalar(b"", pa.binary())
_CALENDAR_INTERVAL = pa.month_day_nano_interval()


def pack(column: pa.Array) -> pa.Array:
    """Return the packed rows of a column; null stays null.

    Raises:
        SchemaError: its type has no form in msgpack; says which.
        UnpackableValueError: a variant has none, or the rows take more than 2 GiB.
    """
    try:
        packed = _pack(months_as_integers(column), "")
    except (pa.ArrowInvalid, pa.ArrowCapacityError) as error:
        raise UnpackableValueError(
            f"{len(column)} rows cannot be packed together: {error}; expected less than 2 GiB, "
            "which spark.sql.execution.arrow.maxRecordsPerBatch limits"
        ) from error
    return packed if column.null_count == 0 else pc.if_else(column.is_valid(), packed, pa.scalar(None, pa.binary()))


def _pack(column: pa.Array, path: str) -> pa.Array:
    packed = _pack_present(column, path)
    return packed if column.null_count == 0 else pc.if_else(column.is_valid(), packed, _NIL)


def _pack_present(column: pa.Array, path: str) -> pa.Array:
    """Return the packed values; for a null the bytes are undefined."""
    arrow_type = column.type
    if pa.types.is_struct(arrow_type):
        return _pack_variants(column, path) if is_variant(arrow_type) else _pack_structs(column, path)
    if pa.types.is_map(arrow_type):
        return _pack_maps(column, path)
    if pa.types.is_list(arrow_type):
        ends = column.offsets.to_numpy()
        bodies = _runs(_pack(_part(column.values, ends), path), ends)
        return _join(pack_heads(np.diff(ends), ARRAY), bodies)
    for is_of_type, pack_simple in _SIMPLE:
        if is_of_type(arrow_type):
            return pack_simple(column)
    raise SchemaError(f"{path}{arrow_type} has no form in msgpack; docs/msgpack.md has the types")


def _pack_structs(column: pa.Array, path: str) -> pa.Array:
    names = [field.name for field in column.type]
    for name in names:
        if names.count(name) > 1:
            raise SchemaError(f"{path}two fields have the name {name}, expected different keys for a map")
    # The head has the same bytes in every row, like the keys.
    before = pack_heads(np.array([len(names)]), MAP)[0].as_py()
    parts: list[pa.Array | pa.Scalar] = []
    for name, child in zip(names, column.flatten(), strict=True):
        parts += [pa.scalar(before + msgpack.packb(name), pa.binary()), _pack(child, f"{path}{name}: ")]
        before = b""
    return _join(*parts) if parts else repeated(before, len(column))


def _pack_maps(column: pa.Array, path: str) -> pa.Array:
    """Pack maps; with keys that are structs or arrays, as arrays of pairs.

    Some readers of msgpack, for example in Python, cannot represent maps with such keys.
    """
    ends = column.offsets.to_numpy()
    keys, items = _pack(_part(column.keys, ends), path), _pack(_part(column.items, ends), path)
    if is_simple_key(column.type.key_type):
        return _join(pack_heads(np.diff(ends), MAP), _runs(_join(keys, items), ends))
    return _join(pack_heads(np.diff(ends), ARRAY), _runs(_join(_PAIR, keys, items), ends))


def is_simple_key(arrow_type: pa.DataType) -> bool:
    """Return whether keys of this type are neither maps nor arrays in msgpack."""
    return not (pa.types.is_nested(arrow_type) or arrow_type == _CALENDAR_INTERVAL)


def _pack_variants(column: pa.Array, path: str) -> pa.Array:
    pack_variant = variant_packer()
    try:
        rows = zip(column.is_valid().to_pylist(), *(child.to_pylist() for child in column.flatten()), strict=True)
        return _binary([pack_variant(value, metadata) if valid else b"" for valid, value, metadata in rows])
    except UnpackableValueError as error:
        raise UnpackableValueError(f"{path}{error}") from error


def _pack_booleans(column: pa.Array) -> pa.Array:
    return pc.if_else(pc.fill_null(column, False), _TRUE, _FALSE)


def _pack_integers(column: pa.Array) -> pa.Array:
    return pack_integers(_stored_integers(column))


def _pack_floats(column: pa.Array) -> pa.Array:
    return pack_floats(pc.fill_null(column, 0.0).to_numpy())


def _pack_octets(column: pa.Array) -> pa.Array:
    return _with_heads(column, BIN)


def _pack_texts(column: pa.Array) -> pa.Array:
    return _with_heads(column.cast(pa.string()), STR)


def _pack_timestamps(column: pa.Array) -> pa.Array:
    if column.type.tz is None:
        return _pack_texts(timestamp_texts(column.cast(pa.int64())))
    return pack_timestamps(_stored_integers(column))


def _pack_dates(column: pa.Array) -> pa.Array:
    return _pack_texts(date_texts(column.cast(pa.int32())))


def _pack_times(column: pa.Array) -> pa.Array:
    return _pack_texts(time_texts(column.cast(pa.int64())))


def _pack_calendar_intervals(column: pa.Array) -> pa.Array:
    packed = msgpack.Packer().pack
    values = ((0, 0, 0) if value is None else value for value in column.to_pylist())
    return _binary([packed([months, days, nanos // 1_000]) for months, days, nanos in values])


def _pack_nothing(column: pa.Array) -> pa.Array:
    return repeated(b"\xc0", len(column))


def _with_heads(column: pa.Array, head: Head) -> pa.Array:
    """Return strings or octets, each after its length; empty ones for nulls."""
    present = pc.fill_null(column.cast(pa.binary()), b"")
    return _join(pack_heads(pc.binary_length(present).to_numpy(), head), present)


def _stored_integers(column: pa.Array) -> Numbers:
    """Return the integers in which Arrow stores a column; zeros for nulls."""
    numbers: Numbers = pc.fill_null(column.cast(pa.int64()), 0).to_numpy()
    return numbers


def _binary(values: list[bytes]) -> pa.Array:
    # Of more than 2 GiB, Arrow would make several binary arrays; the cast is refused instead.
    return pa.array(values, pa.large_binary()).cast(pa.binary())


def _part(values: pa.Array, ends: Numbers) -> pa.Array:
    """Return those values of lists that are in the rows of a part of a column."""
    return values.slice(ends[0], ends[-1] - ends[0])


def _runs(packed: pa.Array, ends: Numbers) -> pa.Array:
    return joined_runs(packed, ends - ends[0])


def _join(*parts: pa.Array | pa.Scalar) -> pa.Array:
    return pc.binary_join_element_wise(*parts, _NOTHING)


_SIMPLE: tuple[tuple[Callable[[pa.DataType], bool], Callable[[pa.Array], pa.Array]], ...] = (
    (pa.types.is_signed_integer, _pack_integers),
    (pa.types.is_string, _pack_texts),
    (pa.types.is_large_string, _pack_texts),
    (pa.types.is_binary, _pack_octets),
    (pa.types.is_large_binary, _pack_octets),
    (pa.types.is_floating, _pack_floats),
    (pa.types.is_boolean, _pack_booleans),
    (pa.types.is_timestamp, _pack_timestamps),
    (pa.types.is_date32, _pack_dates),
    (pa.types.is_decimal, _pack_texts),
    (pa.types.is_time64, _pack_times),
    (pa.types.is_duration, _pack_integers),
    (lambda arrow_type: arrow_type == _CALENDAR_INTERVAL, _pack_calendar_intervals),
    (pa.types.is_null, _pack_nothing),
)
"""Spark's timestamps and intervals have microseconds, its times nanoseconds."""
