"""Reads the data batches of a file in runs that a compactor takes as they are."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from raft.errors import DecodeError
from raft.records.compression import Compression, compress, decompress
from raft.records.header_fields import (
    COMPRESSION_MASK,
    CONTROL,
    HEADER,
    TRANSACTIONAL,
    HeaderFields,
    check_crc,
    make_header,
    whole_batches,
)
from raft.storage.span_check import SpanCheck

_READ_BYTES = 1 << 20
_LARGEST_DECOMPRESSED_BYTES = (1 << 31) - 1

Read = Callable[[int, int], bytes]
"""`read(position, size_bytes)` of a file."""


@dataclass(frozen=True, slots=True)
class Run:
    """Data batches that stand one after the other, uncompressed.

    Fields:
        batches: their bytes.
        codec: how they were compressed.
    """

    batches: bytes
    codec: Compression = Compression.NONE


def runs_of(
    read: Read, start: int, end: int, is_aborted: Callable[[HeaderFields], bool], check: SpanCheck
) -> Iterator[Run]:
    """Yield all data batches of committed transactions, and those without one; all batches are checked.

    Args:
        read: reads the file.
        start: position of the first batch.
        end: position after the last one.
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


def _runs_in(window: bytes, is_aborted: Callable[[HeaderFields], bool], check: SpanCheck) -> Iterator[tuple[Run, int]]:
    """Yield the runs of the whole batches in some bytes, each with the position after it."""
    run_start = end = 0
    for start, end, plain in whole_batches(window):
        check_crc(window, start, end - start)
        fields = HeaderFields._make(plain)
        check.check_place(fields.base_offset, fields.end_offset - 1, fields.epoch)
        special = fields.attributes & (CONTROL | COMPRESSION_MASK | TRANSACTIONAL)
        if special:
            is_dropped = fields.is_control or (fields.is_transactional and is_aborted(fields))
            if is_dropped or special & COMPRESSION_MASK:
                yield Run(window[run_start:start]), start
                if not is_dropped:
                    yield _decompressed(window[start:end], fields), end
                run_start = end
    yield Run(window[run_start:end]), end


def _decompressed(batch: bytes, fields: HeaderFields) -> Run:
    """Return the run of one compressed batch."""
    codec = Compression(fields.attributes & COMPRESSION_MASK)
    section = decompress(codec, batch[HEADER.size :], max_bytes=_LARGEST_DECOMPRESSED_BYTES)
    return Run(_with_records(fields, fields.attributes & ~COMPRESSION_MASK, section), codec)


def compressed(batches: bytes, codec: Compression) -> bytes:
    """Return uncompressed batches compressed."""
    pieces: list[bytes] = []
    for start, end, plain in whole_batches(batches):
        fields = HeaderFields._make(plain)
        section = compress(codec, batches[start + HEADER.size : end])
        pieces.append(_with_records(fields, fields.attributes | codec, section))
    return b"".join(pieces)


def _with_records(fields: HeaderFields, attributes: int, section: bytes) -> bytes:
    """Return a batch with other attributes and records."""
    header = make_header(
        section,
        base_offset=fields.base_offset,
        epoch=fields.epoch,
        attributes=attributes,
        last_offset_delta=fields.last_offset_delta,
        base_timestamp_ms=fields.base_timestamp_ms,
        max_timestamp_ms=fields.max_timestamp_ms,
        producer_id=fields.producer_id,
        producer_epoch=fields.producer_epoch,
        base_sequence=fields.base_sequence,
        record_count=fields.record_count,
    )
    return header + section
