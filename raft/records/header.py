"""The header of a record batch, Kafka magic v2, and what is known of a batch without reading its records.

    offset  size  field                   form
    0       8     base offset             int64    outside the checksum
    8       4     length                  int32    bytes after this field
    12      4     partition leader epoch  int32    outside the checksum
    16      1     magic                   int8     2; older batches have no epoch and cannot be used
    17      4     checksum                uint32   CRC-32C of everything from here on (KIP-98)
    21      2     attributes              int16    bits 0-2 compression, 3 LogAppendTime, 4 transactional, 5 control,
                                                   6 the base timestamp is a delete horizon (KIP-534)
    23      4     last offset delta       int32
    27      8     base timestamp          int64    -1 for none
    35      8     max timestamp           int64    -1 for none
    43      8     producer id             int64    -1 for none
    51      2     producer epoch          int16    -1 for none
    53      4     base sequence           int32    -1 for none
    57      4     record count            int32
    61            records                          see `raft.records.record`; compressed as one

A leader writes the offset and the epoch of a batch into those two fields; they are not part of the checksum.

Source: rules LOG-1, LOG-2; Kafka DefaultRecordBatch.
"""

from __future__ import annotations

import struct
from typing import Final

from crc32c import crc32c

from raft.errors import DecodeError
from raft.records.compression import decompress
from raft.records.control_key import read_control_section, read_control_type
from raft.records.control_values import read_control_value
from raft.records.logged_voters import read_logged_voters
from raft.records.scanner import Section, check_records
from raft.types import FIRST_PART_PRODUCER_ID, BatchHeader, ControlValue, Epoch, LoggedVoters, Offset

HEADER: Final = struct.Struct(">qiibIhiqqqhii")
LENGTH_END: Final = 12
"""The end of the length field, from which it counts."""
MAGIC_AT: Final = 16
CHECKED_FROM: Final = 21
"""The first byte that the checksum covers."""

MAGIC: Final = 2
COMPRESSION_MASK: Final = 0x07
LOG_APPEND_TIME: Final = 0x08
TRANSACTIONAL: Final = 0x10
CONTROL: Final = 0x20
DELETE_HORIZON: Final = 0x40

MAX_CONTROL_BYTES: Final = 1 << 20
"""Limit on the decompressed size of a control batch: room for thousands of voters.

The header of every batch of a peer is read, so the peer must not decide how much memory that takes.
"""

_LENGTH = struct.Struct(">i")
_CHECKSUM = struct.Struct(">I")
_BASE_OFFSET = struct.Struct(">q")
_EPOCH = struct.Struct(">i")
_ATTRIBUTES = struct.Struct(">h")
_BASE_TIMESTAMP = struct.Struct(">q")
_BASE_TIMESTAMP_AT = 27
_OFFSET_LIMIT = 1 << 63


def batch_size_bytes(buffer: bytes, position: int = 0) -> int | None:
    """Return the size of the batch at `position`, with its header, or None if its length field is incomplete.

    Raises:
        DecodeError: a length too small for a header, or a magic other than 2.
    """
    left = len(buffer) - position
    if left < LENGTH_END:
        return None
    (length,) = _LENGTH.unpack_from(buffer, position + LENGTH_END - _LENGTH.size)
    size = LENGTH_END + length
    # The magic is checked first, because older batches have shorter headers and the magic is the better reason.
    if left > MAGIC_AT and buffer[position + MAGIC_AT] != MAGIC:
        raise DecodeError(f"batch of magic {buffer[position + MAGIC_AT]}, expected {MAGIC}")
    if size < HEADER.size:
        raise DecodeError(f"batch of {size} bytes, expected {HEADER.size} or more for its header")
    return int(size)


