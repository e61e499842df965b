"""Unsigned varints: seven bits a byte, lowest first, the top bit set on all but the last (KIP-482).

The generated code handles values below 128, nearly all there are, by itself and comes here for the rest.
"""

from __future__ import annotations

UVARINTS = tuple(bytes((value,)) for value in range(128))
"""The one-byte forms, by value."""


def encode_uvarint(value: int) -> bytes:
    """Write a value from 0 up in as few bytes as it takes."""
    encoded = bytearray()
    while value > 127:
        encoded.append(value & 127 | 128)
        value >>= 7
    encoded.append(value)
    return bytes(encoded)


def read_uvarint(buffer: bytes, position: int) -> tuple[int, int]:
    """Read the varint at `position`.

    Returns:
        Its value, and the position after it.

    Raises:
        ValueError: it is longer than five bytes or does not fit 32 bits.
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
