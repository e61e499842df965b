"""Reads the data batches of a file in runs that a compactor takes as they are."""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from crc32c import crc32c

from raft.errors import DecodeError
from raft.records.compression import Compression, compress, decompress
from raft.records.header import (
    CHECKED_FROM,
    COMPRESSION_MASK,
    CONTROL,
    HEADER,
    LENGTH_END,
    TRANSACTIONAL,
    attributes_of,
    batch_size_bytes,
    check_crc,
)
from raft.records.stored_header import StoredHeader, read_stored_header
from raft.storage.span_check import SpanCheck
from raft.storage.spans import place_at

_READ_BYTES = 1 << 20
_LARGEST_DECOMPRESSED_BYTES = (1 << 31) - 1
_ATTRIBUTES = struct.Struct(">h")
_LENGTH = struct.Struct(">i")
_CHECKSUM = struct.Struct(">I")
_PLACE = struct.Struct(">qii")

Read = Callable[[int, int], bytes]
"""`read(position, size_bytes)` of a file."""


@dataclass(frozen=True, slots=True)
class Run:
    """Data batches that stand one behind the other, uncompressed.

    Fields:
        batches: their bytes.
        codec: how they were compressed.
    """

    batches: bytes
    codec: Compression = Compression.NONE


def runs_of(
    read: Read, start: int, end: int, is_aborted: Callable[[StoredHeader], bool], check: SpanCheck
) -> Iterator[Run]:
    """Yield all data batches of committed transactions, and those without one; all batches are checked.

    Args:
        read: reads the file.
        start: position of the first batch.
        end: position behind the last one.
        is_aborted: whether a transactional batch belongs to an aborted transaction.
        check: checks the offsets and epochs of all batches, which their checksums do not cover.

    Raises:
        DecodeError: while iterating, at a damaged batch.
    """
    position, read_bytes = start, _READ_BYTES
    while position < end:
        window = read(position, min(read_bytes, end - position))
        taken = 0
        for run, behind in _runs_in(window, is_aborted, check):
            taken = behind
            if run.batches:
                yield run
        if not taken:
            if read_bytes >= end - position:
                raise DecodeError(f"batch at byte {position} is incomplete")
            read_bytes *= 4
        position += taken


def _runs_in(window: bytes, is_aborted: Callable[[StoredHeader], bool], check: SpanCheck) -> Iterator[tuple[Run, int]]:
    """Yield the runs of the whole batches in some bytes, each with the position behind it."""
    run_start = position = 0
    while (size := batch_size_bytes(window, position)) is not None and size <= len(window) - position:
        check_crc(window, position, size)
        base_offset, _length, epoch = _PLACE.unpack_from(window, position)
        check.check_place(base_offset, place_at(window, position)[0], epoch)
        (attributes,) = _ATTRIBUTES.unpack_from(window, position + CHECKED_FROM)
        special = attributes & (CONTROL | COMPRESSION_MASK | TRANSACTIONAL)
        if special:
            is_dropped = bool(special & CONTROL) or (
                bool(special & TRANSACTIONAL) and is_aborted(read_stored_header(window, position))
            )
            if is_dropped or special & COMPRESSION_MASK:
                yield Run(window[run_start:position]), position
                if not is_dropped:
                    yield _decompressed(window[position : position + size]), position + size
                run_start = position + size
        position += size
    yield Run(window[run_start:position]), position


def _decompressed(batch: bytes) -> Run:
    """Return the run of one compressed batch."""
    attributes = attributes_of(batch)
    codec = Compression(attributes & COMPRESSION_MASK)
    section = decompress(codec, batch[HEADER.size :], max_bytes=_LARGEST_DECOMPRESSED_BYTES)
    checked = (
        _ATTRIBUTES.pack(attributes & ~COMPRESSION_MASK)
        + batch[CHECKED_FROM + _ATTRIBUTES.size : HEADER.size]
        + section
    )
    return Run(_with_checked(batch, checked), codec)


def compressed(batches: bytes, codec: Compression) -> bytes:
    """Return uncompressed batches compressed."""
    pieces: list[bytes] = []
    position = 0
    while (size := batch_size_bytes(batches, position)) is not None:
        batch = batches[position : position + size]
        attributes = attributes_of(batch)
        checked = (
            _ATTRIBUTES.pack(attributes | codec)
            + batch[CHECKED_FROM + _ATTRIBUTES.size : HEADER.size]
            + compress(codec, batch[HEADER.size :])
        )
        pieces.append(_with_checked(batch, checked))
        position += size
    return b"".join(pieces)


def _with_checked(batch: bytes, checked: bytes) -> bytes:
    """Return a batch whose part under the checksum is another one."""
    length = CHECKED_FROM - LENGTH_END + len(checked)
    place = (
        batch[: LENGTH_END - _LENGTH.size] + _LENGTH.pack(length) + batch[LENGTH_END : CHECKED_FROM - _CHECKSUM.size]
    )
    return place + _CHECKSUM.pack(crc32c(checked)) + checked
