"""Bends real bytes: each mutator does one kind of damage, in place, as the dice say.

The same dice and the same bytes give the same damage.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from random import Random
from typing import TypeAlias

MAX_BYTES = 1 << 16
"""Inputs grow no larger than this."""

INTERESTING_BYTES = (0x00, 0x01, 0x02, 0x03, 0x7F, 0x80, 0x81, 0xFE, 0xFF)

INTERESTING_NUMBERS = (0, 1, -1, 2, 127, 128, -128, 255, 256, 32767, 32768, -32768, 65535, 1 << 31, 1 << 62)
"""Around them, and around the size of what is bent, lie the limits of lengths, counts and offsets."""

VARINTS = (
    b"\xff\xff\xff\xff\x0f",  # unsigned: 2^32 - 1; zigzag: -2^31
    b"\xfe\xff\xff\xff\x0f",  # zigzag: 2^31 - 1
    b"\xff\xff\xff\xff\x07",  # unsigned: 2^31 - 1
    b"\xff\xff\xff\xff\x1f",  # more than 32 bits
    b"\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01",  # zigzag: -2^63
    b"\xff\xff\xff\xff\xff\xff\xff\xff\xff\x02",  # more than 64 bits
    b"\xff" * 11,  # never ends
    b"\x80\x80\x80\x80\x00",  # 0, in more bytes than it takes
    b"\x80\x80\x04",  # 65536
    b"\x01",  # zigzag: -1, null; unsigned: 1, an empty string or array
    b"\x03",  # zigzag: -2
)

Mutator: TypeAlias = Callable[[Random, bytearray, Sequence[bytes]], None]
"""Takes the dice, the bytes, of which there is one at least, and the contents of other samples."""


def _position(dice: Random, content: bytearray) -> int:
    # Heads and lengths decide most, and they stand in front, so part of the damage goes there.
    reach = min(len(content), 64) if dice.random() < 0.3 else len(content)
    return dice.randrange(reach)


def flip_bit(dice: Random, content: bytearray, others: Sequence[bytes]) -> None:
    """Turn one bit over."""
    content[_position(dice, content)] ^= 1 << dice.randrange(8)


def replace_byte(dice: Random, content: bytearray, others: Sequence[bytes]) -> None:
    """Put an interesting byte, or any, in the place of one."""
    content[_position(dice, content)] = dice.choice(INTERESTING_BYTES) if dice.random() < 0.8 else dice.randrange(256)


def nudge_byte(dice: Random, content: bytearray, others: Sequence[bytes]) -> None:
    """Count one byte a little up or down: a length that is nearly right."""
    at = _position(dice, content)
    content[at] = (content[at] + dice.choice((-2, -1, 1, 2))) % 256


def replace_number(dice: Random, content: bytearray, others: Sequence[bytes]) -> None:
    """Write an interesting big-endian number over some bytes."""
    number = dice.choice((*INTERESTING_NUMBERS, len(content))) + dice.choice((-1, 0, 0, 1))
    size = dice.choice((2, 4, 8))
    at = _position(dice, content)
    content[at : at + size] = struct.pack(">Q", number % (1 << 64))[-size:]


def replace_varint(dice: Random, content: bytearray, others: Sequence[bytes]) -> None:
    """Write a varint that is huge, negative or without end in the place of one byte, or over as many as it takes."""
    varint = dice.choice(VARINTS)
    at = _position(dice, content)
    content[at : at + (1 if dice.random() < 0.5 else len(varint))] = varint


def truncate(dice: Random, content: bytearray, others: Sequence[bytes]) -> None:
    """Drop the end."""
    del content[dice.randrange(len(content)) :]


def delete(dice: Random, content: bytearray, others: Sequence[bytes]) -> None:
    """Drop some bytes."""
    at = _position(dice, content)
    del content[at : at + dice.choice((1, 1, 2, 4, 8, 32))]


def insert(dice: Random, content: bytearray, others: Sequence[bytes]) -> None:
    """Put some bytes in."""
    at = _position(dice, content)
    content[at:at] = dice.randbytes(dice.choice((1, 1, 2, 4, 8, 32)))


def duplicate(dice: Random, content: bytearray, others: Sequence[bytes]) -> None:
    """Put a piece in twice."""
    at = dice.randrange(len(content))
    piece = content[at : at + dice.choice((1, 4, 16, 64, len(content)))]
    content[at:at] = piece


def splice(dice: Random, content: bytearray, others: Sequence[bytes]) -> None:
    """Go on with the rest of another input, from the same place or from any."""
    other = dice.choice(others)
    at = dice.randrange(len(content))
    content[at:] = other[at if dice.random() < 0.5 else dice.randrange(len(other) + 1) :]


MUTATORS: tuple[Mutator, ...] = (
    flip_bit,
    replace_byte,
    replace_byte,
    nudge_byte,
    replace_number,
    replace_varint,
    truncate,
    delete,
    insert,
    duplicate,
    splice,
)


def bent(dice: Random, content: bytes, others: Sequence[bytes], words: Sequence[bytes] = ()) -> bytes:
    """Return the bytes with damage done to them once to four times.

    Args:
        dice: decide all.
        content: a real input.
        others: inputs of the same kind.
        words: pieces of text to be put in, for inputs that are text.
    """
    changed = bytearray(content)
    for _ in range(dice.choice((1, 1, 1, 2, 2, 3, 4))):
        if not changed:
            break
        if words and dice.random() < 0.4:
            at = dice.randrange(len(changed))
            changed[at : at + dice.choice((0, 0, 1, 2, 4))] = dice.choice(words)
        else:
            dice.choice(MUTATORS)(dice, changed, others)
    return bytes(changed[:MAX_BYTES])
