"""Snappy as Kafka uses it: blocks in the framing of xerial's Java library, or one raw block.

    offset  size
    0       8     82 'S' 'N' 'A' 'P' 'P' 'Y' 00
    8       4     version, int32, 1
    12      4     lowest version that can read it, int32, 1
    16            blocks: int32 size, then one raw Snappy block; another such 16-byte header may precede a block

Java clients write the framing, librdkafka writes both; every reader accepts both.

Source: org.xerial.snappy SnappyOutputStream, SnappyInputStream, SnappyCodec.
"""

from __future__ import annotations

import struct

import cramjam

from raft.errors import DecodeError, DecompressedTooLargeError

_MAGIC = b"\x82SNAPPY\x00"
_HEADER = _MAGIC + struct.pack(">ii", 1, 1)
_BLOCK_BYTES = 32 << 10
_SIZE = struct.Struct(">i")
_HIGHEST_EXPANSION = 64


def compress(data: bytes) -> bytes:
    """Return `data` compressed in xerial's framing, in blocks of 32 KiB as Java writes them."""
    parts = [_HEADER]
    view = memoryview(data)
    for start in range(0, len(data), _BLOCK_BYTES):
        block = bytes(cramjam.snappy.compress_raw(view[start : start + _BLOCK_BYTES]))
        parts.append(_SIZE.pack(len(block)))
        parts.append(block)
    return b"".join(parts)


def decompress(data: bytes, *, max_bytes: int) -> bytes:
    """Return the decompressed bytes of framed or raw Snappy data.

    Args:
        data: the compressed bytes.
        max_bytes: largest size of the result.

    Raises:
        DecodeError: the data is malformed.
        DecompressedTooLargeError: the result is larger than `max_bytes`.
    """
    if not data.startswith(_MAGIC):
        return _decompress_block(data, 0, max_bytes)
    parts: list[bytes] = []
    size_so_far = 0
    position = 0
    while position < len(data):
        if data.startswith(_MAGIC, position):
            position += len(_HEADER)
            if position > len(data):
                raise DecodeError("snappy framing is incomplete in its header")
            continue
        if position + _SIZE.size > len(data):
            raise DecodeError("snappy framing is incomplete before a block")
        (size,) = _SIZE.unpack_from(data, position)
        position += _SIZE.size
        if not 0 <= size <= len(data) - position:
            raise DecodeError(f"snappy block of {size} bytes with {len(data) - position} left")
        part = _decompress_block(data[position : position + size], size_so_far, max_bytes)
        parts.append(part)
        size_so_far += len(part)
        position += size
    return b"".join(parts)


def _decompress_block(block: bytes, size_before: int, max_bytes: int) -> bytes:
    try:
        size = cramjam.snappy.decompress_raw_len(block)
        # The block states its decompressed size. The format cannot expand more than this, so a short block that states
        # gigabytes is refused before memory is allocated, whatever the limit.
        if size > _HIGHEST_EXPANSION * len(block):
            raise DecodeError(f"snappy block of {len(block)} bytes with an impossible decompressed size of {size}")
        if size_before + size > max_bytes:
            raise DecompressedTooLargeError(f"more than {max_bytes} bytes when decompressed")
        return bytes(cramjam.snappy.decompress_raw(block))
    except cramjam.DecompressionError as error:
        raise DecodeError(f"malformed snappy data: {error}") from error
