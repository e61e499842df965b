"""Counts the records in batches by their headers alone."""

from __future__ import annotations

import struct

_LENGTH_AND_COUNT = struct.Struct(">8xi45xi")
_LENGTH_END = 12


def count_records(batches: bytes) -> int:
    """Return how many records are in whole batches; what follows a damaged header does not count.

    Layout of the header: base offset (8 bytes), length of what follows (4), 45 bytes, record count (4).
    """
    position = count = 0
    last_start = len(batches) - _LENGTH_AND_COUNT.size
    unpack = _LENGTH_AND_COUNT.unpack_from
    while position <= last_start:
        length, records = unpack(batches, position)
        if length <= 0:
            break
        count += records
        position += _LENGTH_END + length
    return count