def read_header(buffer: bytes, position: int = 0) -> BatchHeader:
    """Return the header of the whole batch that begins at `position`.

    The checksum is not checked; see `check_crc`. Data records are not read, except those of a write of this project,
    for the content checksum; of a control batch the types are read, voters and kraft.version, and
    the value if its type is one of this project.

    Args:
        buffer: the batch, perhaps with other bytes before and behind it.
        position: of the batch.

    Raises:
        DecodeError: the batch is incomplete, has another magic, or has impossible numbers.
    """
    size = batch_size_bytes(buffer, position)
    if size is None or len(buffer) - position < size:
        raise DecodeError(f"batch is incomplete: {len(buffer) - position} bytes are left")
    (
        base_offset,
        _length,
        epoch,
        _magic,
        _checksum,
        attributes,
        last_offset_delta,
        base_timestamp_ms,
        max_timestamp_ms,
        producer_id,
        producer_epoch,
        base_sequence,
        record_count,
    ) = HEADER.unpack_from(buffer, position)
    last_offset = base_offset + last_offset_delta
    if base_offset < 0 or last_offset_delta < 0 or record_count < 0 or last_offset + 1 >= _OFFSET_LIMIT:
        raise DecodeError(
            f"batch with base offset {base_offset}, last offset delta {last_offset_delta}, record count {record_count}"
        )
    control_types: tuple[int, ...] = ()
    control_value: ControlValue | None = None
    logged_voters: LoggedVoters | None = None
    if attributes & CONTROL:
        section = decompress(
            attributes & COMPRESSION_MASK,
            buffer[position + HEADER.size : position + size],
            max_bytes=MAX_CONTROL_BYTES,
        )
        control_types, control_value, logged_voters = _read_control(section, record_count, last_offset_delta)
    content_checksum: int | None = None
    # Compressed records are not read: their writer decides how much comes out of them, and writes of this project are
    # not compressed.
    if producer_id >= FIRST_PART_PRODUCER_ID and not attributes & (CONTROL | COMPRESSION_MASK):
        records = Section(
            data=buffer,
            start=position + HEADER.size,
            end=position + size,
            record_count=record_count,
            last_offset_delta=last_offset_delta,
            base_timestamp_ms=base_timestamp_ms,
            append_time_ms=max_timestamp_ms,
            has_append_time=bool(attributes & LOG_APPEND_TIME),
        )
        content_checksum = check_records(records, with_checksum=True).content_checksum
    return BatchHeader(
        base_offset=Offset(base_offset),
        last_offset=Offset(last_offset),
        epoch=Epoch(epoch),
        size_bytes=size,
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


def attributes_of(payload: bytes) -> int:
    """Return the attributes of a batch; its header must be complete."""
    return int(_ATTRIBUTES.unpack_from(payload, CHECKED_FROM)[0])


def is_compressed(payload: bytes) -> bool:
    """Whether the records of a batch are compressed; False if its header is incomplete."""
    return len(payload) >= HEADER.size and bool(attributes_of(payload) & COMPRESSION_MASK)


def base_timestamp_ms_of(payload: bytes) -> int:
    """Return the base timestamp of a batch; its header must be complete."""
    return int(_BASE_TIMESTAMP.unpack_from(payload, _BASE_TIMESTAMP_AT)[0])


def check_crc(buffer: bytes, position: int, size_bytes: int) -> None:
    """Check the checksum of the batch at `position`.

    Args:
        buffer: has the whole batch.
        position: of the batch.
        size_bytes: of the batch.

    Raises:
        DecodeError: the checksum is wrong.
    """
    (expected,) = _CHECKSUM.unpack_from(buffer, position + CHECKED_FROM - _CHECKSUM.size)
    actual = crc32c(memoryview(buffer)[position + CHECKED_FROM : position + size_bytes])
    if actual != expected:
        raise DecodeError(f"batch with checksum {actual:08x}, expected {expected:08x} as in its header")


def with_base_offset_and_epoch(payload: bytes, base_offset: Offset, epoch: Epoch) -> bytes:
    """Return the batch with this base offset and leader epoch; the same object if it has them."""
    place = _BASE_OFFSET.pack(base_offset)
    written_in = _EPOCH.pack(epoch)
    if payload.startswith(place) and payload.startswith(written_in, LENGTH_END):
        return payload
    view = memoryview(payload)
    return b"".join((place, view[len(place) : LENGTH_END], written_in, view[MAGIC_AT:]))
