"""The values of the control records of this project: WRITE_COMMIT and TRANSACTIONAL_ID.

    WRITE_COMMIT     size  field
                     2     version           int16    0; a newer one is read as version 0, because new fields come last
                     4     number of parts   int32
                     24    for each          int64 producer id, int64 record count, uint64 content checksum

    TRANSACTIONAL_ID 2     version           int16    0, or 1 in a snapshot
                     4     timeout           int32    milliseconds
                     8     previous id       int64    the producer id before; -1 for none
                     2     previous epoch    int16    -1 for none
                     2     length of name    int16
                           name              UTF-8
                     1     last end          int8     from version 1 on: type of its last end marker

The key of the write, or the producer id and epoch, are in the header of the batch.
"""

from __future__ import annotations

import struct

from raft.errors import DecodeError
from raft.types import ControlType, ControlValue, TransactionalId, WriteCommit, WritePart

MAX_PARTS = 30_000
"""Most parts of one write: the record then has 720 kB, and a control batch may have 1 MiB."""

_VERSION = 0
_COMMIT = struct.Struct(">hi")
_PART = struct.Struct(">qqQ")
_TRANSACTIONAL_ID = struct.Struct(">hiqhh")
_LAST_END = struct.Struct(">b")
_VERSION_WITH_LAST_END = 1
_NONE = (-1, -1)


def write_control_value(value: ControlValue) -> bytes:
    """Return the bytes of a value."""
    match value:
        case WriteCommit(parts=parts):
            packed = (_PART.pack(part.producer_id, part.record_count, part.content_checksum) for part in parts)
            return _COMMIT.pack(_VERSION, len(parts)) + b"".join(packed)
        case TransactionalId():
            name = value.name.encode()
            previous = _NONE if value.previous is None else value.previous
            version = _VERSION if value.last_end is None else _VERSION_WITH_LAST_END
            packed_value = _TRANSACTIONAL_ID.pack(version, value.timeout_ms, *previous, len(name)) + name
            return packed_value if value.last_end is None else packed_value + _LAST_END.pack(value.last_end)


def read_control_value(control_type: int, value: bytes) -> ControlValue | None:
    """Return the value of a control record; None if its type is not one of this project.

    Raises:
        DecodeError: it is incomplete, or has impossible numbers.
    """
    try:
        if control_type == ControlType.WRITE_COMMIT:
            return _read_write_commit(value)
        if control_type == ControlType.TRANSACTIONAL_ID:
            return _read_transactional_id(value)
    except (struct.error, UnicodeDecodeError) as error:
        raise DecodeError(f"value of {ControlType(control_type).name} is malformed: {error}") from error
    return None


def _read_write_commit(value: bytes) -> WriteCommit:
    version, count = _COMMIT.unpack_from(value)
    end = _COMMIT.size + count * _PART.size
    if version < _VERSION or not 0 < count <= MAX_PARTS or end > len(value):
        raise DecodeError(f"WRITE_COMMIT of version {version} with {count} parts in {len(value)} bytes")
    parts = tuple(
        WritePart(producer_id=producer_id, record_count=record_count, content_checksum=checksum)
        for producer_id, record_count, checksum in _PART.iter_unpack(value[_COMMIT.size : end])
    )
    if any(part.producer_id < 0 or part.record_count < 1 for part in parts):
        raise DecodeError("WRITE_COMMIT with a part without a producer id or without records")
    return WriteCommit(parts=parts)


def _read_transactional_id(value: bytes) -> TransactionalId:
    version, timeout_ms, producer_id, epoch, size_bytes = _TRANSACTIONAL_ID.unpack_from(value)
    name = value[_TRANSACTIONAL_ID.size :][:size_bytes]
    if version < _VERSION or timeout_ms < 0 or size_bytes < 0 or len(name) < size_bytes:
        raise DecodeError(f"TRANSACTIONAL_ID of version {version}, {timeout_ms} ms, {size_bytes} bytes of name")
    last_end: ControlType | None = None
    if version >= _VERSION_WITH_LAST_END:
        (kind,) = _LAST_END.unpack_from(value, _TRANSACTIONAL_ID.size + size_bytes)
        if kind not in (ControlType.ABORT, ControlType.COMMIT):
            raise DecodeError(f"TRANSACTIONAL_ID with {kind} as the type of an end marker")
        last_end = ControlType(kind)
    previous = None if producer_id < 0 else (producer_id, epoch)
    return TransactionalId(name=name.decode(), timeout_ms=timeout_ms, previous=previous, last_end=last_end)
