"""The header of a record batch, Kafka magic v2: the only module that reads and writes its bytes.

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
from collections.abc import Iterator
from typing import Final, NamedTuple, TypeAlias

from crc32c import crc32c

from raft.errors import DecodeError
from raft.types import Epoch, Offset

HEADER: Final = struct.Struct(">qiibIhiqqqhii")
LENGTH_END: Final = 12
"""The end of the length field, from which it counts."""
MAGIC_AT: Final = 16
CHECKED_FROM: Final = 21
"""The first byte that the checksum covers."""
PLACE_BYTES: Final = 27
"""Bytes of a batch that hold its offsets and its size: up to its last offset delta."""

MAGIC: Final = 2
COMPRESSION_MASK: Final = 0x07
LOG_APPEND_TIME: Final = 0x08
TRANSACTIONAL: Final = 0x10
CONTROL: Final = 0x20
DELETE_HORIZON: Final = 0x40

_UNCHECKED = struct.Struct(">qiibI")
_CHECKED = struct.Struct(">hiqqqhii")
_LENGTH_AND_COUNT = struct.Struct(">8xi45xi")
_LENGTH = struct.Struct(">i")
_PLACE = struct.Struct(">qi11xi")
_CHECKSUM = struct.Struct(">I")
_BASE_OFFSET = struct.Struct(">q")
_EPOCH = struct.Struct(">i")
_ATTRIBUTES = struct.Struct(">h")
_BASE_TIMESTAMP = struct.Struct(">q")
_BASE_TIMESTAMP_AT = 27


class HeaderFields(NamedTuple):
    """The fields of a header, as they are in its bytes; -1 means none."""

    base_offset: Offset
    length: int
    epoch: Epoch
    magic: int
    checksum: int
    attributes: int
    last_offset_delta: int
    base_timestamp_ms: int
    max_timestamp_ms: int
    producer_id: int
    producer_epoch: int
    base_sequence: int
    record_count: int

    @property
    def end_offset(self) -> Offset:
        """One past its last record."""
        return Offset(self.base_offset + self.last_offset_delta + 1)

    @property
    def size_bytes(self) -> int:
        """Size of the batch, with its header."""
        return LENGTH_END + self.length

    @property
    def is_control(self) -> bool:
        """Whether it holds control records instead of data."""
        return bool(self.attributes & CONTROL)

    @property
    def is_transactional(self) -> bool:
        """Whether it belongs to a transaction."""
        return bool(self.attributes & TRANSACTIONAL)


PlainFields: TypeAlias = tuple[int, int, int, int, int, int, int, int, int, int, int, int, int]
"""`HeaderFields` without names, which takes a third of the time to make."""

PRODUCER_ID: Final = HeaderFields._fields.index("producer_id")
"""Index of the producer id in `PlainFields`."""


def fields_at(buffer: bytes | bytearray | memoryview, position: int = 0) -> HeaderFields:
    """Return the header of the batch that begins at `position`, unchecked; its bytes must be complete."""
    return HeaderFields._make(HEADER.unpack_from(buffer, position))


def read_fields(buffer: bytes, position: int = 0) -> HeaderFields:
    """Return the header of the batch that begins at `position`; no more than the header is read.

    Raises:
        DecodeError: fewer bytes than a header has, another magic, or impossible numbers.
    """
    if len(buffer) - position < HEADER.size:
        raise DecodeError(f"batch header of {len(buffer) - position} bytes, expected {HEADER.size}")
    fields = fields_at(buffer, position)
    if fields.magic != MAGIC:
        raise DecodeError(f"batch of magic {fields.magic}, expected {MAGIC}")
    if fields.size_bytes < HEADER.size or fields.last_offset_delta < 0:
        raise DecodeError(f"batch of {fields.size_bytes} bytes with last offset delta {fields.last_offset_delta}")
    return fields


def whole_batches(buffer: bytes, position: int = 0) -> Iterator[tuple[int, int, PlainFields]]:
    """Yield start, end and header of each whole batch; a partial batch at the end is ignored.

    Checked are magic and length. The checksum is not; see `check_crc`.

    Args:
        buffer: batches one after the other.
        position: of the first one.

    Raises:
        DecodeError: while iterating, at the first batch with another magic, or a length too small for a header.
    """
    end = len(buffer)
    unpack_from, header_bytes = HEADER.unpack_from, HEADER.size
    while end - position >= header_bytes:
        fields = unpack_from(buffer, position)
        size = LENGTH_END + fields[1]
        if fields[3] != MAGIC or size < header_bytes:
            raise _malformed(fields[3], size)
        if size > end - position:
            return
        yield position, position + size, fields
        position += size


def count_records(batches: bytes) -> int:
    """Return how many records are in whole batches, by their headers; what follows a damaged one does not count."""
    position = count = 0
    last_start = len(batches) - HEADER.size
    unpack = _LENGTH_AND_COUNT.unpack_from
    while position <= last_start:
        length, records = unpack(batches, position)
        if length <= 0:
            break
        count += records
        position += LENGTH_END + length
    return count


def batch_size_bytes(buffer: bytes, position: int = 0) -> int | None:
    """Return the size of the batch at `position`, with its header, or None if its length field is incomplete.

    Raises:
        DecodeError: a length too small for a header, or a magic other than 2.
    """
    left = len(buffer) - position
    if left < LENGTH_END:
        return None
    (length,) = _LENGTH.unpack_from(buffer, position + LENGTH_END - _LENGTH.size)
    size = int(LENGTH_END + length)
    magic = buffer[position + MAGIC_AT] if left > MAGIC_AT else MAGIC
    if magic != MAGIC or size < HEADER.size:
        raise _malformed(magic, size)
    return size


def _malformed(magic: int, size_bytes: int) -> DecodeError:
    # The magic is the better reason, because older batches have shorter headers.
    if magic != MAGIC:
        return DecodeError(f"batch of magic {magic}, expected {MAGIC}")
    return DecodeError(f"batch of {size_bytes} bytes, expected {HEADER.size} or more for its header")


def place_at(buffer: bytes, position: int) -> tuple[int, int, int]:
    """Return base offset, last offset and size of the batch at `position`.

    Args:
        buffer: has PLACE_BYTES or more from `position` on.
        position: of the batch.

    Raises:
        DecodeError: the size is too small for a batch. Without this check a damaged length could make a loop endless.
    """
    base_offset, length, last_offset_delta = _PLACE.unpack_from(buffer, position)
    size_bytes = LENGTH_END + length
    if size_bytes < HEADER.size:
        raise DecodeError(f"batch of {size_bytes} bytes")
    return base_offset, base_offset + last_offset_delta, size_bytes


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


def make_header(
    section: bytes | memoryview,
    *,
    base_offset: int,
    epoch: int,
    attributes: int,
    last_offset_delta: int,
    base_timestamp_ms: int,
    max_timestamp_ms: int,
    producer_id: int | None = None,
    producer_epoch: int = -1,
    base_sequence: int = -1,
    record_count: int,
) -> bytes:
    """Return the header of a batch with these records, compressed if the attributes say so.

    The length and the checksum follow from the records, which are `section`. The other arguments are the fields of the
    header; None and -1 mean none.
    """
    checked = _CHECKED.pack(
        attributes,
        last_offset_delta,
        base_timestamp_ms,
        max_timestamp_ms,
        -1 if producer_id is None else producer_id,
        producer_epoch,
        base_sequence,
        record_count,
    )
    length = HEADER.size - LENGTH_END + len(section)
    return _UNCHECKED.pack(base_offset, length, epoch, MAGIC, crc32c(section, crc32c(checked))) + checked


def write_checksum(batches: bytearray | memoryview, position: int, size_bytes: int) -> None:
    """Write the checksum of the batch at `position`, of which everything else is in place."""
    with memoryview(batches) as view:
        checksum = crc32c(view[position + CHECKED_FROM : position + size_bytes])
    _CHECKSUM.pack_into(batches, position + CHECKED_FROM - _CHECKSUM.size, checksum)


def with_base_offset_and_epoch(payload: bytes, base_offset: Offset, epoch: Epoch) -> bytes:
    """Return the batch with this base offset and leader epoch; the same object if it has them."""
    place = _BASE_OFFSET.pack(base_offset)
    written_in = _EPOCH.pack(epoch)
    if payload.startswith(place) and payload.startswith(written_in, LENGTH_END):
        return payload
    view = memoryview(payload)
    return b"".join((place, view[len(place) : LENGTH_END], written_in, view[MAGIC_AT:]))
