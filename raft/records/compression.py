"""The codecs of record batches, both ways, with a bound on what comes out.

    code  codec    form of the bytes
    0     none
    1     gzip     one or more members
    2     snappy   xerial's framing, or one raw block (see `raft.records.snappy`)
    3     lz4      frames with independent blocks (Java refuses linked ones)
    4     zstd     frames

A few bytes can stand for gigabytes, so nobody decompresses without saying how much may come out at most.

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
"""Most that one batch may hold when decompressed, unless a caller says otherwise."""

_FIRST_GUESS_BYTES = 64 << 10
_GZIP_WINDOW_BITS = 16 + zlib.MAX_WBITS
_GZIP_PIECE_BYTES = 16 << 10
_GZIP_PART_BYTES = 1 << 20
"""Most that comes out at once, because no other thread runs while it is joined and added to what was there."""
_BUFFER_IS_FULL = "failed to write whole buffer"
"""What cramjam says when there is more to write than room."""
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
    """Return `data` as Kafka's own clients write it with that codec."""
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
    """Return what `data` stands for.

    Args:
        code: bits 0-2 of a batch's attributes.
        data: the compressed bytes.
        max_bytes: most that may come out; with no compression, most that may go in.

    Raises:
        DecodeError: an unknown codec, or broken or surplus bytes.
        DecompressedTooLargeError: more than `max_bytes`.
    """
    return bytes(decompress_to_buffer(code, data, max_bytes=max_bytes))


def decompress_to_buffer(code: int, data: bytes, *, max_bytes: int) -> bytes | memoryview:
    """Return the same in whatever it came out into, which saves a copy during which no other thread could run."""
    match code:
        case Compression.NONE:
            if len(data) > max_bytes:
                raise DecompressedTooLargeError(f"{len(data)} bytes of records; at most {max_bytes} are allowed")
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
    # Java reads any number of members that follow each other as one stream.
    while position < len(data) or not position:
        member = zlib.decompressobj(wbits=_GZIP_WINDOW_BITS)
        has_more_inside = False
        while not member.eof:
            # In pieces, because a member keeps a copy of what it was given and did not need: were that all the rest,
            # a megabyte of the smallest members would take seconds.
            piece = data[position : position + _GZIP_PIECE_BYTES]
            if not piece and not has_more_inside:
                raise DecodeError("gzip data is cut short")
            # One byte more than allowed tells "just full" from "too much"; 0 would mean "no limit".
            most_bytes = min(max_bytes - len(decompressed), _GZIP_PART_BYTES) + 1
            try:
                part = member.decompress(piece, most_bytes)
            except zlib.error as error:
                raise DecodeError(f"broken gzip data: {error}") from error
            decompressed += part
            if len(decompressed) > max_bytes:
                raise _too_much(max_bytes)
            has_more_inside = len(part) == most_bytes
            position += len(piece) - len(member.unused_data or member.unconsumed_tail)
    return memoryview(decompressed)


def _decompress_into_buffer(
    decompress_into: Callable[[bytes, memoryview], int], data: bytes, max_bytes: int
) -> memoryview:
    # These two codecs stop when the buffer they write into is full. The frames need not say how much they hold, so
    # we begin with a guess and go up to what is allowed.
    capacity = min(max_bytes, max(_FIRST_GUESS_BYTES, 4 * len(data)))
    while True:
        # Zeroed by the system page by page, when it is written to; to zero tens of megabytes at once would hold up all
        # other threads.
        buffer = memoryview(mmap(-1, capacity))
        try:
            size = decompress_into(data, buffer)
        except cramjam.DecompressionError as error:
            if capacity >= max_bytes:
                if _BUFFER_IS_FULL in str(error):
                    raise _too_much(max_bytes) from error
                raise DecodeError(f"broken data: {error}") from error
            # Gone before the next one comes, which would otherwise be taken beside it.
            del buffer
            capacity = min(max_bytes, 8 * capacity)
        else:
            return buffer[:size]


def _too_much(max_bytes: int) -> DecompressedTooLargeError:
    return DecompressedTooLargeError(f"more than {max_bytes} bytes when decompressed")
