"""Looking for records by time, as ListOffsets asks.

Source: Kafka UnifiedLog.fetchOffsetByTimestamp, LogSegment.findOffsetByTimestamp.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from raft.errors import DecodeError
from raft.records.batch import read_records
from raft.storage.segment import Segment
from raft.types import BatchHeader, Epoch, Offset


@dataclass(frozen=True, slots=True, kw_only=True)
class TimestampOffset:
    """A record found by time: its timestamp, its offset, and its leader epoch."""

    timestamp_ms: int
    offset: Offset
    epoch: Epoch


def first_at_or_after(segments: Sequence[Segment], timestamp_ms: int, end_offset: Offset) -> TimestampOffset | None:
    """Return the record of the lowest offset whose timestamp is this or later.

    Args:
        segments: the log.
        timestamp_ms: the time looked for.
        end_offset: records from here on do not count.
    """
    for segment in segments:
        if segment.indexes.largest_timestamp_ms < timestamp_ms:
            continue
        offset = segment.indexes.offset_before(timestamp_ms)
        for header, position in _batches(segment, offset, end_offset):
            if header.max_timestamp_ms >= timestamp_ms:
                found = _first_in_batch(segment, position, header, timestamp_ms)
                if found is not None:
                    return found
    return None


def first_of_largest(segments: Sequence[Segment], end_offset: Offset) -> TimestampOffset | None:
    """Return the record with the largest timestamp, of several the first; None when no record has one.

    Args:
        segments: the log.
        end_offset: records from here on do not count.
    """
    best: tuple[Segment, BatchHeader, int] | None = None
    largest_ms = -1
    for segment in segments:
        if segment.indexes.largest_timestamp_ms <= largest_ms or segment.base_offset >= end_offset:
            continue
        # All batches up to this entry are no younger than it says, so the walk may begin there.
        indexed = segment.indexes.largest_before(end_offset)
        for header, position in _batches(segment, indexed[1] if indexed else segment.base_offset, end_offset):
            if header.max_timestamp_ms > largest_ms:
                largest_ms = header.max_timestamp_ms
                best = segment, header, position
    if best is None:
        return None
    segment, header, position = best
    return _first_in_batch(segment, position, header, largest_ms)


def _batches(segment: Segment, offset: Offset, end_offset: Offset) -> Iterator[tuple[BatchHeader, int]]:
    """Yield headers and positions of the whole batches from the one with `offset` up to `end_offset`."""
    position = segment.locate(offset)
    for header in segment.walk(position):
        if header.end_offset > end_offset:
            return
        yield header, position
        position += header.size_bytes


def _first_in_batch(segment: Segment, position: int, header: BatchHeader, timestamp_ms: int) -> TimestampOffset | None:
    try:
        for record in read_records(segment.batch_at(position)):
            if record.timestamp_ms >= timestamp_ms:
                return TimestampOffset(timestamp_ms=record.timestamp_ms, offset=record.offset, epoch=header.epoch)
    except DecodeError:
        # Leaders take batches without opening them, so a client can have sent records that nobody can read. That is
        # no reason to stop a node; the batch as a whole is as good an answer as there is.
        return TimestampOffset(timestamp_ms=header.max_timestamp_ms, offset=header.base_offset, epoch=header.epoch)
    return None
