"""Finds records by time, for ListOffsets.

The indexes lead to an interval of the log, and in it a search reads headers until one matches. So it takes the same
time in a log of any size and with any clocks of the writers. It must be short, because nothing is appended meanwhile.

Source: Kafka UnifiedLog.fetchOffsetByTimestamp, LogSegment.findOffsetByTimestamp.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass

from raft.epoch_cache import EpochCache
from raft.errors import DecodeError
from raft.records.scanner import find_first
from raft.records.section import section_of
from raft.storage.batch_file import BatchFile
from raft.types import BatchHeader, Epoch, Offset


@dataclass(frozen=True, slots=True, kw_only=True)
class TimestampOffset:
    """A record found by time: its timestamp, its offset, and its leader epoch."""

    timestamp_ms: int
    offset: Offset
    epoch: Epoch


def first_at_or_after(
    segments: Sequence[BatchFile], timestamp_ms: int, end_offset: Offset, epochs: EpochCache
) -> TimestampOffset | None:
    """Return the record with the lowest offset whose timestamp is `timestamp_ms` or later; None if there is none.

    Args:
        segments: the log.
        timestamp_ms: the time.
        end_offset: records from here on do not count.
        epochs: the epoch cache of the log.

    Raises:
        CorruptBatchError: a batch is damaged that was looked at; names file and byte.
    """
    for segment in segments:
        if segment.indexes.largest_timestamp_ms < timestamp_ms:
            continue
        start = segment.indexes.position_before_timestamp(timestamp_ms)
        for header, position in _batches(segment, start, end_offset, epochs):
            if header.max_timestamp_ms >= timestamp_ms:
                return _first_in_batch(segment, position, header, timestamp_ms)
    return None


def first_of_largest(segments: Sequence[BatchFile], end_offset: Offset, epochs: EpochCache) -> TimestampOffset | None:
    """Return the first record with the largest timestamp; None if no record has one.

    Args:
        segments: the log.
        end_offset: records from here on do not count.
        epochs: the epoch cache of the log.

    Raises:
        CorruptBatchError: a batch is damaged that was looked at; names file and byte.
    """
    best: tuple[BatchFile, Offset] | None = None
    largest_ms = -1
    for segment in segments:
        if segment.base_offset >= end_offset or segment.indexes.largest_timestamp_ms <= largest_ms:
            continue
        segments_ms, offset = _largest_in(segment, end_offset, epochs)
        if segments_ms > largest_ms:
            largest_ms = segments_ms
            best = segment, offset
    if best is None:
        return None
    segment, offset = best
    header, position = next(_batches(segment, segment.locate(offset), end_offset, epochs))
    return _first_in_batch(segment, position, header, largest_ms)


def _largest_in(segment: BatchFile, end_offset: Offset, epochs: EpochCache) -> tuple[int, Offset]:
    """Return the largest timestamp below `end_offset`, -1 for none, and an offset in the first batch that has it."""
    indexes = segment.indexes
    if indexes.offset_of_largest < end_offset:
        return indexes.largest_timestamp_ms, indexes.offset_of_largest
    largest_ms, offset = indexes.largest_before(end_offset) or (-1, segment.base_offset)
    for header, _position in _batches(segment, indexes.position_below(end_offset), end_offset, epochs):
        if header.max_timestamp_ms > largest_ms:
            largest_ms, offset = header.max_timestamp_ms, header.last_offset
    return largest_ms, offset


def _batches(
    segment: BatchFile, position: int, end_offset: Offset, epochs: EpochCache
) -> Iterator[tuple[BatchHeader, int]]:
    """Yield headers and positions of the whole batches from `position` up to `end_offset`."""
    for header in segment.checked_headers_from(position, epochs):
        if header.end_offset > end_offset:
            return
        yield header, position
        position += header.size_bytes


def _first_in_batch(segment: BatchFile, position: int, header: BatchHeader, timestamp_ms: int) -> TimestampOffset:
    # A log may have malformed records, or records that are older than the header of their batch says, because leaders
    # did not always check them. The batch as a whole is the best result then: it begins no later than the record. A
    # node must not stop for that, nor search a log of such batches to its end.
    with suppress(DecodeError):
        record = find_first(section_of(segment.batch_at(position), header), timestamp_ms)
        if record is not None:
            offset = Offset(header.base_offset + record.offset_delta)
            return TimestampOffset(timestamp_ms=record.timestamp_ms, offset=offset, epoch=header.epoch)
    return TimestampOffset(timestamp_ms=header.max_timestamp_ms, offset=header.base_offset, epoch=header.epoch)
