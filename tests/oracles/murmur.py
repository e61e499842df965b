"""MurmurHash64A: a hash of 64 bits, for content checksums.

CRC-32C is not used for these because it is linear: when two rows swap their values, the sum of their checksums often
stays the same. The hash does not protect against deliberate collisions.

Source: Austin Appleby, MurmurHash2, 64-bit version for 64-bit platforms; `raft/native/scanner.c` has the same in C.
"""

from __future__ import annotations

import struct

_MULTIPLIER = 0xC6A4A7935BD1E995
_SHIFT = 47
_MASK = (1 << 64) - 1
_WORD = struct.Struct("<Q")


def murmur_hash(data: bytes, *, seed: int = 0) -> int:
    """Return the hash of `data`, an unsigned 64-bit number."""
    hashed = seed ^ (len(data) * _MULTIPLIER & _MASK)
    rest_at = len(data) - len(data) % _WORD.size
    for (word,) in _WORD.iter_unpack(memoryview(data)[:rest_at]):
        mixed = word * _MULTIPLIER & _MASK
        mixed = (mixed ^ mixed >> _SHIFT) * _MULTIPLIER & _MASK
        hashed = (hashed ^ mixed) * _MULTIPLIER & _MASK
    if rest_at < len(data):
        hashed = (hashed ^ int.from_bytes(data[rest_at:], "little")) * _MULTIPLIER & _MASK
    hashed = (hashed ^ hashed >> _SHIFT) * _MULTIPLIER & _MASK
    return hashed ^ hashed >> _SHIFT
