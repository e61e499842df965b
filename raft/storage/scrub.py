"""Reads the committed log piece by piece and checks it, because a start trusts what was flushed without reading it.

A pass goes through the snapshot that readers see, and through the segments in order. It checks length, magic and
checksum of each batch; in segments also that offsets have no gap and epochs never fall; and the indexes of full
segments. Damage in a file ends the check of that file, and the pass goes on with the next one.

Source: rule LOG-26; Kafka has no such check.
"""

from __future__ import annotations

from dataclasses import dataclass

from raft.errors import CorruptBatchError
from raft.storage.batch_file import BatchFile
from raft.storage.log import Log
from raft.storage.segment import Segment
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
    """

    def __init__(self, log: Log) -> None:
        self._log = log
        self._passes = 0
        self._damage_before: dict[str, str] = {}
        self._begin_pass()

    def check_piece(self, max_bytes: int, committed_offset: Offset) -> ScrubProgress:
        """Check the next batches. The piece after the last one ends the pass, and the next one begins another.

        Args:
            max_bytes: about how many bytes to read; the piece ends with a whole batch.
            committed_offset: everything below is committed, and so is never truncated while it is checked.
        """
        file = self._next_file(committed_offset)
        if file is None:
            self._passes += 1
            self._damage_before = self._damage
            self._begin_pass()
        else:
            try:
                self._check(file, max_bytes, committed_offset)
            except CorruptBatchError as damage:
                self._damage[file.path] = str(damage)
                self._leave(file)
        return ScrubProgress(
            passes=self._passes,
            checked_bytes=self._checked_bytes,
            damage=tuple((self._damage_before | self._damage).values()),
        )

    def _begin_pass(self) -> None:
        self._damage: dict[str, str] = {}
        """By path of the file."""
        self._checked_bytes = 0
        self._file: BatchFile | None = None
        """The file that is under way."""
        self._position = 0
        """Of the next batch in it."""
        self._offset = Offset(0)
        """Of the next batch, or of the next file."""
        self._epoch = Epoch(0)

    def _next_file(self, committed_offset: Offset) -> BatchFile | None:
        """Return the file with the next batch; None if everything that is committed was checked."""
        log = self._log
        if self._offset < log.start_offset and log.compacted is None:
            self._offset = log.start_offset
        if self._offset >= min(log.end_offset, committed_offset):
            return None
        file = log.files_from(self._offset)[0]
        if file is not self._file:
            # The file before is done, or was removed: then another snapshot has what was in it.
            self._file, self._position = file, file.start_position
            if isinstance(file, Segment):
                self._offset = file.base_offset
                if self._offset == log.start_offset:
                    self._epoch = log.start.epoch
        return file

    def _check(self, file: BatchFile, max_bytes: int, committed_offset: Offset) -> None:
        if self._position == file.start_position and isinstance(file, Segment):
            file.indexes.check()
        end_position = self._position + max_bytes
        for header in file.walk(self._position, read_bytes=max_bytes):
            if isinstance(file, Segment):
                self._check_place(file, header)
            self._offset, self._epoch = header.end_offset, header.epoch
            self._position += header.size_bytes
            self._checked_bytes += header.size_bytes
            if self._position >= end_position or self._offset >= committed_offset:
                return
        self._leave(file)

    def _check_place(self, file: Segment, header: BatchHeader) -> None:
        if header.base_offset != self._offset or header.epoch < self._epoch:
            raise CorruptBatchError(
                f"{file.path} is damaged at byte {self._position}: batch at offset {header.base_offset} of epoch "
                f"{header.epoch}, expected offset {self._offset} of epoch {self._epoch} or later"
            )

    def _leave(self, file: BatchFile) -> None:
        """Go on behind the end of a file."""
        files = self._log.files_from(self._log.readable_from)
        following = files[files.index(file) + 1 :]
        self._file = None
        self._offset = following[0].base_offset if following else self._log.end_offset
