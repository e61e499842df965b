"""Mutates real inputs: each mutator does one kind of damage in place, at random.

The same random numbers and the same bytes give the same damage.
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
"""Limits of lengths, counts and offsets are near these numbers, and near the size of the input."""

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
"""Takes random numbers, the bytes, at least one, and the contents of other samples."""


def _position(random: Random, content: bytearray) -> int:
    # Headers and lengths are at the beginning and decide most, so part of the damage is done there.
    reach = min(len(content), 64) if random.random() < 0.3 else len(content)
    return random.randrange(reach)


def flip_bit(random: Random, content: bytearray, others: Sequence[bytes]) -> None:
    """Flip one bit."""
    content[_position(random, content)] ^= 1 << random.randrange(8)


def replace_byte(random: Random, content: bytearray, others: Sequence[bytes]) -> None:
    """Replace one byte by an interesting one, or by any."""
    content[_position(random, content)] = (
        random.choice(INTERESTING_BYTES) if random.random() < 0.8 else random.randrange(256)
    )


def nudge_byte(random: Random, content: bytearray, others: Sequence[bytes]) -> None:
    """Increase or decrease one byte a little: a length that is nearly right."""
    at = _position(random, content)
    content[at] = (content[at] + random.choice((-2, -1, 1, 2))) % 256


def replace_number(random: Random, content: bytearray, others: Sequence[bytes]) -> None:
    """Overwrite some bytes by an interesting big-endian number."""
    number = random.choice((*INTERESTING_NUMBERS, len(content))) + random.choice((-1, 0, 0, 1))
    size = random.choice((2, 4, 8))
    at = _position(random, content)
    content[at : at + size] = struct.pack(">Q", number % (1 << 64))[-size:]


def replace_varint(random: Random, content: bytearray, others: Sequence[bytes]) -> None:
    """Replace one byte, or as many as it takes, by a varint that is huge, negative or without end."""
    varint = random.choice(VARINTS)
    at = _position(random, content)
    content[at : at + (1 if random.random() < 0.5 else len(varint))] = varint


def truncate(random: Random, content: bytearray, others: Sequence[bytes]) -> None:
    """Remove the end."""
    del content[random.randrange(len(content)) :]


def delete(random: Random, content: bytearray, others: Sequence[bytes]) -> None:
    """Remove some bytes."""
    at = _position(random, content)
    del content[at : at + random.choice((1, 1, 2, 4, 8, 32))]


def insert(random: Random, content: bytearray, others: Sequence[bytes]) -> None:
    """Insert random bytes."""
    at = _position(random, content)
    content[at:at] = random.randbytes(random.choice((1, 1, 2, 4, 8, 32)))


def duplicate(random: Random, content: bytearray, others: Sequence[bytes]) -> None:
    """Repeat a piece."""
    at = random.randrange(len(content))
    piece = content[at : at + random.choice((1, 4, 16, 64, len(content)))]
    content[at:at] = piece


def splice(random: Random, content: bytearray, others: Sequence[bytes]) -> None:
    """Replace the rest by that of another input, from the same position or from any."""
    other = random.choice(others)
    at = random.randrange(len(content))
    content[at:] = other[at if random.random() < 0.5 else random.randrange(len(other) + 1) :]


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


def mutated(random: Random, content: bytes, others: Sequence[bytes], words: Sequence[bytes] = ()) -> bytes:
    """Return the bytes with one to four mutations.

    Args:
        random: decides all.
        content: a real input.
        others: inputs of the same format.
        words: tokens to insert, for text formats.
    """
    changed = bytearray(content)
    for _ in range(random.choice((1, 1, 1, 2, 2, 3, 4))):
        if not changed:
            break
        if words and random.random() < 0.4:
            at = random.randrange(len(changed))
            changed[at : at + random.choice((0, 0, 1, 2, 4))] = random.choice(words)
        else:
            random.choice(MUTATORS)(random, changed, others)
    return bytes(changed[:MAX_BYTES])
