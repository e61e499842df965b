"""Unpacks a column of msgpack. The values of each row are converted to the types of the schema, or refused.

A batch is converted by columns. If a value does not fit, it is converted once more row by row, to find the reason and
to keep the other rows.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pyarrow as pa
from pyspark.sql.types import DataType, StructType

from kraft_spark.msgpack.arrays import NOT_BY_COLUMNS, array_of, arrow_type_of
from kraft_spark.msgpack.bounded import unpack_all_bounded, unpack_bounded
from kraft_spark.msgpack.errors import MalformedValueError, SchemaError
from kraft_spark.msgpack.garbage_collection import collection_paused
from kraft_spark.msgpack.rows import RowConverter
from kraft_spark.msgpack.types import nullable

_MISFITS = (ValueError, TypeError, OverflowError)
_LONGEST_REASON = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class Unpacked:
    """An unpacked column.

    Fields:
        rows: the values, in the carrier of the type (`kraft_spark.msgpack.types`).
        malformed: whether the bytes of each row are malformed.
    """

    rows: pa.Array
    malformed: list[bool]


def unpack(
    column: pa.Array, data_type: DataType, *, is_permissive: bool, corrupt_record: str | None = None
) -> pa.Array:
    """Return the unpacked rows of a column of bytes; the arguments and errors are those of `unpack_rows`."""
    return unpack_rows(column, data_type, is_permissive=is_permissive, corrupt_record=corrupt_record).rows


def unpack_rows(
    column: pa.Array, data_type: DataType, *, is_permissive: bool, corrupt_record: str | None = None
) -> Unpacked:
    """Return the unpacked rows of a column of bytes, and which of them are malformed; null stays null.

    Args:
        column: the bytes.
        data_type: can be unpacked.
        is_permissive: return null for bytes that do not fit the type.
        corrupt_record: a field of the type that gets the bytes of a row that does not fit; then the other fields that
            fit are kept, and all fields of the result are nullable.

    Raises:
        SchemaError: the column has another type than binary.
        MalformedValueError: bytes do not fit, and it is not permissive; names the field and the reason.
    """
    if not any(is_type(column.type) for is_type in (pa.types.is_binary, pa.types.is_large_binary, pa.types.is_null)):
        raise SchemaError(f"found a column of the type {column.type}, expected binary: from_msgpack reads bytes")
    if corrupt_record is None:
        return _unpack(column.to_pylist(), data_type, is_permissive=is_permissive, is_partial=False)
    assert isinstance(data_type, StructType), "only a struct has a field for corrupt records"
    read = StructType([field for field in data_type if field.name != corrupt_record])
    packed = column.to_pylist()
    unpacked = _unpack(packed, read, is_permissive=is_permissive, is_partial=is_permissive)
    rows = _with_bytes(packed, unpacked, arrow_type_of(nullable(data_type)), corrupt_record)
    return Unpacked(rows=rows, malformed=unpacked.malformed)


def _unpack(packed: list[bytes | None], data_type: DataType, *, is_permissive: bool, is_partial: bool) -> Unpacked:
    with collection_paused():
        rows = _unpack_by_columns(packed, data_type)
        if rows is not None:
            return Unpacked(rows=rows, malformed=[False] * len(packed))
        return _unpack_one_by_one(packed, data_type, is_permissive=is_permissive, is_partial=is_partial)


def _unpack_by_columns(packed: list[bytes | None], data_type: DataType) -> pa.Array | None:
    """Return the rows; None if one may be malformed.

    The values are released at the end, because the same ones are made again when the rows are unpacked one by one.
    """
    try:
        return array_of(unpack_all_bounded(packed), data_type)
    except NOT_BY_COLUMNS:
        return None


def _unpack_one_by_one(
    packed: list[bytes | None], data_type: DataType, *, is_permissive: bool, is_partial: bool
) -> Unpacked:
    converter = RowConverter(data_type, is_partial=is_partial)
    nothing = (None,) * len(data_type) if is_partial and isinstance(data_type, StructType) else None
    rows: list[Any] = []
    malformed = [False] * len(packed)
    for at, row in enumerate(packed):
        if row is None:
            rows.append(None)
            continue
        try:
            rows.append(converter.convert(unpack_bounded(row)))
            malformed[at] = converter.is_malformed
        except _MISFITS as error:
            if not is_permissive:
                raise MalformedValueError(
                    f"these bytes are not {data_type.simpleString()} in msgpack: {_reason(error)} "
                    f"(row {at + 1} of {len(packed)} in its batch)"
                ) from error
            rows.append(nothing)
            malformed[at] = True
    array = pa.array(rows, arrow_type_of(data_type))
    if isinstance(array, pa.ChunkedArray):
        raise MalformedValueError(
            f"{len(rows)} rows cannot be unpacked together, expected less than 2 GiB, "
            "which spark.sql.execution.arrow.maxRecordsPerBatch limits"
        )
    return Unpacked(rows=array, malformed=malformed)


def _reason(error: Exception) -> str:
    """Return the message of an error, shortened: values in it have any length. Some errors of msgpack have none."""
    reason = str(error) or type(error).__name__
    return reason if len(reason) <= _LONGEST_REASON else f"{reason[:_LONGEST_REASON]}..."


def _with_bytes(
    packed: list[bytes | None], unpacked: Unpacked, arrow_type: pa.StructType, corrupt_record: str
) -> pa.Array:
    """Return the rows with the field that has the bytes of those that are malformed."""
    corrupt = [row if is_malformed else None for row, is_malformed in zip(packed, unpacked.malformed, strict=True)]
    children = dict(zip((field.name for field in unpacked.rows.type), unpacked.rows.flatten(), strict=True))
    children[corrupt_record] = pa.array(corrupt, pa.binary())
    return pa.StructArray.from_arrays(
        [
            child if (child := children[field.name]).type == field.type else child.cast(field.type)
            for field in arrow_type
        ],
        fields=list(arrow_type),
        mask=unpacked.rows.is_null(),
    )
