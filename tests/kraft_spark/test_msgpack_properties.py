"""Generated types and values survive msgpack; the fast way of reading agrees with the slow one; any bytes are safe."""

from __future__ import annotations

import contextlib
from typing import Any

import msgpack
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st
from pyspark.sql.types import DataType, StructType

from kraft_spark.msgpack.arrays import NOT_BY_COLUMNS, array_of, arrow_type_of
from kraft_spark.msgpack.bounded import unpack_bounded
from kraft_spark.msgpack.errors import MalformedValueError
from kraft_spark.msgpack.rows import RowConverter
from kraft_spark.packer import pack
from kraft_spark.unpacker import unpack, unpack_rows
from tests.kraft_spark.msgpack_values import data_types, same, values_of

_TEXTS = st.text("0123456789-+:.TZ eE_ nafi", max_size=26) | st.datetimes().map(str) | st.decimals().map(str)
_PACKABLE = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**64 - 1)
    | st.floats()
    | _TEXTS
    | st.binary(max_size=5)
    | st.builds(msgpack.Timestamp, st.integers(-(2**63), 2**63 - 1), st.integers(0, 999_999_999)),
    lambda values: st.lists(values, max_size=3) | st.dictionaries(st.text("abx", max_size=1), values, max_size=3),
    max_leaves=6,
)
_ALL = "abx"


@st.composite
def columns(draw: st.DrawFn) -> tuple[DataType, pa.Array]:
    data_type = draw(data_types)
    rows = draw(st.lists(values_of(data_type), min_size=1, max_size=5))
    return data_type, pa.array(rows, arrow_type_of(data_type))


@given(columns())
def test_generated_column_is_unchanged_after_pack_and_unpack(column: tuple[DataType, pa.Array]) -> None:
    data_type, values = column

    assert same(unpack(pack(values), data_type, is_permissive=False), values)


@given(columns())
def test_generated_column_is_read_alike_by_columns_and_row_by_row(column: tuple[DataType, pa.Array]) -> None:
    data_type, values = column
    packed = pack(values)

    rows = [None if row is None else RowConverter(data_type).convert(unpack_bounded(row)) for row in packed.to_pylist()]

    assert same(unpack(packed, data_type, is_permissive=False), pa.array(rows, arrow_type_of(data_type)))


@given(columns())
def test_generated_column_is_packed_as_another_packer_does(column: tuple[DataType, pa.Array]) -> None:
    packed = pack(column[1]).to_pylist()

    again = [None if row is None else msgpack.packb(unpack_bounded(row)) for row in packed]

    assert packed == again


@given(st.lists(_PACKABLE, min_size=1, max_size=4), data_types)
def test_any_values_are_taken_or_refused_alike_by_columns_and_row_by_row(found: list[Any], data_type: DataType) -> None:
    # A struct of many fields of one type meets the generated maps more often.
    struct = StructType()
    for name in _ALL:
        struct.add(name, data_type)
    for schema in (data_type, struct):
        values = [unpack_bounded(msgpack.packb(value)) for value in found]
        with contextlib.suppress(*NOT_BY_COLUMNS):
            by_columns = array_of(values, schema)
            converter = RowConverter(schema)
            assert same(by_columns, pa.array([converter.convert(value) for value in values], arrow_type_of(schema)))


@given(st.lists(st.binary(max_size=60), min_size=1, max_size=4), data_types)
def test_any_bytes_are_unpacked_or_malformed(packed: list[bytes], data_type: DataType) -> None:
    column = pa.array(packed, pa.binary())

    unpacked = unpack_rows(column, data_type, is_permissive=True)

    for row, is_malformed in zip(packed, unpacked.malformed, strict=True):
        if is_malformed:
            with contextlib.suppress(MalformedValueError):
                unpack(pa.array([row]), data_type, is_permissive=False)
                raise AssertionError(f"one mode refuses {row!r}, the other reads it")


@given(columns(), st.data())
def test_changed_bytes_are_unpacked_or_malformed(column: tuple[DataType, pa.Array], data: st.DataObject) -> None:
    data_type, values = column
    packed = [bytearray(row) for row in pack(values).to_pylist() if row]
    for row in packed:
        row[data.draw(st.integers(0, len(row) - 1))] = data.draw(st.integers(0, 255))

    unpacked = unpack(pa.array(list(map(bytes, packed)), pa.binary()), data_type, is_permissive=True)

    assert len(unpacked) == len(packed)
