"""The structures that `kernel.py` shares with `raft/native/columns.c`, filled from Arrow's buffers.

Every call has one structure as argument, because ctypes converts arguments one by one, and two dozen of them would take
longer than the call. A structure has addresses only; its owner keeps the buffers alive.
"""

from __future__ import annotations

import ctypes

import pyarrow as pa

WIDE_TYPES = (pa.large_binary(), pa.large_string())
"""Types with 64-bit offsets."""


class BinaryOutput(ctypes.Structure):
    """`struct binary_output`: a binary column to write."""

    _fields_ = (
        ("byte_count", ctypes.c_int64),
        ("null_count", ctypes.c_int64),
        ("offsets", ctypes.c_void_p),
        ("data", ctypes.c_void_p),
        ("validity", ctypes.c_void_p),
    )

    def make_room(self, length: int) -> list[pa.Buffer | None]:
        """Allocate buffers for `length` values of `byte_count` bytes, and return them in Arrow's order."""
        validity = zeroed((length + 7) // 8) if self.null_count else None
        offsets = offsets_room(length)
        data = pa.allocate_buffer(self.byte_count)
        self.validity = validity.address if validity is not None else None
        self.offsets = offsets.address
        self.data = data.address
        return [validity, offsets, data]


class Decoding(ctypes.Structure):
    """`struct decoding`: batches to read, columns to write."""

    _fields_ = (
        ("input", ctypes.c_void_p),
        ("batches", ctypes.c_void_p),
        ("batch_count", ctypes.c_int64),
        ("start_offset", ctypes.c_int64),
        ("end_offset", ctypes.c_int64),
        ("has_headers", ctypes.c_int64),
        ("row_count", ctypes.c_int64),
        ("header_count", ctypes.c_int64),
        ("failed_batch", ctypes.c_int64),
        ("failed_record", ctypes.c_int64),
        ("offsets", ctypes.c_void_p),
        ("timestamps_us", ctypes.c_void_p),
        ("epochs", ctypes.c_void_p),
        ("key", BinaryOutput),
        ("value", BinaryOutput),
        ("header_offsets", ctypes.c_void_p),
        ("header_key", BinaryOutput),
        ("header_value", BinaryOutput),
    )


class ColumnInput(ctypes.Structure):
    """`struct column_input`: a column of bytes or lists to read."""

    _fields_ = (
        ("validity", ctypes.c_void_p),
        ("offsets", ctypes.c_void_p),
        ("data", ctypes.c_void_p),
        ("data_size", ctypes.c_int64),
        ("first", ctypes.c_int64),
        ("has_wide_offsets", ctypes.c_int64),
    )

    @classmethod
    def of(cls, array: pa.Array | None) -> ColumnInput:
        """Return the structure of a plain column of `Rows`; a missing column, None, becomes a column of nulls."""
        if array is None or len(array) == 0:
            return cls()
        validity, offsets, data = array.buffers()[:3]
        column = cls(offsets=offsets.address, first=array.offset)
        if validity is not None:
            column.validity = validity.address
        if array.type in WIDE_TYPES or pa.types.is_large_list(array.type):
            column.has_wide_offsets = True
        if isinstance(array, pa.ListArray | pa.LargeListArray):
            # The third buffer belongs to the child.
            column.data_size = len(array.values)
        else:
            # Arrow has a buffer for the bytes, even if there are none.
            column.data, column.data_size = data.address, data.size
        return column


class Encoding(ctypes.Structure):
    """`struct encoding`: columns to read, records to write."""

    _fields_ = (
        ("row_count", ctypes.c_int64),
        ("first_offset_delta", ctypes.c_int64),
        ("key", ColumnInput),
        ("value", ColumnInput),
        ("header_lists", ColumnInput),
        ("header_key", ColumnInput),
        ("header_value", ColumnInput),
        ("timestamps_ms", ctypes.c_void_p),
        ("base_timestamp_ms", ctypes.c_int64),
        ("output", ctypes.c_void_p),
        ("output_size", ctypes.c_int64),
        ("byte_count", ctypes.c_int64),
    )


class Hashing(ctypes.Structure):
    """`struct hashing`: a column of keys to read, their hashes to write."""

    _fields_ = (
        ("row_count", ctypes.c_int64),
        ("key", ColumnInput),
        ("hashes", ctypes.c_void_p),
    )


def int64_address(array: pa.Array) -> int:
    """Return the address of the first value of an int64 array without nulls."""
    return int(array.buffers()[1].address) + 8 * int(array.offset)


def offsets_room(length: int) -> pa.Buffer:
    """Allocate a buffer for the int32 offsets of `length` values; the first offset is zero already."""
    buffer = pa.allocate_buffer(4 * (length + 1))
    ctypes.memset(buffer.address, 0, 4)
    return buffer


def zeroed(size: int) -> pa.Buffer:
    """Allocate a buffer of `size` zero bytes."""
    buffer = pa.allocate_buffer(size)
    ctypes.memset(buffer.address, 0, size)
    return buffer
