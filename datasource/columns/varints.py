"""Zigzag varints by the array: many are read, or written, in as many steps as the longest of them has bytes."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

Integers: TypeAlias = npt.NDArray[np.int64]
Octets: TypeAlias = npt.NDArray[np.uint8]
Flags: TypeAlias = npt.NDArray[np.bool_]


class UnsoundError(Exception):
    """Element number `index` of an array is not what it has to be."""

    def __init__(self, index: int) -> None:
        super().__init__(index)
        self.index = index


def require(is_sound: Flags) -> None:
    """Raise UnsoundError for the first element that is not sound."""
    if not is_sound.all():
        raise UnsoundError(int(np.argmin(is_sound)))


def read_varints(octets: Octets, positions: Integers, limits: Integers, *, bits: int) -> tuple[Integers, Integers]:
    """Read a varint at each position.

    Args:
        octets: the input.
        positions: where in it the varints begin.
        limits: where each must have ended; not outside of the input.
        bits: 32 or 64, how large they may be.

    Returns:
        The values, and the positions after them.

    Raises:
        UnsoundError: one does not end before its limit, or has more bits.
    """
    values = np.zeros(len(positions), np.uint64)
    positions = positions.copy()
    unfinished = np.arange(len(positions))
    shift = 0
    while len(unfinished):
        at = positions[unfinished]
        is_inside = at < limits[unfinished]
        byte = octets[np.where(is_inside, at, 0)]
        is_sound = is_inside & (byte >> max(bits - shift, 0) == 0) if shift + 7 > bits else is_inside
        if not is_sound.all():
            raise UnsoundError(int(unfinished[np.argmin(is_sound)]))
        values[unfinished] |= (byte & 0x7F).astype(np.uint64) << np.uint64(shift)
        positions[unfinished] += 1
        unfinished = unfinished[byte >= 0x80]
        shift += 7
    return (values >> np.uint64(1)).view(np.int64) ^ -(values & np.uint64(1)).view(np.int64), positions


def write_varints(values: Integers) -> pa.Array:
    """Return the values as large binary, each as its varint."""
    zigzag, sizes = _zigzag(values), varint_sizes(values)
    starts = bounds(sizes)
    octets = np.empty(starts[-1], np.uint8)
    for index in range(int(sizes.max(initial=0))):
        rows = np.flatnonzero(sizes > index)
        byte = (zigzag[rows] >> np.uint64(7 * index)).astype(np.uint8) & 0x7F
        octets[starts[rows] + index] = np.where(sizes[rows] > index + 1, byte | 0x80, byte)
    return pa.Array.from_buffers(pa.large_binary(), len(values), [None, pa.py_buffer(starts), pa.py_buffer(octets)])


def varint_sizes(values: Integers) -> Integers:
    """Return how many bytes each value takes."""
    zigzag = _zigzag(values)
    sizes = np.ones(len(values), np.int64)
    for shift in range(7, 64, 7):
        sizes += zigzag >= np.uint64(1 << shift)
    return sizes


def bounds(sizes: Integers) -> Integers:
    """Return where things of these sizes begin if each follows the one before it, and where the last one ends."""
    return np.concatenate([np.zeros(1, np.int64), np.cumsum(sizes)])


def _zigzag(values: Integers) -> npt.NDArray[np.uint64]:
    return ((values << 1) ^ (values >> 63)).view(np.uint64)
