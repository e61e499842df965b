"""Records and batches that several tests need."""

import struct

from crc32c import crc32c

from raft.records.header_fields import CHECKED_FROM
from raft.records.record import Record

RICH = (
    Record(key=b"k0", value=b"v0", headers=(("trace", b"\x00\x01"), ("none", None)), timestamp_ms=1_700_000_000_000),
    Record(key=None, value=b"", timestamp_ms=1_699_999_999_000),
    Record(key=b"", value=None, headers=(("", b""),), timestamp_ms=1_700_000_005_000),
    Record(key=b"x" * 300, value=b"y" * 20_000, timestamp_ms=1_700_000_000_001),
)
"""Every shape that a record can have: null and empty parts, long fields, time going back."""


def with_right_crc(payload: bytes) -> bytes:
    """Return a changed batch with the checksum of its present bytes."""
    return payload[:17] + struct.pack(">I", crc32c(payload[CHECKED_FROM:])) + payload[CHECKED_FROM:]


def with_field(payload: bytes, position: int, form: str, value: int) -> bytes:
    """Return the batch with another number in its header, the checksum right."""
    size = struct.calcsize(form)
    return with_right_crc(payload[:position] + struct.pack(form, value) + payload[position + size :])
