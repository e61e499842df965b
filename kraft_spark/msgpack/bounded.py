"""Unpacks bytes of unknown origin, with memory in proportion to their number."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgpack

_HARMLESS_BYTES = 512
_LONG_ARRAYS = (b"\xdc", b"\xdd")


def unpack_bounded(packed: bytes) -> Any:
    """Return the value: arrays as tuples, so that they can be keys of a dict; of equal keys the last.

    Raises:
        ValueError: the bytes are not one value in msgpack, or nested deeper than 1024 levels.
        TypeError: the key of a map is a map.
    """
    if len(packed) > _HARMLESS_BYTES and any(code in packed for code in _LONG_ARRAYS):
        _require_whole(packed)
    return msgpack.unpackb(packed, strict_map_key=False, use_list=False)


def unpack_all_bounded(packed: Sequence[bytes | None]) -> list[Any]:
    """Return the values of many rows, as `unpack_bounded` does; None for None.

    Raises:
        ValueError, TypeError: as `unpack_bounded`.
    """
    if any(row is not None and len(row) > _HARMLESS_BYTES for row in packed):
        return [None if row is None else unpack_bounded(row) for row in packed]
    # Without a call of a Python function for each row, which takes a fifth of the time.
    unpack = msgpack.unpackb
    return [None if row is None else unpack(row, strict_map_key=False, use_list=False) for row in packed]


def _require_whole(packed: bytes) -> None:
    """Check that all elements are there, without making objects.

    msgpack reserves memory for an array when it reads its length. Nested arrays that are announced, but not there,
    would take gigabytes for a megabyte.

    Raises:
        ValueError: they are not.
    """
    unpacker = msgpack.Unpacker(max_buffer_size=len(packed))
    unpacker.feed(packed)
    try:
        unpacker.skip()
    except msgpack.OutOfData as error:
        raise ValueError("Unpack failed: incomplete input") from error
