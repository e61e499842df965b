"""What is known of a record batch without reading its data records: its header, and what its control records say.

The bytes of the header are in `raft.records.header_fields`.
"""

from __future__ import annotations

from typing import Final

from raft.errors import DecodeError
from raft.records.compression import decompress
from raft.records.control_key import read_control_section, read_control_type
from raft.records.control_values import read_control_value
from raft.records.header_fields import (
    COMPRESSION_MASK,
    CONTROL,
    HEADER,
    LOG_APPEND_TIME,
    TRANSACTIONAL,
    HeaderFields,
    PlainFields,
    batch_size_bytes,
    fields_at,
)
from raft.records.logged_voters import read_logged_voters
from raft.records.scanner import Section, check_records
from raft.types import FIRST_PART_PRODUCER_ID, BatchHeader, ControlValue, Epoch, LoggedVoters, Offset

MAX_CONTROL_BYTES: Final = 1 << 20
"""Limit on the decompressed size of a control batch: room for thousands of voters.

The header of every batch of a peer is read, so the peer must not decide how much memory that takes.
"""

_OFFSET_LIMIT = 1 << 63


def read_header(buffer: bytes, position: int = 0) -> BatchHeader:
    """Return the header of the whole batch that begins at `position`.

    The checksum is not checked; see `check_crc`. Data records are not read, except those of a write of this project,
    for the content checksum; of a control batch the types are read, voters and kraft.version, and
    the value if its type is one of this project.

    Args:
        buffer: the batch, perhaps with other bytes before and after it.
        position: of the batch.

    Raises:
        DecodeError: the batch is incomplete, has another magic, or has impossible numbers.
    """
    size = batch_size_bytes(buffer, position)
    if size is None or len(buffer) - position < size:
        raise DecodeError(f"batch is incomplete: {len(buffer) - position} bytes are left")
    return header_of(buffer, position, position + size, fields_at(buffer, position))


def header_of(buffer: bytes, start: int, end: int, fields: PlainFields) -> BatchHeader:
    """Return what `read_header` returns, of a batch that `whole_batches` has yielded.

    Args:
        buffer: has the batch.
        start: where the batch begins.
        end: where it ends.
        fields: its fields.

    Raises:
        DecodeError: the batch has impossible numbers.
    """
    (
        base_offset,
        _length,
        epoch,
        _magic,
        _checksum,
        attributes,
        last_offset_delta,
        _base_timestamp_ms,
        max_timestamp_ms,
        producer_id,
        producer_epoch,
        base_sequence,
        record_count,
    ) = fields
    last_offset = base_offset + last_offset_delta
    if base_offset < 0 or last_offset_delta < 0 or record_count < 0 or last_offset + 1 >= _OFFSET_LIMIT:
        raise DecodeError(
            f"batch with base offset {base_offset}, last offset delta {last_offset_delta}, record count {record_count}"
        )
    control_types: tuple[int, ...] = ()
    control_value: ControlValue | None = None
    logged_voters: LoggedVoters | None = None
    if attributes & CONTROL:
        codec = attributes & COMPRESSION_MASK
        section = decompress(codec, buffer[start + HEADER.size : end], max_bytes=MAX_CONTROL_BYTES)
        control_types, control_value, logged_voters = _read_control(section, record_count, last_offset_delta)
    content_checksum: int | None = None
    # Compressed records are not read: their writer decides how much comes out of them, and writes of this project are
    # not compressed.
    if producer_id >= FIRST_PART_PRODUCER_ID and not attributes & (CONTROL | COMPRESSION_MASK):
        content_checksum = _content_checksum(buffer, start, end, HeaderFields._make(fields))
    return BatchHeader(
        base_offset=Offset(base_offset),
        last_offset=Offset(last_offset),
        epoch=Epoch(epoch),
        size_bytes=end - start,
        record_count=record_count,
        max_timestamp_ms=max_timestamp_ms,
        producer_id=producer_id if producer_id >= 0 else None,
        producer_epoch=producer_epoch,
        base_sequence=base_sequence,
        is_transactional=bool(attributes & TRANSACTIONAL),
        control_types=control_types,
        control_value=control_value,
        logged_voters=logged_voters,
        content_checksum=content_checksum,
    )


def _content_checksum(buffer: bytes, start: int, end: int, fields: HeaderFields) -> int | None:
    records = Section(
        data=buffer,
        start=start + HEADER.size,
        end=end,
        record_count=fields.record_count,
        last_offset_delta=fields.last_offset_delta,
        base_timestamp_ms=fields.base_timestamp_ms,
        append_time_ms=fields.max_timestamp_ms,
        has_append_time=bool(fields.attributes & LOG_APPEND_TIME),
    )
    return check_records(records, with_checksum=True).content_checksum


def _read_control(
    section: bytes, record_count: int, last_offset_delta: int
) -> tuple[tuple[int, ...], ControlValue | None, LoggedVoters | None]:
    records = read_control_section(section, record_count=record_count, last_offset_delta=last_offset_delta)
    types = tuple(read_control_type(record) for record in records)
    values = [read_control_value(kind, record.value or b"") for kind, record in zip(types, records, strict=True)]
    if len(values) > 1 and any(values):
        raise DecodeError(
            f"control records of types {types} in one batch: WRITE_COMMIT and others have their own batch"
        )
    return types, values[0], read_logged_voters(types, records)
