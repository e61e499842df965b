"""Reads the committed log piece by piece and checks it, because a start trusts what was flushed without reading it.

A pass goes through the snapshots, and then through the segments in order. It checks each batch as `Survey` does, and
the indexes of full segments. Behind damage the pass goes on with the next sound batch.

Source: rule LOG-26; Kafka has no such check.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from raft.epoch_cache import EpochCache
from raft.errors import CorruptBatchError
from raft.storage.damage import DamagedPart, KnownDamage
from raft.storage.damage_search import damaged_index, damaged_snapshot, end_of
from raft.storage.log import Log
from raft.storage.segment import Segment
from raft.storage.snapshots import SnapshotFolder
from raft.storage.survey import Survey
from raft.types import Offset, OffsetAndEpoch


@dataclass(frozen=True, slots=True, kw_only=True)
class ScrubProgress:
    """How far the scrub is.

    Fields:
        passes: passes that are complete.
        checked_bytes: read in this pass.
        parts: all damage that is known, also what reads have found.
    """

    passes: int = 0
    checked_bytes: int = 0
    parts: tuple[DamagedPart, ...] = ()

    @property
    def damage(self) -> tuple[str, ...]:
        """What is damaged, in words."""
        return tuple(part.reason for part in self.parts)


class Scrub:
    """The check of one log. The thread that appends to the log runs it, because files come and go between its pieces.

    Args:
        log: the log.
        snapshots: the snapshots of the log.
        known: the damage that is known; None for none.
    """

    def __init__(self, log: Log, snapshots: SnapshotFolder, known: KnownDamage | None = None) -> None:
        self._log = log
        self._snapshots = snapshots
        self._known = known or KnownDamage()
        self._passes = 0
        self._begin_pass()

    def check_piece(self, max_bytes: int, committed_offset: Offset) -> ScrubProgress:
        """Check the next batches. The piece after the last one ends the pass, and the next one begins another.

        Args:
            max_bytes: about how many bytes to read; the piece ends with a whole batch.
            committed_offset: everything below is committed, and so is never truncated while it is checked.
        """
        if not self._check_snapshots(max_bytes) and not self._check_log(max_bytes, committed_offset):
            self._passes += 1
            self._begin_pass()
        return ScrubProgress(passes=self._passes, checked_bytes=self._checked_bytes, parts=self._known.parts)

    def _begin_pass(self) -> None:
        self._checked_bytes = 0
        self._unchecked_snapshots = self._snapshots.whole()
        self._snapshot_pieces: Iterator[int] | None = None
        """Of the snapshot that is under way."""
        self._segment: Segment | None = None
        """The segment that is under way."""
        self._survey: Survey | None = None
        """The survey of that segment."""
        self._unconfirmed: set[DamagedPart] = set()
        """Damage of the file that is under way, which was known before and was not found again yet."""
        self._offset = Offset(0)
        """Of the next batch, or of the next segment."""
        # Only files that exist are damaged.
        paths = {self._snapshots.path_of(snapshot) for snapshot in self._unchecked_snapshots}
        self._known.forget_snapshots_but(paths)

    def _check_snapshots(self, max_bytes: int) -> bool:
        """Check the next piece of a snapshot; return whether there is one."""
        while self._unchecked_snapshots:
            snapshot = self._unchecked_snapshots[0]
            path = self._snapshots.path_of(snapshot)
            if self._snapshot_pieces is None and self._snapshots.has(snapshot):
                self._unconfirmed = set(self._known.of_file(path))
                self._snapshot_pieces = self._snapshots.check(snapshot, piece_bytes=max_bytes)
            try:
                piece_bytes = next(self._snapshot_pieces or iter(()), None)
            except CorruptBatchError as damage:
                self._found(damaged_snapshot(path, snapshot.offset, self._size_of(snapshot), damage))
                piece_bytes = None
            if piece_bytes is not None:
                self._checked_bytes += piece_bytes
                return True
            self._known.discard(self._unconfirmed)
            self._unconfirmed = set()
            del self._unchecked_snapshots[0]
            self._snapshot_pieces = None
        return False

    def _size_of(self, snapshot: OffsetAndEpoch) -> int:
        return self._snapshots.size_bytes(snapshot) if self._snapshots.has(snapshot) else 0

    def _check_log(self, max_bytes: int, committed_offset: Offset) -> bool:
        """Check the next batches of a segment; return whether there are any."""
        survey = self._next_survey(committed_offset)
        if survey is None or self._segment is None:
            return False
        position = survey.position
        for part in survey.advance(max_bytes, committed_offset):
            self._found(part)
        self._checked_bytes += survey.position - position
        self._offset = survey.offset
        if survey.is_over:
            self._known.discard(self._unconfirmed)
            self._offset = end_of(self._log, self._segment)
            self._segment = self._survey = None
        return True

    def _next_survey(self, committed_offset: Offset) -> Survey | None:
        """Return the survey of the segment with the next batch; None if everything that is committed was checked."""
        log = self._log
        self._offset = max(self._offset, log.start_offset)
        if self._offset >= min(log.end_offset, committed_offset):
            return None
        segment = log.segments_from(self._offset)[0]
        if segment is not self._segment or self._survey is None:
            # The segment before is done, or was removed: then a snapshot has what was in it.
            self._segment = segment
            self._unconfirmed = {part for path in self._paths_of(segment) for part in self._known.of_file(path)}
            try:
                segment.indexes.check()
            except CorruptBatchError as damage:
                self._found(damaged_index(segment, end_of(log, segment), damage))
            position, offset = 0, segment.base_offset
        else:
            position, offset = self._survey.position, self._survey.offset
        # The epochs and the end of the last segment change while it is checked.
        self._survey = Survey(
            segment, EpochCache(log.epochs), end_offset=end_of(log, segment), position=position, offset=offset
        )
        return self._survey

    def _paths_of(self, segment: Segment) -> tuple[str, ...]:
        return segment.path, *segment.indexes.paths

    def _found(self, part: DamagedPart) -> None:
        self._unconfirmed.discard(part)
        self._known.add(part)
