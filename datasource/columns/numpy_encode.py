"""Encoding in numpy: columns of varints and columns of bytes, joined row by row by pyarrow."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from datasource.columns.rows import Rows
from datasource.columns.varints import Integers, Octets, bounds, varint_sizes, write_varints

SEPARATOR = pa.scalar(b"", pa.large_binary())
ATTRIBUTES_AND_TIMESTAMP_DELTA = pa.scalar(b"\0\0", pa.large_binary())


def records_size(rows: Rows, first_offset_delta: int) -> int:
    """Return how many bytes the rows take as records, from their lengths alone."""
    bodies = 2 + varint_sizes(_offset_deltas(rows, first_offset_delta))
    for column in (rows.key, rows.value):
        bodies += _value_sizes(_lengths(column, rows.row_count))
    header_counts, indices = _headers(rows)
    bodies += varint_sizes(header_counts)
    if len(indices):
        headers = _value_sizes(_lengths(rows.header_keys, 0)) + _value_sizes(_lengths(rows.header_values, 0))
        bodies += np.diff(bounds(headers[indices])[bounds(header_counts)])
    return int((varint_sizes(bodies) + bodies).sum())


def encode_records(rows: Rows, first_offset_delta: int) -> Octets:
    """Return the rows as records, one after the other."""
    header_counts, indices = _headers(rows)
    parts = [
        ATTRIBUTES_AND_TIMESTAMP_DELTA,
        write_varints(_offset_deltas(rows, first_offset_delta)),
        *_value_parts(rows.key, rows.row_count),
        *_value_parts(rows.value, rows.row_count),
        write_varints(header_counts),
    ]
    if rows.header_keys is not None and rows.header_values is not None and len(indices):
        keys, values = rows.header_keys.take(indices), rows.header_values.take(indices)
        headers = _join(*_value_parts(keys, len(keys)), *_value_parts(values, len(values)))
        # Headers lie one after the other in their buffer, so those of a row are one value of it already.
        edges = np.frombuffer(headers.buffers()[1], np.int64)[bounds(header_counts)]
        buffers = [None, pa.py_buffer(edges), headers.buffers()[2]]
        parts.append(pa.Array.from_buffers(pa.large_binary(), rows.row_count, buffers))
    bodies = _join(*parts)
    records = _join(write_varints(_lengths(bodies, rows.row_count)), bodies)
    return np.frombuffer(records.buffers()[2], np.uint8)


def _offset_deltas(rows: Rows, first_offset_delta: int) -> Integers:
    return np.arange(first_offset_delta, first_offset_delta + rows.row_count, dtype=np.int64)


def _lengths(array: pa.Array | None, length: int) -> Integers:
    """Return the length of each value, -1 for null; of a column that is not there, `length` nulls."""
    if array is None:
        return np.full(length, -1, np.int64)
    lengths: Integers = pc.binary_length(array).cast(pa.int64()).fill_null(-1).to_numpy()
    return lengths


def _value_sizes(lengths: Integers) -> Integers:
    return varint_sizes(lengths) + np.maximum(lengths, 0)


def _value_parts(array: pa.Array | None, length: int) -> list[pa.Array]:
    """Return what a column contributes to each row: the length as a varint, and the bytes if there is a column."""
    varints = write_varints(_lengths(array, length))
    return [varints] if array is None else [varints, array.cast(pa.large_binary()).fill_null(b"")]


def _join(*parts: pa.Array | pa.Scalar) -> pa.Array:
    return pc.binary_join_element_wise(*parts, SEPARATOR)


def _headers(rows: Rows) -> tuple[Integers, Integers]:
    """Return how many headers each row has, and where all of them are in the children of the lists."""
    if rows.header_lists is None:
        return np.zeros(rows.row_count, np.int64), np.zeros(0, np.int64)
    counts = pc.list_value_length(rows.header_lists).cast(pa.int64()).fill_null(0).to_numpy()
    starts = rows.header_lists.offsets.to_numpy()[:-1].astype(np.int64)
    # Headers of one row are neighbours, but those of a null list may lie between them and the next row's.
    return counts, np.repeat(starts - bounds(counts)[:-1], counts) + np.arange(counts.sum())
