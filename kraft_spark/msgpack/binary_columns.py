"""Makes binary columns of numpy arrays: values of a few bytes, and runs of values."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

Bytes = npt.NDArray[np.uint8]
Numbers = npt.NDArray[Any]


def right_aligned(matrix: Bytes, lengths: Numbers) -> pa.Array:
    """Return the last bytes of each row of a matrix as a binary column.

    Args:
        matrix: one row for each value.
        lengths: how many bytes of each row count.
    """
    width = matrix.shape[1]
    offsets = np.zeros(len(matrix) + 1, np.int32)
    np.cumsum(lengths, out=offsets[1:])
    data = matrix[np.arange(width) >= (width - lengths)[:, None]]
    return _binary(offsets, pa.py_buffer(data))


def joined_runs(values: pa.Array, ends: Numbers) -> pa.Array:
    """Return the bytes of consecutive values joined, without a copy.

    Args:
        values: a binary column without nulls.
        ends: run number i has the values `ends[i]` to `ends[i + 1]`.
    """
    _, offsets, data = values.buffers()
    if len(values) == 0 or offsets is None:
        return _binary(np.zeros(len(ends), np.int32), pa.py_buffer(b""))
    starts = np.frombuffer(offsets, np.int32)[values.offset : values.offset + len(values) + 1]
    return _binary(starts[ends], data if data is not None else pa.py_buffer(b""))


def repeated(value: bytes, rows: int) -> pa.Array:
    """Return a binary column with the same value in every row."""
    offsets = np.arange(rows + 1, dtype=np.int32) * len(value)
    return _binary(offsets.astype(np.int32), pa.py_buffer(value * rows))


def _binary(offsets: npt.NDArray[np.int32], data: pa.Buffer) -> pa.Array:
    return pa.Array.from_buffers(pa.binary(), len(offsets) - 1, [None, pa.py_buffer(offsets), data])
