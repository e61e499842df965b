"""The keys of control records, which have the type of the value.

    offset  size  field
    0       2     version, int16, 0; a newer one is read as the newest known
    2       2     type, int16: see `raft.types.ControlType`

Source: rules CONTROL-3, CONTROL-8, CONTROL-9; Kafka ControlRecordType.
"""

from __future__ import annotations

import struct

from raft.errors import DecodeError
from raft.records.record import Record, read_records_section
from raft.types import Offset

_KEY = struct.Struct(">hh")
_KEY_VERSION = 0


def write_control_key(control_type: int) -> bytes:
    """Return the key of a control record of this type."""
    return _KEY.pack(_KEY_VERSION, control_type)


def read_control_type(record: Record) -> int:
    """Return the type of a control record, whether known or not.

    Raises:
        DecodeError: the key or the value is missing or empty, or the key is too short or of a negative version.
    """
    if not record.key or not record.value:
        raise DecodeError(f"control record at offset {record.offset} without a key or without a value")
    if len(record.key) < _KEY.size:
        raise DecodeError(f"control record at offset {record.offset} with a key of {len(record.key)} bytes")
    version, control_type = _KEY.unpack_from(record.key)
    if version < 0:
        raise DecodeError(f"control record at offset {record.offset} with a key of version {version}")
    return int(control_type)


def read_control_section(section: bytes, *, record_count: int, last_offset_delta: int) -> tuple[Record, ...]:
    """Return all records of a control batch, in order.

    Args:
        section: the bytes after the batch's header, decompressed.
        record_count: from the header.
        last_offset_delta: from the header.

    Raises:
        DecodeError: there is no record, or a record is malformed.
    """
    if not record_count:
        raise DecodeError("a control batch without records")
    return tuple(
        read_records_section(
            section,
            record_count=record_count,
            base_offset=Offset(0),
            last_offset_delta=last_offset_delta,
            base_timestamp_ms=0,
            append_time_ms=None,
        )
    )
