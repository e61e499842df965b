"""The log that was written to a disk, and which part of it is durable."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from raft.records.batches import read_batches
from raft.records.header_fields import CHECKED_FROM
from raft.storage.log import Log
from raft.types import Batch, Offset
from tests.simulation.broken import BrokenInvariantError
from tests.simulation.log_model import Entry, LogModel
from tests.simulation.lossy_disk import LossyDisk

_RULES = ("LOG-13", "TEST-17")
_MANY_BYTES = 1 << 30


class Place(NamedTuple):
    """The place of a batch on the disk: a file, and the positions of its bytes."""

    segment: str
    position: int
    end_position: int

    @property
    def checked_from(self) -> int:
        """The position of the first byte that the checksum covers."""
        return self.position + CHECKED_FROM


_IN_SNAPSHOT = Place("", 0, 0)
"""The place of a batch that a snapshot stands for."""


class LogOnDisk:
    """The log in a machine's files, through all restarts.

    `model` holds the batches that were ordered to be written, and those that a snapshot stands for. It is never behind
    the files: what a crash leaves is a prefix of it. Which batches are durable is found by comparing the bytes on the
    disk, and never taken from the log or the core.

    Args:
        files: the disk of the machine.
        directory: the directory of the log.
    """

    def __init__(self, files: LossyDisk, directory: str) -> None:
        self.model = LogModel()
        self._files = files
        self._directory = directory
        self._places: list[Place] = []
        self._installing: Sequence[Entry] | None = None

    @property
    def durable_end(self) -> Offset:
        """Everything below would survive a power cut now."""
        return self.model.entries[len(self._places) - 1].header.end_offset if self._places else Offset(0)

    @property
    def has_rolled(self) -> bool:
        """Whether the durable log has more than one segment."""
        return len(self._places) > 1 and self._places[0].segment != self._places[-1].segment

    def _has_file(self, place: Place) -> bool:
        """Whether the bytes at a place are in a file: no snapshot has replaced them."""
        return bool(place.segment) and self._files.is_durable(place.segment)

    def places_below(self, end_offset: Offset) -> list[Place]:
        """Return the places of the durable batches that end at or below an offset."""
        batches = self.model.between(Offset(0), min(end_offset, self.durable_end))
        return [place for place in self._places[: len(batches)] if self._has_file(place)]

    def append(self, batch: Batch) -> Entry:
        """Add a batch before it is written: from now on a restart may find it."""
        return self.model.append(batch)

    def truncation_begun(self, end_offset: Offset) -> None:
        """Note that a truncation begins: from now on the batches above `end_offset` may be gone."""
        while self._places and self.durable_end > end_offset:
            self._places.pop()

    def truncation_done(self, end_offset: Offset) -> None:
        """Note that a truncation is done: a restart does not find the batches above `end_offset` again."""
        self.model.truncate(end_offset)

    def install_begun(self, entries: Sequence[Entry]) -> None:
        """Note that a snapshot begins to replace the log: from now on a restart may find either.

        Args:
            entries: the batches that the snapshot stands for.
        """
        self._installing = entries

    def install_done(self) -> None:
        """Note that a snapshot has replaced the log: a restart does not find the old one again."""
        assert self._installing is not None, "an installation was begun"
        self.model, self._places = LogModel(), []
        for entry in self._installing:
            self.model.add(entry)
            self._places.append(_IN_SNAPSHOT)
        self._installing = None

    def find_durable_end(self) -> Offset:
        """Find the durable end of the log from the bytes on the disk, and return it."""
        for entry in self.model.entries[len(self._places) :]:
            segment = f"{self._directory}/{entry.header.base_offset:020d}.log"
            position = 0
            if not self._files.is_durable(segment):
                if not self._places or self._places[-1] is _IN_SNAPSHOT:
                    break
                segment, _, position = self._places[-1]
            end_position = position + len(entry.payload)
            if self._files.durable_bytes(segment)[position:end_position] != entry.payload:
                break
            self._places.append(Place(segment, position, end_position))
        return self.durable_end

    def is_as_written(self, start_offset: Offset, end_offset: Offset) -> bool:
        """Whether the durable bytes of the batches in a range are those that were written."""
        return all(
            self._files.durable_bytes(place.segment)[place.position : place.end_position] == entry.payload
            for entry, place in zip(self.model.entries, self._places, strict=False)
            if start_offset <= entry.header.base_offset < end_offset and self._has_file(place)
        )

    def reopen(self, log: Log) -> None:
        """Compare the recovered log with what was written.

        Raises:
            BrokenInvariantError: durable bytes are missing, or there are bytes that were not written.
        """
        if self._installing is not None:
            end_offset = self._installing[-1].header.end_offset
            if log.start_offset == log.end_offset == end_offset:
                self.install_done()
            self._installing = None
        found = log.end_offset
        durable_end, written_end = self.durable_end, self.model.end_offset
        if not durable_end <= found <= written_end or self.model.chain_at(found) is None:
            self._refuse(f"recovered up to {found}, where {durable_end} was durable and {written_end} written")
        self.model.truncate(found)
        if _content(log) != b"".join(entry.payload for entry in self.model.after(log.start_offset)):
            self._refuse(f"the bytes below {found} differ from the written ones")
        if self.find_durable_end() != found:
            self._refuse(f"recovered up to {found}, but only {self.durable_end} is durable")

    def adopt(self, log: Log) -> None:
        """Take the recovered log as the written one, after the disk was changed from outside."""
        self.model, self._places = LogModel(), []
        assert log.start_offset == 0, "a log that was cut is not changed by hand"
        for batch in read_batches(_content(log)):
            self.model.append(batch)
        self.find_durable_end()

    def _refuse(self, detail: str) -> None:
        raise BrokenInvariantError("RecoveredLogMatchesWrites", _RULES, detail)


def _content(log: Log) -> bytes:
    pieces: list[bytes] = []
    offset = log.start_offset
    while offset < log.end_offset:
        pieces.append(log.read(offset, max_bytes=_MANY_BYTES, end_offset=log.end_offset))
        offset = list(read_batches(pieces[-1]))[-1].header.end_offset
    return b"".join(pieces)
