"""Checks what a client appends: one batch of data that every reader can read.

A committed batch cannot be removed, and every reader of the log reads it. So the leader checks the records once, before
it appends the batch. The setting `raft.records.strict`, for quorums with Java nodes, checks more.

Source: rules CLIENT-6, CLIENT-12, LOG-4; Kafka ProduceRequest.validateRecords, LogValidator, RecordsIterator.
"""

from __future__ import annotations

from raft.errors import DecodeError, DecompressedTooLargeError, ErrorCode, RequestError, refusal
from raft.native.library import Outcome
from raft.records.batch import read_records
from raft.records.compression import DEFAULT_MAX_DECOMPRESSED_BYTES, Compression
from raft.records.header import read_header
from raft.records.header_fields import (
    COMPRESSION_MASK,
    CONTROL,
    HEADER,
    LOG_APPEND_TIME,
    TRANSACTIONAL,
    attributes_of,
    base_timestamp_ms_of,
    batch_size_bytes,
    check_crc,
)
from raft.records.scanner import check_records, find_without_key
from raft.records.section import section_of
from raft.types import FIRST_KEYED_PRODUCER_ID, FIRST_PART_PRODUCER_ID, Batch, BatchHeader, WriteCommit

_SMALLEST_RECORD_BYTES = 7
"""One byte each for length, attributes, timestamp, offset, key length, value length and header count."""


def read_produced_batch(data: bytes, *, max_batch_bytes: int, strict: bool = False, needs_keys: bool = False) -> Batch:
    """Check the batch of a Produce request and return it; the leader gives it an offset and an epoch.

    Args:
        data: the records of a request, for one partition.
        max_batch_bytes: message.max.bytes.
        strict: raft.records.strict: refuse records on which followers in Java would exit.
        needs_keys: cleanup.policy=compact: refuse records without a key.

    Raises:
        RequestError: the batch is refused, with Kafka's code. The cheapest checks come first.
    """
    size_bytes = _size_of_only_batch(data)
    if size_bytes > max_batch_bytes:
        raise refusal(ErrorCode.MESSAGE_TOO_LARGE, f"batch of {size_bytes} bytes, expected at most {max_batch_bytes}")
    attributes = attributes_of(data)
    try:
        check_crc(data, 0, size_bytes)
        if strict and attributes & (CONTROL | TRANSACTIONAL):
            raise refusal(ErrorCode.INVALID_TXN_STATE, "raft.records.strict: a batch of a transaction")
        header = read_header(data)
    except DecodeError as error:
        if attributes & CONTROL:
            raise _invalid(f"a control batch: {error}") from error
        raise refusal(ErrorCode.CORRUPT_MESSAGE, str(error)) from error
    codec = attributes & COMPRESSION_MASK
    if codec > max(Compression):
        raise refusal(ErrorCode.UNSUPPORTED_COMPRESSION_TYPE, f"compression codec {codec}")
    _check_header(header)
    if header.is_control:
        _check_control(header)
        return Batch(header=header, payload=data)
    _check_room(header, codec)
    _check_records(data, header)
    if header.is_transactional:
        _check_transactional(header)
    if strict:
        _check_strict(data)
    if needs_keys:
        _check_keys(data, header)
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


def _check_control(header: BatchHeader) -> None:
    """Check a control batch: a client may append the commit of its multipart write, and no other one."""
    if not isinstance(header.control_value, WriteCommit):
        raise _invalid("a control batch")
    if header.producer_id is None or header.producer_id < FIRST_KEYED_PRODUCER_ID or header.is_transactional:
        raise _invalid("a WRITE_COMMIT without the key of a write")


def _check_transactional(header: BatchHeader) -> None:
    if header.producer_id is None:
        raise _invalid("a transactional batch without a producer id")
    if header.producer_id >= FIRST_KEYED_PRODUCER_ID:
        raise _invalid("a transactional batch with the key of a write")
    if header.producer_id >= FIRST_PART_PRODUCER_ID and header.content_checksum is None:
        raise _invalid("a part of a multipart write whose records are compressed")


def _check_room(header: BatchHeader, codec: int) -> None:
    # A segment has a limited number of offsets. A batch of a few bytes that claimed all of them would take a whole
    # segment.
    records_bytes = header.size_bytes - HEADER.size
    room_bytes = records_bytes if codec == Compression.NONE else DEFAULT_MAX_DECOMPRESSED_BYTES
    if header.record_count * _SMALLEST_RECORD_BYTES > room_bytes:
        raise _invalid(f"{header.record_count} records in {records_bytes} bytes")


def _check_records(data: bytes, header: BatchHeader) -> None:
    # Records with a content checksum were checked when it was computed.
    if header.content_checksum is not None:
        return
    try:
        section = section_of(data, header)
    except DecompressedTooLargeError as error:
        raise refusal(ErrorCode.MESSAGE_TOO_LARGE, f"compressed records: {error}") from error
    except DecodeError as error:
        raise _invalid(f"compressed records: {error}") from error
    checked = check_records(section, with_checksum=False)
    if checked.outcome is Outcome.TIMESTAMP_OVERFLOW:
        raise refusal(ErrorCode.INVALID_TIMESTAMP, f"{checked.refusal()}; timestamps are milliseconds since 1970")
    if checked.outcome is not Outcome.DONE:
        raise _invalid(str(checked.refusal()))


def _check_keys(data: bytes, header: BatchHeader) -> None:
    index = find_without_key(section_of(data, header))
    if index is not None:
        raise _invalid(f"cleanup.policy=compact: record {index} of the batch has no key")


def _check_strict(data: bytes) -> None:
    # With LogAppendTime the timestamp deltas of the records cannot be checked.
    if attributes_of(data) & LOG_APPEND_TIME:
        raise _invalid("raft.records.strict: a batch with LogAppendTime")
    base_timestamp_ms = base_timestamp_ms_of(data)
    # No record is malformed here: `_check_records` has read every one of them.
    for record in read_records(data):
        if record.key is not None or record.headers or not record.value:
            raise _invalid("raft.records.strict: a record with a key, with headers or without a value")
        if record.timestamp_ms != base_timestamp_ms:
            raise _invalid("raft.records.strict: a record with another timestamp than the first")


def _invalid(message: str) -> RequestError:
    return refusal(ErrorCode.INVALID_RECORD, message)
