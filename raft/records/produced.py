"""What a client may append: one batch of data that every reader can read.

A batch that is committed cannot be taken back, and whoever reads the log comes past it; so the records are looked at
once, by the leader, before the batch is in its log. `raft.records.strict`, for logs that Java follows, asks for more.

Source: rules CLIENT-6, CLIENT-12, LOG-4; Kafka ProduceRequest.validateRecords, LogValidator, RecordsIterator.
"""

from __future__ import annotations

from raft.errors import DecodeError, DecompressedTooLargeError, ErrorCode, RequestError
from raft.records.batch import read_records
from raft.records.compression import DEFAULT_MAX_DECOMPRESSED_BYTES, Compression
from raft.records.header import (
    COMPRESSION_MASK,
    CONTROL,
    HEADER,
    LOG_APPEND_TIME,
    attributes_of,
    base_timestamp_ms_of,
    batch_size_bytes,
    check_crc,
    read_header,
)
from raft.records.load_scanner import load_scanner
from raft.records.scanner import Outcome
from raft.records.section import section_of
from raft.types import Batch, BatchHeader

_SMALLEST_RECORD_BYTES = 7
"""Length, attributes, timestamp, offset, no key, no value, no headers: a byte for each."""


def read_produced_batch(data: bytes, *, max_batch_bytes: int, strict: bool = False) -> Batch:
    """Return the one batch of a Produce request, fit to be appended once it has an offset and an epoch.

    Args:
        data: the records of a request, for one partition.
        max_batch_bytes: message.max.bytes.
        strict: raft.records.strict: refuse records over which Java's followers would exit.

    Raises:
        RequestError: with Kafka's code: of several faults the one that costs least to find.
    """
    size_bytes = _size_of_only_batch(data)
    if size_bytes > max_batch_bytes:
        raise RequestError(ErrorCode.MESSAGE_TOO_LARGE, f"batch of {size_bytes} bytes; at most {max_batch_bytes}")
    attributes = attributes_of(data)
    try:
        check_crc(data, 0, size_bytes)
        # A control batch is refused whatever is in it, so nothing in it needs to be read.
        if attributes & CONTROL:
            raise _invalid("a control batch")
        header = read_header(data)
    except DecodeError as error:
        raise RequestError(ErrorCode.CORRUPT_MESSAGE, str(error)) from error
    codec = attributes & COMPRESSION_MASK
    if codec > max(Compression):
        raise RequestError(ErrorCode.UNSUPPORTED_COMPRESSION_TYPE, f"compression codec {codec}")
    _check_header(header)
    _check_room(header, codec)
    _check_records(data, header)
    if strict:
        _check_strict(data)
    return Batch(header=header, payload=data)


def _size_of_only_batch(data: bytes) -> int:
    try:
        size_bytes = batch_size_bytes(data)
    except DecodeError as error:
        raise _invalid(str(error)) from error
    if size_bytes is None or len(data) < HEADER.size or size_bytes != len(data):
        raise _invalid(f"{len(data)} bytes of records are not exactly one batch")
    return size_bytes


def _check_header(header: BatchHeader) -> None:
    offsets = header.end_offset - header.base_offset
    if not header.record_count or header.record_count != offsets:
        raise _invalid(f"{header.record_count} records for {offsets} offsets")
    if header.producer_id is not None and (header.producer_epoch < 0 or header.base_sequence < 0):
        raise _invalid("a producer id without its epoch or sequence")
    if header.is_transactional:
        raise RequestError(ErrorCode.INVALID_TXN_STATE, "a transactional batch; there are no transactions yet")


def _check_room(header: BatchHeader, codec: int) -> None:
    # Offsets cost nothing to claim, but a segment holds only so many of them: a few bytes that claim them all would
    # make a file of their own.
    records_bytes = header.size_bytes - HEADER.size
    room_bytes = records_bytes if codec == Compression.NONE else DEFAULT_MAX_DECOMPRESSED_BYTES
    if header.record_count * _SMALLEST_RECORD_BYTES > room_bytes:
        raise _invalid(f"{header.record_count} records in {records_bytes} bytes")


def _check_records(data: bytes, header: BatchHeader) -> None:
    # Records with a content checksum were found sound when it was computed.
    if header.content_checksum is not None:
        return
    try:
        section = section_of(data, header)
    except DecompressedTooLargeError as error:
        raise RequestError(ErrorCode.MESSAGE_TOO_LARGE, f"compressed records: {error}") from error
    except DecodeError as error:
        raise _invalid(f"compressed records: {error}") from error
    checked = load_scanner().check(section, with_checksum=False)
    if checked.outcome is Outcome.TIMESTAMP_OVERFLOW:
        raise RequestError(ErrorCode.INVALID_TIMESTAMP, f"{checked.refusal()}; timestamps are milliseconds since 1970")
    if checked.outcome is not Outcome.DONE:
        raise _invalid(str(checked.refusal()))


def _check_strict(data: bytes) -> None:
    # With LogAppendTime the records' own deltas would not show.
    if attributes_of(data) & LOG_APPEND_TIME:
        raise _invalid("raft.records.strict: a batch with LogAppendTime")
    base_timestamp_ms = base_timestamp_ms_of(data)
    # No record is malformed here: `_check_records` has read every one of them.
    for record in read_records(data):
        if record.key is not None or record.headers or not record.value:
            raise _invalid("raft.records.strict: a record with a key, with headers or without a value")
        if record.timestamp_ms != base_timestamp_ms:
            raise _invalid("raft.records.strict: a record with a time of its own")


def _invalid(message: str) -> RequestError:
    return RequestError(ErrorCode.INVALID_RECORD, message)
