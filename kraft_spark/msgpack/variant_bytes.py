"""Makes a variant of a value of msgpack, in Spark's binary format (`common/variant/README.md` of Spark).

metadata   version and size of an offset | number of keys | offsets | keys
array      header | number of elements | offsets | elements
object     header | number of fields | ids of their keys, in the order of the keys | offsets | values
"""

from __future__ import annotations

import struct
from typing import Any

import msgpack

from kraft_spark.msgpack.found import found
from kraft_spark.msgpack.ranges import micros_of

_MAX_DEPTH = 500
_MAX_BYTES = 16 << 20
"""The limit of PySpark's own builder of variants; Spark's is higher."""

_NULL, _TRUE, _FALSE = b"\x00", b"\x04", b"\x08"
_INTEGERS = ((8, 3, "<b"), (16, 4, "<h"), (32, 5, "<i"), (64, 6, "<q"))
_DOUBLE, _DECIMAL_16, _TIMESTAMP, _BINARY, _LONG_STRING = 7 << 2, 10 << 2, 12 << 2, 15 << 2, 16 << 2
_SHORT = 64
_FEW = 256


def variant_of(value: Any) -> dict[str, bytes]:
    """Return the value and the metadata of a variant.

    Args:
        value: as msgpack unpacks it, with arrays as tuples.

    Raises:
        ValueError: it has an extension other than a timestamp, or a map with other keys than strings; or it is nested
            deeper than 500 levels, or larger than 16 MiB.
    """
    keys: dict[str, int] = {}
    content = _encode(value, keys, 0)
    metadata = _metadata(keys)
    if max(len(content), len(metadata)) > _MAX_BYTES:
        raise ValueError(f"{len(content)} bytes do not fit into a variant, expected at most {_MAX_BYTES}")
    return {"value": content, "metadata": metadata}


def _encode(value: Any, keys: dict[str, int], depth: int) -> bytes:
    if depth > _MAX_DEPTH:
        raise ValueError(f"nested deeper than {_MAX_DEPTH} levels, expected a variant")
    kind = type(value)
    if kind is dict:
        return _object(value, keys, depth)
    if kind is tuple:
        # A loop, because a comprehension would double the depth of the calls.
        elements = []
        for element in value:
            elements.append(_encode(element, keys, depth + 1))
        large = len(elements) >= _FEW
        size, offsets = _offsets(elements)
        return b"".join((bytes([large << 4 | size - 1 << 2 | 3]), _count(len(elements)), offsets, *elements))
    return _simple(value, kind)


def _simple(value: Any, kind: type) -> bytes:
    if kind is str:
        text: bytes = value.encode()
        if len(text) < _SHORT:
            return bytes([len(text) << 2 | 1]) + text
        return struct.pack("<BI", _LONG_STRING, len(text)) + text
    if kind is int:
        for bits, code, form in _INTEGERS:
            if -(1 << bits - 1) <= value < 1 << bits - 1:
                return bytes([code << 2]) + struct.pack(form, value)
        return struct.pack("<BB", _DECIMAL_16, 0) + _number(value, 16)
    if value is None:
        return _NULL
    if kind is bool:
        return _TRUE if value else _FALSE
    if kind is float:
        return struct.pack("<Bd", _DOUBLE, value)
    if kind is bytes:
        return b"".join((struct.pack("<BI", _BINARY, len(value)), value))
    if kind is msgpack.Timestamp:
        return struct.pack("<Bq", _TIMESTAMP, micros_of(value))
    raise ValueError(f"found {found(value)}, expected a variant")


def _object(value: dict[Any, Any], keys: dict[str, int], depth: int) -> bytes:
    for key in value:
        if type(key) is not str:
            raise ValueError(f"found {found(key)} as the key of a map, expected a str in a variant")
    # Spark looks keys up in the order of Java's strings: by units of UTF-16.
    names = sorted(value, key=lambda key: key.encode("utf-16-be"))
    ids, fields = [], []
    for name in names:
        ids.append(keys.setdefault(name, len(keys)))
        fields.append(_encode(value[name], keys, depth + 1))
    large = len(names) >= _FEW
    id_size = _size(max(ids, default=0))
    size, offsets = _offsets(fields)
    header = bytes([large << 6 | id_size - 1 << 4 | size - 1 << 2 | 2])
    return b"".join((header, _count(len(names)), *(_number(id, id_size) for id in ids), offsets, *fields))


def _metadata(keys: dict[str, int]) -> bytes:
    texts = [key.encode() for key in keys]
    size, offsets = _offsets(texts, at_least=len(texts))
    return b"".join((bytes([1 | size - 1 << 6]), _number(len(texts), size), offsets, *texts))


def _offsets(parts: list[bytes], *, at_least: int = 0) -> tuple[int, bytes]:
    """Return the size of an offset, and the offsets of the parts with that of their end."""
    ends = [0]
    for part in parts:
        ends.append(ends[-1] + len(part))
    size = _size(max(ends[-1], at_least))
    return size, b"".join([_number(end, size) for end in ends])


def _count(number: int) -> bytes:
    return _number(number, 4 if number >= _FEW else 1)


def _size(largest: int) -> int:
    return max(1, (largest.bit_length() + 7) // 8)


def _number(number: int, size: int) -> bytes:
    return number.to_bytes(size, "little")
