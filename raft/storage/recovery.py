"""Opens the segments of a log: reads every batch that it may not trust, and truncates the torn end of a write.

Segments on the list of `TrustedSegments` are not read. Of the others, each batch is checked: length, magic, checksum,
no gap between offsets, no lower epoch. The first batch that fails ends the log, and the log is truncated there, because
a crash leaves the last write incomplete. There are two exceptions:

- The batch lies below the recovery point. Everything there was flushed.
- A whole batch with a right checksum follows it, in its segment or a later one. An interrupted write has nothing after
  its end, so a batch that was written whole was damaged or lost later, for example by a flipped bit.

In both cases this node may have lost records that it had acknowledged. It must not go on without them, because a quorum
could elect it and lose them everywhere. So the start is refused, and no file is changed.

The recovery point is exact when only the process died, because the mark of the last flush says it
(`raft.storage.flushed_mark`). After a power failure it is a lower bound. So in one case the second rule refuses a start
although nothing was lost. If the power fails during a large flush, a file system may have written later pages and not
earlier ones. Then whole batches follow a hole, and all of them are above the last flush. The files do not tell this
case from the loss of flushed records. Truncation would be right most times and lose committed records silently at
others. So the operator decides, and the message gives the commands: truncate the file there if the power did fail, or
let the node copy the log from the leader. Segments before the last one were flushed when they were full, so they have
no such holes.

Source: rules LOG-13, LOG-15, LOG-32; Kafka LogLoader, LogSegment.recover.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Iterator, Sequence

from raft.errors import CorruptBatchError, DecodeError
from raft.records.header_fields import HEADER, batch_size_bytes
from raft.storage.aborted_index import ABORTED_SUFFIX
from raft.storage.batch_search import BatchSearch
from raft.storage.files import Files, join
from raft.storage.loaded_indexes import LoadedIndexes
from raft.storage.recovery_point import RecoveryPoint
from raft.storage.segment import LOG_SUFFIX, Segment
from raft.storage.segment_summary import SegmentSummary
from raft.storage.trusted_segments import TRUSTED_SEGMENTS_NAME
from raft.transactions import AbortedTransaction
from raft.types import LOG_BEGIN, BatchHeader, Offset, OffsetAndEpoch

_logger = logging.getLogger(__name__)

_SEGMENT_FILE = re.compile(r"([0-9]{20})(\.log|\.index|\.timeindex|\.txnindex)")


def remove_log(files: Files, directory: str, recovery_point: RecoveryPoint) -> None:
    """Remove all segments and reset the recovery point, and return when that is done on the disk.

    Args:
        files: where the segments are.
        directory: the partition's folder.
        recovery_point: of this partition.
    """
    recovery_point.retreat(Offset(0))
    for name in files.names_in(directory):
        if _SEGMENT_FILE.fullmatch(name) or name == TRUSTED_SEGMENTS_NAME:
            files.remove(join(directory, name))
    files.sync_directory(directory)


def segment_bases(files: Files, directory: str) -> list[Offset]:
    """Return the base offsets of the segments in a folder, in order."""
    matches = map(_SEGMENT_FILE.fullmatch, files.names_in(directory))
    return sorted(Offset(int(match[1])) for match in matches if match and match[2] == LOG_SUFFIX)


def log_start(files: Files, directory: str, snapshots: Sequence[OffsetAndEpoch]) -> OffsetAndEpoch:
    """Return where a log begins: at offset 0, or at the end of a snapshot (LOG-15).

    A crash can interrupt the removal of the segments before a snapshot. Then the oldest are gone, and the log begins at
    the first snapshot after them.

    Args:
        files: where the segments are.
        directory: the partition's folder.
        snapshots: the whole snapshots, in order.
    """
    bases = [int(match[1]) for match in map(_SEGMENT_FILE.fullmatch, files.names_in(directory)) if match]
    first = min(bases, default=None)
    if first == 0 or not snapshots:
        return LOG_BEGIN
    behind = [] if first is None else [snapshot for snapshot in snapshots if snapshot.offset >= first]
    return behind[0] if behind else snapshots[-1]


def _check_offset(segment: Segment, header: BatchHeader, expected: Offset) -> None:
    """Check the offset of a batch, which its checksum does not cover."""
    if header.base_offset != expected:
        raise CorruptBatchError(f"{segment.path} is damaged: batch at offset {header.base_offset}, expected {expected}")


class Recovery:
    """One read of the segments of a directory.

    Args:
        files: where the segments are.
        directory: the partition's folder.
        start: where the log begins: 0, or the end of a snapshot that replaces what was before (LOG-15).
        recovery_point: everything below it was flushed.
        loaded: bounds the memory for the indexes of full segments.
        on_batch: called with the header of each sound batch that was read, in order; returns the transaction that the
            batch aborts.
    """

    def __init__(
        self,
        files: Files,
        directory: str,
        *,
        start: OffsetAndEpoch,
        recovery_point: Offset,
        loaded: LoadedIndexes,
        on_batch: Callable[[BatchHeader], AbortedTransaction | None],
    ) -> None:
        self._files = files
        self._directory = directory
        self._recovery_point = recovery_point
        self._loaded = loaded
        self._on_batch = on_batch
        self._names = files.names_in(directory)
        self._segments: list[Segment] = []
        self._start = start
        self._end_offset = start.offset
        self._last_epoch = start.epoch
        self._position = 0
        self._ends: dict[Offset, OffsetAndEpoch] = {}
        """Of the segments that were read and are followed by another, by base offset."""

    @property
    def end(self) -> OffsetAndEpoch:
        """The end of what was opened so far, and the epoch of the last batch there."""
        return OffsetAndEpoch(epoch=self._last_epoch, offset=self._end_offset)

    def trust(self, summaries: Sequence[SegmentSummary]) -> None:
        """Open segments without reading them, as far as they are listed without a gap and are as they are listed.

        Args:
            summaries: the listed segments, in order.
        """
        listed = {summary.base_offset: summary for summary in summaries}
        base_offsets = self._base_offsets()
        for base_offset in base_offsets:
            summary = listed.get(base_offset)
            if summary is None or base_offset != self._end_offset or not self._is_as_listed(summary):
                return
            segment = Segment(self._files, self._directory, base_offset, self._loaded, summary=summary)
            if base_offset == base_offsets[-1]:
                try:
                    segment.unseal()
                except CorruptBatchError as damage:
                    _logger.warning("%s", damage)
                    return
            self._segments.append(segment)
            self._end_offset, self._last_epoch = summary.end_offset, summary.last_epoch

    def distrust(self) -> None:
        """Read all segments after all."""
        for segment in self._segments:
            segment.close()
        self._segments.clear()
        self._end_offset, self._last_epoch = self._start.offset, self._start.epoch

    def trusted_headers(self, offset: Offset) -> Iterator[BatchHeader]:
        """Read the batches from `offset` on in the segments that were opened without reading them.

        Args:
            offset: the start of a batch, or the end of the log.

        Raises:
            CorruptBatchError: while iterating, at the first batch that is damaged.
        """
        ends = [*(segment.base_offset for segment in self._segments[1:]), self._end_offset]
        for segment, end_offset in zip(self._segments, ends, strict=False):
            if end_offset > offset:
                offset = max(offset, segment.base_offset)
                try:
                    for header in segment.headers_from(segment.locate(offset)):
                        _check_offset(segment, header, offset)
                        yield header
                        offset = header.end_offset
                except CorruptBatchError as damage:
                    raise self._lost(damage, offset) from damage

    def open_segments(self) -> tuple[list[Segment], Offset]:
        """Read the segments that are not trusted; return all in order, at least one, and the end offset of the log.

        Raises:
            CorruptBatchError: a batch below the recovery point is damaged or missing, or a whole batch follows a
                damaged one; names file and byte.
        """
        base_offsets = self._base_offsets()
        try:
            damage = self._walk(base_offsets[len(self._segments) :])
            self._check_nothing_is_lost(damage)
            if damage is not None:
                later = base_offsets[len(self._segments) :]
                self._check_nothing_follows(damage, later)
                self._truncate_torn_end(later, damage)
            self._settle()
        except BaseException:
            for segment in self._segments:
                segment.close()
            raise
        return self._segments, self._end_offset

    def _segment_files(self) -> list[re.Match[str]]:
        return [match for match in map(_SEGMENT_FILE.fullmatch, self._names) if match]

    def _base_offsets(self) -> list[Offset]:
        """Return the base offsets of the segments, in order; not those that a crash left from before the snapshot."""
        found = sorted(Offset(int(match[1])) for match in self._segment_files() if match[2] == LOG_SUFFIX)
        base_offsets = [base_offset for base_offset in found if base_offset >= self._start.offset]
        if base_offsets and base_offsets[0] != self._start.offset:
            path = self._files.path_of(join(self._directory, f"{base_offsets[0]:020d}{LOG_SUFFIX}"))
            raise CorruptBatchError(f"{path} is the first segment, but no snapshot ends at offset {base_offsets[0]}")
        return base_offsets

    def _is_as_listed(self, summary: SegmentSummary) -> bool:
        """Whether a segment was flushed, and its files have the listed sizes."""
        if summary.end_offset > self._recovery_point:
            return False
        indexes = summary.indexes
        sizes = {
            LOG_SUFFIX: summary.size_bytes,
            ".index": indexes.offset_index_bytes,
            ".timeindex": indexes.time_index_bytes,
            ABORTED_SUFFIX: indexes.aborted_index_bytes,
        }
        stem = f"{summary.base_offset:020d}"
        # A segment without aborted transactions has no file for them.
        expected = {stem + suffix: size or (None if suffix == ABORTED_SUFFIX else 0) for suffix, size in sizes.items()}
        return all(self._size_bytes(name) == size_bytes for name, size_bytes in expected.items())

    def _size_bytes(self, name: str) -> int | None:
        if name not in self._names:
            return None
        file = self._files.open(join(self._directory, name))
        try:
            return file.size_bytes
        finally:
            file.close()

    def _walk(self, base_offsets: list[Offset]) -> CorruptBatchError | None:
        """Open and read the segments up to the first damaged batch; return its error, or None."""
        for base_offset in base_offsets:
            self._seal_last()
            segment = Segment(self._files, self._directory, base_offset, self._loaded)
            self._segments.append(segment)
            damage = self._first_damage(segment)
            if damage is not None:
                return damage
        return None

    def _seal_last(self) -> None:
        """Close the file of a segment that was read, because another one follows."""
        if self._segments and self._segments[-1].summary is None:
            self._segments[-1].seal()
            self._ends[self._segments[-1].base_offset] = self.end

    def _first_damage(self, segment: Segment) -> CorruptBatchError | None:
        """Read a segment; return the error of its first damaged batch, or None."""
        self._position = 0
        if segment.base_offset != self._end_offset:
            return CorruptBatchError(f"{segment.path} follows a segment that ends at offset {self._end_offset}")
        try:
            for header in segment.headers_from():
                self._check_place(segment, header)
                segment.indexes.note(header, self._position)
                aborted = self._on_batch(header)
                if aborted is not None:
                    segment.indexes.aborted.note([aborted])
                self._position += header.size_bytes
        except CorruptBatchError as damage:
            return damage
        return None

    def _check_place(self, segment: Segment, header: BatchHeader) -> None:
        if header.base_offset != self._end_offset or header.epoch < self._last_epoch:
            raise CorruptBatchError(
                f"{segment.path} is damaged at byte {self._position}: batch at offset {header.base_offset} of epoch "
                f"{header.epoch}, expected offset {self._end_offset} of epoch {self._last_epoch} or later"
            )
        self._end_offset = header.end_offset
        self._last_epoch = header.epoch

    def _check_nothing_is_lost(self, damage: CorruptBatchError | None) -> None:
        if self._end_offset < self._recovery_point:
            found = damage or f"segments are missing in {self._files.path_of(self._directory)}"
            raise self._lost(found, self._end_offset)

    def _lost(self, found: object, end_offset: Offset) -> CorruptBatchError:
        return CorruptBatchError(
            f"{found}; the log ends at offset {end_offset}, but everything below {self._recovery_point} was flushed, "
            f"so this is not the torn end of a write and records are lost here. {self._way_back()}"
        )

    def _check_nothing_follows(self, damage: CorruptBatchError, later: list[Offset]) -> None:
        """Check that no whole batch follows the damage.

        Raises:
            CorruptBatchError: a whole batch follows; names its file and byte, and what the operator can do.
        """
        search = BatchSearch(min_offset=self._end_offset)
        damaged = self._segments[-1]
        # Behind a gap, the first batch of the segment may be whole; elsewhere the batch at this position is damaged.
        is_behind_gap = damaged.base_offset != self._end_offset and self._position == 0
        found = damaged.find_whole_batch(search, self._position + (0 if is_behind_gap else 1))
        path = damaged.path
        for base_offset in later:
            if found is not None:
                break
            segment = Segment(self._files, self._directory, base_offset, self._loaded)
            try:
                found = segment.find_whole_batch(search, 0)
                path = segment.path
            finally:
                segment.close()
        if found is not None:
            raise CorruptBatchError(
                f"{damage}; a whole batch at offset {found.base_offset} follows at byte {found.position} of {path}, so "
                f"this is not the torn end of a write, and the log is not truncated. {self._way_out(damaged)}"
            )

    def _way_back(self) -> str:
        files = f"all files of {self._files.path_of(self._directory)} but quorum-state"
        return f"If the other voters have the whole log, move {files} away: then this node copies it from the leader"

    def _way_out(self, damaged: Segment) -> str:
        return (
            f"{self._way_back()}. If the machine lost power while it wrote and no copy exists, truncate the log with "
            f"'truncate -s {self._position} {damaged.path}' and remove the segments after this one; records from "
            f"offset {self._end_offset} on are lost then"
        )

    def _truncate_torn_end(self, later: list[Offset], damage: CorruptBatchError) -> None:
        """Remove the damaged batch and everything after it from the disk."""
        torn = self._segments[-1]
        dropped_bytes = torn.size_bytes - self._position
        meaning = self._meaning_of(torn, later)
        for base_offset in reversed(later):
            segment = Segment(self._files, self._directory, base_offset, self._loaded)
            dropped_bytes += segment.size_bytes
            segment.remove()
        if self._position == 0 and torn.base_offset != self._end_offset:  # It follows a gap.
            self._segments.pop().remove()
            self._segments[-1].unseal()
        else:
            # The indexes have the sound batches only. Their files must never point past the end of the segment.
            torn.indexes.attach()
            torn.truncate_file(self._position)
        _logger.warning(
            "%s; log truncated as after an interrupted write: end_offset=%d removed_bytes=%d recovery_point=%d; %s",
            damage,
            self._end_offset,
            dropped_bytes,
            self._recovery_point,
            meaning,
        )

    def _meaning_of(self, torn: Segment, later: list[Offset]) -> str:
        """Return whether this node may have acknowledged what is damaged.

        A node acknowledges a batch when it has flushed it whole. If only the process died, the recovery point is at the
        end of the last flush, so this batch was not acknowledged. After a power failure it may be lower, and the file
        alone decides: an interrupted write leaves a part of one batch, at the end.
        """
        try:
            size_bytes = batch_size_bytes(torn.read_at(self._position, HEADER.size))
        except DecodeError:
            size_bytes = None
        is_incomplete = size_bytes is None or size_bytes > torn.size_bytes - self._position
        if is_incomplete and not later and torn.base_offset <= self._end_offset:
            return "it was not written whole, so this node has not acknowledged it, unless its header is damaged"
        return (
            "if only the process died, this node has not acknowledged it. If the power failed, it was being written, "
            "or the disk has damaged it and this node may have acknowledged it. If it was committed, this node copies "
            f"it again, from offset {self._end_offset} on: stop no other voter until its lag is 0, and check the disk"
        )

    def _settle(self) -> None:
        """Write the index files, and flush everything that was read."""
        if not self._segments:
            segment = Segment(self._files, self._directory, self._end_offset, self._loaded, create=True)
            self._segments.append(segment)
        for segment in self._segments[:-1]:
            if segment.summary is None:
                segment.seal_indexes(self._ends[segment.base_offset])
        self._segments[-1].unseal()
        self._segments[-1].indexes.attach()
        bases = {segment.base_offset for segment in self._segments}
        for match in self._segment_files():
            if int(match[1]) not in bases:
                self._files.remove(join(self._directory, match[0]))
        # The batches may be in the cache of the system only. The sealed segments were flushed.
        self._segments[-1].flush()
        self._files.sync_directory(self._directory)
