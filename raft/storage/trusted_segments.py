"""The file `trusted-segments-checkpoint`: the segments that a start need not read.

Each line has the numbers of one `SegmentSummary`. A segment is listed when it is full, and the last one when the node
stops. Before that, its batches and its indexes are flushed. A start trusts the listed segments from the start of the
log on, as far as they lie below the recovery point and their files have the listed sizes, and reads the rest.

A listed segment that grows again has another size. Before one is truncated, it is removed from the list on the disk,
because new batches could give it its old size. A log of Kafka has no list, so it is read once.

Source: rule LOG-25.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Sequence

from raft.errors import StorageError
from raft.storage.checkpoint_file import parse_number, read_checkpoint, write_checkpoint
from raft.storage.files import Files, join
from raft.storage.segment import Segment
from raft.storage.segment_summary import IndexSummary, SegmentSummary
from raft.types import Epoch, Offset

TRUSTED_SEGMENTS_NAME = "trusted-segments-checkpoint"

_logger = logging.getLogger(__name__)

_WORDS = 12


class TrustedSegments:
    """The list of one log.

    Args:
        files: where it is.
        directory: the partition's folder.
    """

    def __init__(self, files: Files, directory: str) -> None:
        self._files = files
        self._directory = directory
        self._name = join(directory, TRUSTED_SEGMENTS_NAME)
        self._listed = self._read()

    @property
    def listed(self) -> tuple[SegmentSummary, ...]:
        """The segments on the list, in order."""
        return self._listed

    def list_full(self, segments: Sequence[Segment]) -> None:
        """List the full ones among the segments of the log and no others, and return when that is on the disk."""
        summaries = {segment.summary: segment for segment in tuple(segments) if segment.summary is not None}
        if tuple(summaries) == self._listed:
            return
        for summary, segment in summaries.items():
            if summary not in self._listed:
                segment.flush_indexes()
        self._files.sync_directory(self._directory)
        self._write(summaries)

    def retreat(self, end_offset: Offset) -> None:
        """Remove the segments with records from `end_offset` on, and return when that is done on the disk."""
        kept = tuple(each for each in self._listed if each.end_offset <= end_offset)
        if kept != self._listed:
            self._write(kept)

    def _write(self, summaries: Iterable[SegmentSummary]) -> None:
        listed = tuple(summaries)
        write_checkpoint(self._files, self._name, [_to_numbers(each) for each in listed])
        self._listed = listed

    def _read(self) -> tuple[SegmentSummary, ...]:
        try:
            entries = read_checkpoint(self._files, self._name, words=_WORDS)
            return tuple(
                _from_numbers([parse_number(self._files, self._name, word) for word in entry]) for entry in entries
            )
        except StorageError as error:
            _logger.warning("%s; the node reads the whole log", error)
            return ()


def _to_numbers(summary: SegmentSummary) -> tuple[int, ...]:
    """Return the words of a line. Each is 0 or more: a timestamp is shifted by 1, because it may be -1."""
    indexes = summary.indexes
    return (
        summary.base_offset,
        summary.end_offset,
        summary.last_epoch,
        summary.size_bytes,
        indexes.offset_index_bytes,
        indexes.time_index_bytes,
        indexes.aborted_index_bytes,
        indexes.checksum,
        indexes.largest_timestamp_ms + 1,
        indexes.offset_of_largest,
        *(indexes.transactional_range or (0, 0)),
    )


def _from_numbers(numbers: Sequence[int]) -> SegmentSummary:
    (base_offset, end_offset, last_epoch, size_bytes, *sizes, checksum, timestamp, largest_at, first, end) = numbers
    offset_index_bytes, time_index_bytes, aborted_index_bytes = sizes
    return SegmentSummary(
        base_offset=Offset(base_offset),
        end_offset=Offset(end_offset),
        last_epoch=Epoch(last_epoch),
        size_bytes=size_bytes,
        indexes=IndexSummary(
            offset_index_bytes=offset_index_bytes,
            time_index_bytes=time_index_bytes,
            aborted_index_bytes=aborted_index_bytes,
            checksum=checksum,
            largest_timestamp_ms=timestamp - 1,
            offset_of_largest=Offset(largest_at),
            transactional_range=(Offset(first), Offset(end)) if end else None,
        ),
    )
