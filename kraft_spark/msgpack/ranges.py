"""Checks that numbers fit into the signed integers in which Spark stores values."""

from __future__ import annotations

import msgpack


def in_range(number: int, bits: int) -> int:
    """Return a number if it fits into signed integers of this size.

    Raises:
        ValueError: it does not.
    """
    if not -(1 << bits - 1) <= number < 1 << bits - 1:
        raise ValueError(f"{number} does not fit into {bits} bits")
    return number


def micros_of(timestamp: msgpack.Timestamp) -> int:
    """Return the microseconds since 1970; parts of a microsecond are dropped.

    Raises:
        ValueError: they do not fit into 64 bits.
    """
    return in_range(timestamp.seconds * 1_000_000 + timestamp.nanoseconds // 1_000, 64)
