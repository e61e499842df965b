"""Rows to write: the columns of one Arrow record batch, checked and in a plain form for the kernels.

column   type
value    binary or string, or the large, view, fixed-size or dictionary form of one; null makes a tombstone
key      likewise; optional
headers  list or large list of struct<key: string, value: binary>; optional; a null list has no headers
timestamp  timestamp in any unit, floored to milliseconds; optional; without it, the writer chooses one for all rows
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TypeAlias

import pyarrow as pa
import pyarrow.compute as pc

RecordBatches: TypeAlias = pa.Table | pa.RecordBatch | Iterable[pa.RecordBatch]

COLUMNS = ("value", "key", "headers", "timestamp")
PLAIN_TYPES = (pa.binary(), pa.string(), pa.large_binary(), pa.large_string())


@dataclass(frozen=True, slots=True, kw_only=True)
class Rows:
    """The columns of one record batch; a missing column is None.

    Fields:
        row_count: number of rows.
        value, key: binary, string, or the large form of one.
        header_lists: list or large list with an element for each header; its offsets point into the next two.
        header_keys, header_values: children of the lists, as long as their struct.
        timestamps_ms: int64, milliseconds since 1970, without nulls.
    """

    row_count: int
    value: pa.Array
    key: pa.Array | None = None
    header_lists: pa.Array | None = None
    header_keys: pa.Array | None = None
    header_values: pa.Array | None = None
    timestamps_ms: pa.Array | None = None

    @classmethod
    def of(cls, record_batch: pa.RecordBatch) -> Rows:
        """Check the columns of a record batch and return them; plain columns are not copied.

        Raises:
            TypeError: a column is missing or unknown, or has a type that cannot be written.
            ValueError: a header or its key is null; a key is not UTF-8; a timestamp is null or before 1970; an array is
                not valid Arrow.
        """
        unknown = [name for name in record_batch.schema.names if name not in COLUMNS]
        if unknown or "value" not in record_batch.schema.names:
            raise TypeError(f"columns {record_batch.schema.names}: expected value, and perhaps key, headers, timestamp")
        columns = dict(zip(record_batch.schema.names, record_batch.columns, strict=True))
        value = _plain_binary("value", columns["value"])
        key = _plain_binary("key", columns["key"]) if "key" in columns else None
        timestamps_ms = _milliseconds(columns["timestamp"]) if "timestamp" in columns else None
        if "headers" not in columns:
            return cls(row_count=record_batch.num_rows, value=value, key=key, timestamps_ms=timestamps_ms)
        lists = _checked_headers(columns["headers"])
        return cls(
            row_count=record_batch.num_rows,
            value=value,
            key=key,
            header_lists=lists,
            header_keys=lists.values.field("key"),
            header_values=_plain_binary("the value of a header", lists.values.field("value")),
            timestamps_ms=timestamps_ms,
        )


def chunks_of(record_batches: RecordBatches) -> Iterator[Rows]:
    """Return a `Rows` for each chunk that is not empty, in the forms that Spark's writers and pyarrow have."""
    if isinstance(record_batches, pa.Table):
        record_batches = record_batches.to_batches()
    elif isinstance(record_batches, pa.RecordBatch):
        record_batches = [record_batches]
    return (Rows.of(record_batch) for record_batch in record_batches if record_batch.num_rows)


def _plain_binary(name: str, array: pa.Array) -> pa.Array:
    """Return an array in a form with offsets and bytes."""
    if pa.types.is_dictionary(array.type):
        array = array.dictionary_decode()
    if pa.types.is_fixed_size_binary(array.type) or pa.types.is_null(array.type) or pa.types.is_binary_view(array.type):
        array = array.cast(pa.binary())
    if pa.types.is_string_view(array.type):
        array = array.cast(pa.string())
    if array.type not in PLAIN_TYPES:
        raise TypeError(f"{name} is {array.type}, expected binary or string")
    array.validate()
    return array


def _milliseconds(timestamps: pa.Array) -> pa.Array:
    """Return timestamps as milliseconds since 1970."""
    if not pa.types.is_timestamp(timestamps.type):
        raise TypeError(f"timestamp is {timestamps.type}, expected timestamp")
    timestamps.validate()
    if timestamps.null_count:
        raise ValueError("the timestamp of a row is null: expected the time of its record")
    earliest = pc.min(timestamps.cast(pa.int64())).as_py()
    if earliest is not None and earliest < 0:
        unit = timestamps.type.unit
        raise ValueError(f"the timestamp of a row is {earliest} {unit} after 1970-01-01: expected that time or later")
    return timestamps.cast(pa.timestamp("ms", timestamps.type.tz), safe=False).cast(pa.int64())


def _checked_headers(lists: pa.Array) -> pa.Array:
    """Check every header of the rows, and return the lists of headers."""
    expected = "expected list<struct<key: string, value: binary>>"
    is_list = pa.types.is_list(lists.type) or pa.types.is_large_list(lists.type)
    if not is_list or not pa.types.is_struct(lists.type.value_type):
        raise TypeError(f"headers is {lists.type}, {expected}")
    element = lists.type.value_type
    if sorted(field.name for field in element) != ["key", "value"]:
        raise TypeError(f"headers is {lists.type}, {expected}")
    if element.field("key").type not in (pa.string(), pa.large_string()):
        raise TypeError(f"headers is {lists.type}, {expected}")
    lists.validate()
    # The child of a list may have elements that belong to no row; `flatten` leaves them out.
    reachable = lists.flatten()
    keys = reachable.field("key")
    if reachable.null_count or keys.null_count:
        raise ValueError("a header, or the key of one, is null: expected headers with keys")
    # Some readers refuse a key that is not UTF-8, and would never read beyond it in the log.
    keys.validate(full=True)
    return lists
