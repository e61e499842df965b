"""The records of one batch, decompressed, as `raft.records.scanner` takes them."""

from __future__ import annotations

from raft.records.compression import DEFAULT_MAX_DECOMPRESSED_BYTES, Compression, decompress_to_buffer
from raft.records.header_fields import COMPRESSION_MASK, HEADER, LOG_APPEND_TIME, attributes_of, base_timestamp_ms_of
from raft.records.scanner import Section
from raft.types import BatchHeader


def section_of(
    payload: bytes, header: BatchHeader, *, max_decompressed_bytes: int = DEFAULT_MAX_DECOMPRESSED_BYTES
) -> Section:
    """Return the records of a batch.

    Args:
        payload: the whole batch.
        header: of the same bytes, from `read_header`.
        max_decompressed_bytes: limit on the size of compressed records; others are in memory already.

    Raises:
        DecodeError: compressed records are malformed, or the codec is unknown.
        DecompressedTooLargeError: compressed records are larger than the limit.
    """
    attributes = attributes_of(payload)
    codec = attributes & COMPRESSION_MASK
    data: bytes | memoryview = payload
    start, end = HEADER.size, header.size_bytes
    if codec != Compression.NONE:
        data = decompress_to_buffer(codec, payload[start:end], max_bytes=max_decompressed_bytes)
        start, end = 0, len(data)
    return Section(
        data=data,
        start=start,
        end=end,
        record_count=header.record_count,
        last_offset_delta=header.last_offset - header.base_offset,
        base_timestamp_ms=base_timestamp_ms_of(payload),
        append_time_ms=header.max_timestamp_ms,
        has_append_time=bool(attributes & LOG_APPEND_TIME),
    )
