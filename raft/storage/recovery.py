"""Opening the segments of a log: every batch is looked at, and the torn end of an interrupted write is cut off.

What is checked, batch by batch: length, magic, checksum, that offsets have no gap, that epochs never fall. The first
batch that fails ends the log, if it lies at or above the recovery point: then it is taken for what a crash left of a
write. Below the recovery point everything had reached the disk, so records are lost, and no node may go on as if it had
never had them; in that case nothing is touched.

Source: rules LOG-13, LOG-15; Kafka LogLoader, LogSegment.recover.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Callable

from raft.errors import CorruptBatchError
from raft.storage.files import Files, join
from raft.storage.segment import LOG_SUFFIX, Segment
from raft.types import BatchHeader, Offset, OffsetAndEpoch

_logger = logging.getLogger(__name__)

_SEGMENT_FILE = re.compile(r"([0-9]{20})(\.log|\.index|\.timeindex)")


class Recovery:
    """One walk over all segments of a directory.

    Args:
        files: where the segments lie.
        directory: the partition's folder.
        start: where the log begins: 0, or the end of a snapshot that stands for what was before (LOG-15).
        recovery_point: all below it is known to have been on the disk.
        on_batch: called with the header of each batch that is good, in order.
    """

    def __init__(
        self,
        files: Files,
        directory: str,
        *,
        start: OffsetAndEpoch,
        recovery_point: Offset,
        on_batch: Callable[[BatchHeader], None],
    ) -> None:
        self._files = files
        self._directory = directory
        self._recovery_point = recovery_point
        self._on_batch = on_batch
        self._names = files.names_in(directory)
        self._segments: list[Segment] = []
        self._start_offset = start.offset
        self._end_offset = start.offset
        self._last_epoch = start.epoch
        self._position = 0

    def open_segments(self) -> tuple[list[Segment], Offset]:
        """Return the segments, at least one, in order and whole, and the end offset of the log.

        Raises:
            CorruptBatchError: a batch below the recovery point is damaged or missing; names file and byte.
        """
        base_offsets = self._base_offsets()
        try:
            damage = self._walk(base_offsets)
            self._check_nothing_is_lost(damage)
            if damage is not None:
                self._cut_torn_end(base_offsets[len(self._segments) :], damage)
            self._settle()
        except BaseException:
            for segment in self._segments:
                segment.close()
            raise
        return self._segments, self._end_offset

    def _segment_files(self) -> list[re.Match[str]]:
        return [match for match in map(_SEGMENT_FILE.fullmatch, self._names) if match]

    def _base_offsets(self) -> list[Offset]:
        """The segments, in order. Those from before a snapshot are what a crash left on the way to it."""
        found = sorted(Offset(int(match[1])) for match in self._segment_files() if match[2] == LOG_SUFFIX)
        base_offsets = [base_offset for base_offset in found if base_offset >= self._start_offset]
        if base_offsets and base_offsets[0] != self._start_offset:
            path = self._files.path_of(join(self._directory, f"{base_offsets[0]:020d}{LOG_SUFFIX}"))
            raise CorruptBatchError(f"{path} is the first segment, but no snapshot ends at offset {base_offsets[0]}")
        return base_offsets

    def _walk(self, base_offsets: list[Offset]) -> CorruptBatchError | None:
        """Open and walk the segments up to the first bad batch; return what is wrong with it, or None."""
        for base_offset in base_offsets:
            if self._segments:
                self._segments[-1].seal()
            segment = Segment(self._files, self._directory, base_offset)
            self._segments.append(segment)
            damage = self._first_damage(segment)
            if damage is not None:
                return damage
        return None

    def _first_damage(self, segment: Segment) -> CorruptBatchError | None:
        """Walk a segment; return what is wrong with its first bad batch, or None."""
        self._position = 0
        if segment.base_offset != self._end_offset:
            return CorruptBatchError(f"{segment.path} follows a segment that ends at offset {self._end_offset}")
        try:
            for header in segment.walk():
                self._check_place(segment, header)
                segment.indexes.note(header, self._position)
                self._on_batch(header)
                self._position += header.size_bytes
        except CorruptBatchError as damage:
            return damage
        return None

    def _check_place(self, segment: Segment, header: BatchHeader) -> None:
        if header.base_offset != self._end_offset or header.epoch < self._last_epoch:
            raise CorruptBatchError(
                f"{segment.path} is damaged at byte {self._position}: batch at offset {header.base_offset} of epoch "
                f"{header.epoch} where offset {self._end_offset} of epoch {self._last_epoch} or later was next"
            )
        self._end_offset = header.end_offset
        self._last_epoch = header.epoch

    def _check_nothing_is_lost(self, damage: CorruptBatchError | None) -> None:
        if self._end_offset < self._recovery_point:
            found = damage or f"{self._files.path_of(self._directory)} holds no more"
            raise CorruptBatchError(
                f"{found}; the log ends at offset {self._end_offset}, but all below {self._recovery_point} had been "
                "flushed, so this is no torn end of a write and records are lost"
            )

    def _cut_torn_end(self, later: list[Offset], damage: CorruptBatchError) -> None:
        """Take the damage and all behind it off the disk."""
        torn = self._segments[-1]
        dropped_bytes = torn.size_bytes - self._position
        for base_offset in reversed(later):
            segment = Segment(self._files, self._directory, base_offset)
            dropped_bytes += segment.size_bytes
            segment.remove()
        if self._position == 0 and len(self._segments) > 1:
            self._segments.pop().remove()
            self._segments[-1].unseal()
        else:
            # The indexes hold what is good and no more; their files must not, for a moment, point behind the cut.
            torn.indexes.attach()
            torn.cut_bytes(self._position)
        _logger.warning(
            "%s; cut off at offset %d: %d bytes, all above the recovery point %d",
            damage,
            self._end_offset,
            dropped_bytes,
            self._recovery_point,
        )

    def _settle(self) -> None:
        """Make the index files right, and all that was found durable."""
        if not self._segments:
            self._segments.append(Segment(self._files, self._directory, self._end_offset, create=True))
        for segment in self._segments[:-1]:
            segment.indexes.seal()
            segment.indexes.attach()
            segment.indexes.close()
        self._segments[-1].indexes.attach()
        bases = {segment.base_offset for segment in self._segments}
        for match in self._segment_files():
            if int(match[1]) not in bases:
                self._files.remove(join(self._directory, match[0]))
        # What was read may have come from a cache that never got to the disk; the sealed ones are on it already.
        self._segments[-1].flush()
        self._files.sync_directory(self._directory)
