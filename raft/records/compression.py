"""Compresses and decompresses the records of batches, with a limit on the decompressed size.

    code  codec    form of the bytes
    0     none
    1     gzip     one or more members
    2     snappy   xerial's framing, or one raw block (see `raft.records.snappy`)
    3     lz4      frames with independent blocks (Java refuses linked ones)
    4     zstd     frames

A few bytes can decompress to gigabytes, so each call that decompresses has a limit.

Source: Kafka CompressionType, Lz4BlockInputStream; KIP-57, KIP-110.
"""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Callable
from enum import IntEnum
from mmap import mmap
from typing import assert_never

import cramjam

from raft.errors import DecodeError, DecompressedTooLargeError
from raft.records import snappy

DEFAULT_MAX_DECOMPRESSED_BYTES = 64 << 20
"""Default limit on the decompressed size of one batch."""

_FIRST_GUESS_BYTES = 64 << 10
_GZIP_WINDOW_BITS = 16 + zlib.MAX_WBITS
_GZIP_PIECE_BYTES = 16 << 10
_GZIP_PART_BYTES = 1 << 20
"""Most bytes in one step, because no other thread runs while they are appended to the result."""
_BUFFER_IS_FULL = "failed to write whole buffer"
"""The error of cramjam when the output does not fit into its buffer."""
_ZSTD_LEVEL = 3
_LZ4_LEVEL = 9


class Compression(IntEnum):
    """How the records of a batch are compressed: bits 0-2 of its attributes."""

    NONE = 0
    GZIP = 1
    SNAPPY = 2
    LZ4 = 3
    ZSTD = 4


def compress(codec: Compression, data: bytes) -> bytes:
    """Return `data` compressed as Kafka's clients do with that codec."""
    match codec:
        case Compression.NONE:
            return data
        case Compression.GZIP:
            return gzip.compress(data, mtime=0)
        case Compression.SNAPPY:
            return snappy.compress(data)
        case Compression.LZ4:
            compressor = cramjam.lz4.Compressor(level=_LZ4_LEVEL, content_checksum=False, block_linked=False)
            compressor.compress(data)
            return bytes(compressor.finish())
        case Compression.ZSTD:
            return bytes(cramjam.zstd.compress(data, level=_ZSTD_LEVEL))
        case _:
            assert_never(codec)


def decompress(code: int, data: bytes, *, max_bytes: int = DEFAULT_MAX_DECOMPRESSED_BYTES) -> bytes:
    """Return the decompressed bytes.

    Args:
        code: bits 0-2 of a batch's attributes.
        data: the compressed bytes.
        max_bytes: largest size of the result.

    Raises:
        DecodeError: the codec is unknown, or the bytes are malformed or have others after them.
        DecompressedTooLargeError: the result is larger than `max_bytes`.
    """
    return bytes(decompress_to_buffer(code, data, max_bytes=max_bytes))


def decompress_to_buffer(code: int, data: bytes, *, max_bytes: int) -> bytes | memoryview:
    """Return the decompressed bytes in the buffer of the codec, without a copy, during which no other thread would run.

    Args:
        code: see `decompress`.
        data: see `decompress`.
        max_bytes: see `decompress`.

    Raises:
        DecodeError: see `decompress`.
        DecompressedTooLargeError: see `decompress`.
    """
    match code:
        case Compression.NONE:
            if len(data) > max_bytes:
                raise DecompressedTooLargeError(f"{len(data)} bytes of records, expected at most {max_bytes}")
            return data
        case Compression.GZIP:
            return _gunzip(data, max_bytes)
        case Compression.SNAPPY:
            return snappy.decompress(data, max_bytes=max_bytes)
        case Compression.LZ4:
            return _decompress_into_buffer(cramjam.lz4.decompress_into, data, max_bytes)
        case Compression.ZSTD:
            return _decompress_into_buffer(cramjam.zstd.decompress_into, data, max_bytes)
        case _:
            raise DecodeError(f"unknown compression codec {code}")


def _gunzip(data: bytes, max_bytes: int) -> memoryview:
    decompressed = bytearray()
    position = 0
    # Java reads several members one after the other as one stream.
    while position < len(data) or not position:
        member = zlib.decompressobj(wbits=_GZIP_WINDOW_BITS)
        has_more_inside = False
        while not member.eof:
            # The input goes in piece by piece, because a member copies the input after its end. A megabyte of the
            # smallest members would otherwise take seconds.
            piece = data[position : position + _GZIP_PIECE_BYTES]
            if not piece and not has_more_inside:
                raise DecodeError("gzip data is incomplete")
            # One byte more than the limit tells a result of that size from a larger one; 0 would mean no limit.
            most_bytes = min(max_bytes - len(decompressed), _GZIP_PART_BYTES) + 1
            try:
                part = member.decompress(piece, most_bytes)
            except zlib.error as error:
                raise DecodeError(f"malformed gzip data: {error}") from error
            decompressed += part
            if len(decompressed) > max_bytes:
                raise _too_much(max_bytes)
            has_more_inside = len(part) == most_bytes
            position += len(piece) - len(member.unused_data or member.unconsumed_tail)
    return memoryview(decompressed)


def _decompress_into_buffer(
    decompress_into: Callable[[bytes, memoryview], int], data: bytes, max_bytes: int
) -> memoryview:
    # These two codecs return an error when their buffer is full. The frames need not say their decompressed size, so
    # the first buffer has an estimated size, and larger ones follow up to the limit.
    capacity = min(max_bytes, max(_FIRST_GUESS_BYTES, 4 * len(data)))
    while True:
        # The system zeroes this memory page by page, when it is written. Zeroing tens of megabytes at once would block
        # all other threads.
        buffer = memoryview(mmap(-1, capacity))
        try:
            size = decompress_into(data, buffer)
        except cramjam.DecompressionError as error:
            if capacity >= max_bytes:
                if _BUFFER_IS_FULL in str(error):
                    raise _too_much(max_bytes) from error
                raise DecodeError(f"malformed data: {error}") from error
            # Released before the next one is allocated.
            del buffer
            capacity = min(max_bytes, 8 * capacity)
        else:
            return buffer[:size]


def _too_much(max_bytes: int) -> DecompressedTooLargeError:
    return DecompressedTooLargeError(f"more than {max_bytes} bytes when decompressed")
