"""What was written to the log of a machine, and how far it is on the disk."""

from __future__ import annotations

from typing import NamedTuple

from raft.records.header import CHECKED_FROM
from raft.records.split import split_batches
from raft.storage.log import Log
from raft.types import Batch, Offset
from tests.simulation.broken import BrokenInvariantError
from tests.simulation.log_model import Entry, LogModel
from tests.simulation.lossy_disk import LossyDisk

_RULES = ("LOG-13", "TEST-17")
_MANY_BYTES = 1 << 30


class Place(NamedTuple):
    """Where a batch is on the disk: the file, and the positions between which it lies there."""

    segment: str
    position: int
    end_position: int

    @property
    def checked_from(self) -> int:
        """Where the bytes begin that its checksum covers."""
        return self.position + CHECKED_FROM


class WrittenLog:
    """The log in a machine's files, through all its lives.

    `model` holds what was ordered to be there. It runs ahead of the files, and never behind them: whatever a crash
    leaves is a beginning of it. The batches that are known to be on the disk are counted by looking, byte by byte,
    and never taken from what the log or the core says.

    Args:
        files: of the machine.
        directory: the log's folder.
    """

    def __init__(self, files: LossyDisk, directory: str) -> None:
        self.model = LogModel()
        self._files = files
        self._directory = directory
        self._places: list[Place] = []

    @property
    def durable_end(self) -> Offset:
        """Everything below would outlive a power cut now."""
        return self.model.entries[len(self._places) - 1].header.end_offset if self._places else Offset(0)

    @property
    def has_rolled(self) -> bool:
        """Whether what is on the disk takes more than one file."""
        return len(self._places) > 1 and self._places[0].segment != self._places[-1].segment

    def places_below(self, end_offset: Offset) -> list[Place]:
        """Where the batches are that end at an offset or before it, and are on the disk."""
        batches = self.model.between(Offset(0), min(end_offset, self.durable_end))
        return self._places[: len(batches)]

    def append(self, batch: Batch) -> Entry:
        """A batch is about to be written: from now on it may be found."""
        return self.model.append(batch)

    def truncation_begun(self, end_offset: Offset) -> None:
        """A cut is about to be made: from now on what lies behind it may be gone."""
        while self._places and self.durable_end > end_offset:
            self._places.pop()

    def truncation_done(self, end_offset: Offset) -> None:
        """The cut is made: what lay behind it is not found again."""
        self.model.truncate(end_offset)

    def look(self) -> Offset:
        """Find out how far the log is on the disk; return that."""
        for entry in self.model.entries[len(self._places) :]:
            segment = f"{self._directory}/{entry.header.base_offset:020d}.log"
            position = 0
            if not self._files.has_survivor(segment):
                if not self._places:
                    break
                segment, _, position = self._places[-1]
            end_position = position + len(entry.payload)
            if self._files.survivor(segment)[position:end_position] != entry.payload:
                break
            self._places.append(Place(segment, position, end_position))
        return self.durable_end

    def reopen(self, log: Log) -> None:
        """Compare what a new life has found with what was written.

        Raises:
            BrokenInvariantError: something on the disk is gone, or something is there that nobody wrote.
        """
        found = log.end_offset
        durable_end, written_end = self.durable_end, self.model.end_offset
        if not durable_end <= found <= written_end or self.model.chain_at(found) is None:
            self._refuse(f"found up to {found}, where {durable_end} was durable and {written_end} written")
        self.model.truncate(found)
        if _content(log) != b"".join(entry.payload for entry in self.model.entries):
            self._refuse(f"found other bytes below {found} than were written")
        if self.look() != found:
            self._refuse(f"goes on with records up to {found}, of which those from {self.durable_end} on may vanish")

    def adopt(self, log: Log) -> None:
        """Take what a new life has found for what was written: somebody has been at the disk."""
        self.model, self._places = LogModel(), []
        for batch in split_batches(_content(log)):
            self.model.append(batch)
        self.look()

    def _refuse(self, detail: str) -> None:
        raise BrokenInvariantError("RecoveredLogMatchesWrites", _RULES, detail)


def _content(log: Log) -> bytes:
    pieces: list[bytes] = []
    offset = Offset(0)
    while offset < log.end_offset:
        pieces.append(log.read(offset, max_bytes=_MANY_BYTES, end_offset=log.end_offset))
        offset = split_batches(pieces[-1])[-1].header.end_offset
    return b"".join(pieces)
