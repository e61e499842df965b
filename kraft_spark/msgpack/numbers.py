"""Packs numbers, timestamps and lengths by columns, each in the fewest bytes, as msgpack's own packer does.

value                         bytes
-32 to 127                    the value
other integers                cc cd ce cf (unsigned, 1 2 4 8 bytes), d0 d1 d2 d3 (negative)
float                         cb, 8 bytes
timestamp, whole seconds      d6 ff, 4 bytes: seconds below 2^32
timestamp                     d7 ff, 8 bytes: nanoseconds in 30 bits, seconds in 34
other timestamps              c7 0c ff, 4 bytes: nanoseconds, 8 bytes: seconds
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from kraft_spark.msgpack.binary_columns import Bytes, Numbers, right_aligned

_BOUNDS = np.array([-(2**31), -(2**15), -(2**7), -(2**5), 2**7, 2**8, 2**16, 2**32])
_LENGTHS = np.array([9, 5, 3, 2, 1, 2, 3, 5, 9])
_CODES = np.array([0xD3, 0xD2, 0xD1, 0xD0, 0, 0xCC, 0xCD, 0xCE, 0xCF], np.uint8)
_ONE_BYTE = 4

_MICROS = 1_000_000
_SECONDS_OF_64 = 34
_TIMESTAMP_BYTES = 15


@dataclass(frozen=True, slots=True, kw_only=True)
class Head:
    """How the length of a str, bin, array or map is written.

    Fields:
        fixed: lengths below this are added to the code of one byte.
        fixed_code: that code.
        codes: by number of bytes of the length: 1, 2 and 4; None if there is no code for it.
    """

    fixed: int
    fixed_code: int
    codes: tuple[int | None, int, int]


STR = Head(fixed=32, fixed_code=0xA0, codes=(0xD9, 0xDA, 0xDB))
BIN = Head(fixed=0, fixed_code=0, codes=(0xC4, 0xC5, 0xC6))
ARRAY = Head(fixed=16, fixed_code=0x90, codes=(None, 0xDC, 0xDD))
MAP = Head(fixed=16, fixed_code=0x80, codes=(None, 0xDE, 0xDF))


def pack_integers(values: npt.NDArray[np.int64]) -> pa.Array:
    """Pack integers of 64 bits."""
    kinds = np.searchsorted(_BOUNDS, values, side="right")
    lengths = _LENGTHS[kinds]
    matrix = _big_endian(values, ">i8", width=9)
    rows = np.arange(len(values))
    matrix[rows, 9 - lengths] = np.where(kinds == _ONE_BYTE, matrix[:, 8], _CODES[kinds])
    return right_aligned(matrix, lengths)


def pack_heads(lengths: Numbers, head: Head) -> pa.Array:
    """Pack the lengths of strs, bins, arrays or maps."""
    eight, sixteen, thirty_two = head.codes
    bounds = np.array([head.fixed, head.fixed if eight is None else 2**8, 2**16])
    kinds = np.searchsorted(bounds, lengths, side="right")
    sizes = np.array([1, 2, 3, 5])[kinds]
    matrix = _big_endian(lengths, ">u4", width=5)
    codes = np.array([0, eight or 0, sixteen, thirty_two], np.uint8)
    rows = np.arange(len(lengths))
    matrix[rows, 5 - sizes] = np.where(kinds == 0, matrix[:, 4] | head.fixed_code, codes[kinds])
    return right_aligned(matrix, sizes)


def pack_floats(values: Numbers) -> pa.Array:
    """Pack floats of 32 or 64 bits, all as float 64."""
    matrix = _big_endian(values.astype(np.float64), ">f8", width=9)
    matrix[:, 0] = 0xCB
    return right_aligned(matrix, np.full(len(values), 9))


def pack_timestamps(micros: npt.NDArray[np.int64]) -> pa.Array:
    """Pack microseconds since 1970 as the timestamp extension."""
    seconds = micros // _MICROS
    nanoseconds = ((micros - seconds * _MICROS) * 1_000).astype(np.uint64)
    is_64 = (seconds >= 0) & (seconds < 2**_SECONDS_OF_64)
    unsigned = seconds.astype(np.uint64)
    low = np.where(is_64, nanoseconds << np.uint64(_SECONDS_OF_64) | unsigned, unsigned)
    is_32 = is_64 & (low < 2**32)
    matrix = _big_endian(low, ">u8", width=_TIMESTAMP_BYTES)
    matrix[:, 3:7] = _big_endian(nanoseconds, ">u4", width=4)
    matrix[:, :3] = [0xC7, 12, 0xFF]
    matrix[is_64, 5:7] = [0xD7, 0xFF]
    matrix[is_32, 9:11] = [0xD6, 0xFF]
    return right_aligned(matrix, np.where(is_32, 6, np.where(is_64, 10, _TIMESTAMP_BYTES)))


def _big_endian(values: Numbers, kind: str, *, width: int) -> Bytes:
    """Return a matrix whose last columns are the values in big-endian order."""
    matrix = np.zeros((len(values), width), np.uint8)
    encoded = values.astype(kind)
    size = encoded.dtype.itemsize
    matrix[:, width - size :] = encoded.view(np.uint8).reshape(len(values), size)
    return matrix
