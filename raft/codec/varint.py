"""Unsigned varints: seven bits a byte, lowest first, the top bit set on all but the last (KIP-482).

The generated code handles values below 128, which are the most frequent, and calls these functions for others.
"""

from __future__ import annotations

UVARINTS = tuple(bytes((value,)) for value in range(128))
"""The varints of one byte, by value."""


def encode_uvarint(value: int) -> bytes:
    """Return the shortest varint of a value of 0 or more."""
    encoded = bytearray()
    while value > 127:
        encoded.append(value & 127 | 128)
        value >>= 7
    encoded.append(value)
    return bytes(encoded)


def read_uvarint(buffer: bytes, position: int) -> tuple[int, int]:
    """Return the value of the varint at `position`, and the position after it.

    Raises:
        ValueError: it is longer than five bytes, or its value has more than 32 bits.
        IndexError: the buffer ends within it.
    """
    value = 0
    for shift in range(0, 35, 7):
        byte = buffer[position]
        position += 1
        value |= (byte & 127) << shift
        if byte < 128:
            if value >> 32:
                break
            return value, position
    raise ValueError("a varint of more than 32 bits")
