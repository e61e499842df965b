"""One remembered batch of a writer, in a producer snapshot.

    size  field
    2     producer epoch     int16
    4     sequence           int32
    8     record count       int64
    8     base offset        int64
    8     end offset         int64
    8     log time           int64
    1     has checksum       int8     1 if there is a content checksum
    8     content checksum   uint64   0 without one

An idempotent producer has up to five of these, any other writer has one.
"""

from __future__ import annotations

import struct

from raft.errors import DecodeError
from raft.types import Offset
from raft.writers import Written

WRITTEN = struct.Struct(">hiqqqqbQ")


def write_written(written: Written) -> bytes:
    """Return the bytes of an entry."""
    checksum = written.content_checksum
    return WRITTEN.pack(
        written.epoch,
        written.sequence,
        written.record_count,
        written.base_offset,
        written.end_offset,
        written.log_time_ms,
        checksum is not None,
        checksum or 0,
    )


def read_written(content: bytes, position: int, snapshot_end: Offset) -> Written:
    """Return the entry at `position`.

    Raises:
        DecodeError: its numbers are impossible.
        struct.error: it is incomplete.
    """
    epoch, sequence, record_count, base_offset, end_offset, log_time_ms, has_checksum, checksum = WRITTEN.unpack_from(
        content, position
    )
    if not 0 <= base_offset < end_offset <= snapshot_end or record_count < 0:
        raise DecodeError(f"producer snapshot up to {snapshot_end} with a batch from {base_offset} to {end_offset}")
    return Written(
        epoch=epoch,
        sequence=sequence,
        record_count=record_count,
        base_offset=Offset(base_offset),
        end_offset=Offset(end_offset),
        log_time_ms=log_time_ms,
        content_checksum=checksum if has_checksum else None,
    )
