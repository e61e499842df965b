"""Reads the committed log piece by piece and checks it, because a start trusts what was flushed without reading it.

A pass goes through the snapshots, and then through the segments in order. It checks length, magic and checksum of each
batch; in segments also that offsets have no gap and epochs never fall; and the indexes of full segments. Damage in a
file ends the check of that file, and the pass goes on with the next one.

Source: rule LOG-26; Kafka has no such check.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from raft.errors import CorruptBatchError
from raft.storage.log import Log
from raft.storage.segment import Segment
from raft.storage.snapshots import SnapshotFolder
from raft.types import BatchHeader, Epoch, Offset


@dataclass(frozen=True, slots=True, kw_only=True)
class ScrubProgress:
    """How far the scrub is.

    Fields:
        passes: passes that are complete.
        checked_bytes: read in this pass.
        damage: what this pass found; before its end, also what the one before found.
    """

    passes: int = 0
    checked_bytes: int = 0
    damage: tuple[str, ...] = ()


class Scrub:
    """The check of one log. The thread that appends to the log runs it, because files come and go between its pieces.

    Args:
        log: the log.
        snapshots: the snapshots of the log.
    """

    def __init__(self, log: Log, snapshots: SnapshotFolder) -> None:
        self._log = log
        self._snapshots = snapshots
        self._passes = 0
        self._damage_before: dict[str, str] = {}
        self._begin_pass()

    def check_piece(self, max_bytes: int, committed_offset: Offset) -> ScrubProgress:
        """Check the next batches. The piece after the last one ends the pass, and the next one begins another.

        Args:
            max_bytes: about how many bytes to read; the piece ends with a whole batch.
            committed_offset: everything below is committed, and so is never truncated while it is checked.
        """
        if not self._check_snapshots(max_bytes) and not self._check_log(max_bytes, committed_offset):
            self._passes += 1
            self._damage_before = self._damage
            self._begin_pass()
        return ScrubProgress(
            passes=self._passes,
            checked_bytes=self._checked_bytes,
            damage=tuple((self._damage_before | self._damage).values()),
        )

    def _begin_pass(self) -> None:
        self._damage: dict[str, str] = {}
        """By path of the file."""
        self._checked_bytes = 0
        self._unchecked_snapshots = self._snapshots.whole()
        self._snapshot_pieces: Iterator[int] | None = None
        """Of the snapshot that is under way."""
        self._segment: Segment | None = None
        """The segment that is under way."""
        self._position = 0
        """Of the next batch in it."""
        self._offset = Offset(0)
        """Of the next batch, or of the next segment."""
        self._epoch = Epoch(0)

    def _check_snapshots(self, max_bytes: int) -> bool:
        """Check the next piece of a snapshot; return whether there is one."""
        while self._unchecked_snapshots:
            snapshot = self._unchecked_snapshots[0]
            if self._snapshot_pieces is None and self._snapshots.has(snapshot):
                self._snapshot_pieces = self._snapshots.check(snapshot, piece_bytes=max_bytes)
            try:
                piece_bytes = next(self._snapshot_pieces or iter(()), None)
            except CorruptBatchError as damage:
                self._damage[self._snapshots.path_of(snapshot)] = str(damage)
                piece_bytes = None
            if piece_bytes is not None:
                self._checked_bytes += piece_bytes
                return True
            del self._unchecked_snapshots[0]
            self._snapshot_pieces = None
        return False

    def _check_log(self, max_bytes: int, committed_offset: Offset) -> bool:
        """Check the next batches of a segment; return whether there are any."""
        segment = self._next_segment(committed_offset)
        if segment is None:
            return False
        try:
            self._check(segment, max_bytes, committed_offset)
        except CorruptBatchError as damage:
            self._damage[segment.path] = str(damage)
            self._leave(segment)
        return True

    def _next_segment(self, committed_offset: Offset) -> Segment | None:
        """Return the segment with the next batch; None if everything that is committed was checked."""
        log = self._log
        self._offset = max(self._offset, log.start_offset)
        if self._offset >= min(log.end_offset, committed_offset):
            return None
        segment = log.segments_from(self._offset)[0]
        if segment is not self._segment:
            # The segment before is done, or was removed: then a snapshot has what was in it.
            self._segment, self._position = segment, 0
            self._offset = segment.base_offset
            if self._offset == log.start_offset:
                self._epoch = log.start.epoch
        return segment

    def _check(self, segment: Segment, max_bytes: int, committed_offset: Offset) -> None:
        if self._position == 0:
            segment.indexes.check()
        end_position = self._position + max_bytes
        for header in segment.walk(self._position, read_bytes=max_bytes):
            self._check_place(segment, header)
            self._offset, self._epoch = header.end_offset, header.epoch
            self._position += header.size_bytes
            self._checked_bytes += header.size_bytes
            if self._position >= end_position or self._offset >= committed_offset:
                return
        self._leave(segment)

    def _check_place(self, segment: Segment, header: BatchHeader) -> None:
        if header.base_offset != self._offset or header.epoch < self._epoch:
            raise CorruptBatchError(
                f"{segment.path} is damaged at byte {self._position}: batch at offset {header.base_offset} of epoch "
                f"{header.epoch}, expected offset {self._offset} of epoch {self._epoch} or later"
            )

    def _leave(self, segment: Segment) -> None:
        """Go on behind the end of a segment."""
        following = self._log.segments_from(segment.base_offset)[1:]
        self._segment = None
        self._offset = following[0].base_offset if following else self._log.end_offset
