"""The variable-length integers in records: zigzag, seven bits a byte, lowest first.

    value    0    -1    1    -2   ...   63   -64    64
    bytes   00    01   02    03   ...   7e    7f   80 01

Lengths and deltas of offsets are at most five bytes (int32), deltas of timestamps at most ten (int64).

Source: Kafka ByteUtils.readVarint, readVarlong. Java ignores bits beyond the 32nd or 64th; here they are an error,
because two readers must not read different values from the same bytes.
"""

from __future__ import annotations

from raft.errors import DecodeError

_INT32_BITS = 32
_INT64_BITS = 64


def read_varint(buffer: bytes, position: int) -> tuple[int, int]:
    """Return the int32 at `position` and the position after it.

    Raises:
        DecodeError: the value has more than 32 bits.
        IndexError: the buffer ends within it; readers of records make a DecodeError of it.
    """
    return _read(buffer, position, _INT32_BITS)


def read_varlong(buffer: bytes, position: int) -> tuple[int, int]:
    """Return the int64 at `position` and the position after it; errors as in `read_varint`."""
    return _read(buffer, position, _INT64_BITS)


def _read(buffer: bytes, position: int, bits: int) -> tuple[int, int]:
    byte = buffer[position]
    position += 1
    # Most varints have one byte.
    if byte < 0x80:
        return (byte >> 1) ^ -(byte & 1), position
    raw = byte & 0x7F
    shift = 7
    while True:
        byte = buffer[position]
        position += 1
        raw |= (byte & 0x7F) << shift
        if byte < 0x80:
            break
        shift += 7
        if shift >= bits:
            raise DecodeError(f"variable-length integer of more than {bits} bits")
    if raw >> bits:
        raise DecodeError(f"variable-length integer of more than {bits} bits")
    return (raw >> 1) ^ -(raw & 1), position


def write_varint(value: int) -> bytes:
    """Return the shortest varint of an int32 or int64."""
    raw = (value << 1) ^ (value >> (_INT64_BITS - 1))
    if raw < 0x80:
        return _ONE_BYTE[raw]
    if raw < 0x4000:
        return bytes((raw & 0x7F | 0x80, raw >> 7))
    out = bytearray()
    while raw >= 0x80:
        out.append((raw & 0x7F) | 0x80)
        raw >>= 7
    out.append(raw)
    return bytes(out)


_ONE_BYTE = tuple(bytes((value,)) for value in range(0x80))
