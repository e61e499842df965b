"""Snapshots: each stands for the part of the log before its end offset.

    <topic>-<partition>/00000000000000002865-0000000003.checkpoint         whole: end offset, epoch of the record before
                        00000000000000002865-0000000003.checkpoint.part    being downloaded
                        00000000000000002865-0000000003.checkpoint.installing    whole, about to take the log's place

The last form is ours. While it is there, the log in the folder is the one from before the snapshot, or what is left of
it: its segments may lie before, around or behind the end of the snapshot, and nothing else tells them from the log that
follows it. So a crash at any moment is followed by the same end: the old log is removed, then the snapshot is named.

This project's nodes make none. An observer downloads one from a leader that has cut the start of its log.

Source: rules LOG-14 to LOG-16; Kafka Snapshots, FileRawSnapshotWriter.
"""

from __future__ import annotations

import re

from raft.storage.files import File, Files, join
from raft.types import Epoch, Offset, OffsetAndEpoch

PART_SUFFIX = ".part"

_INSTALLING_SUFFIX = ".installing"
_SNAPSHOT_FILE = re.compile(r"([0-9]{20})-([0-9]{10})\.checkpoint")
_INSTALLING_FILE = re.compile(_SNAPSHOT_FILE.pattern + r"\.installing")


class SnapshotFolder:
    """The snapshots of one partition. One thread at a time uses it.

    Args:
        files: where they lie.
        directory: the partition's folder.
    """

    def __init__(self, files: Files, directory: str) -> None:
        self._files = files
        self._directory = directory
        self._part: File | None = None

    def latest(self) -> OffsetAndEpoch | None:
        """The newest whole snapshot. The one at offset 0, which a cluster may be formatted with, stands for no log."""
        found = [snapshot for snapshot in self._snapshots(_SNAPSHOT_FILE) if snapshot.offset > 0]
        return max(found, key=lambda snapshot: snapshot.offset, default=None)

    def store_piece(self, snapshot: OffsetAndEpoch, position: int, piece: bytes) -> None:
        """Write the next piece of a snapshot; position 0 begins anew, and gives up another one that was begun."""
        if position == 0:
            self.close()
            self._part = self._files.create(self._name(snapshot) + PART_SUFFIX)
        part = self._part
        assert part is not None, "a snapshot begins at position 0"
        assert part.size_bytes == position, f"a piece at {position}, where {part.size_bytes} was next"
        part.append(piece)

    def begin_install(self, snapshot: OffsetAndEpoch) -> None:
        """Return when all pieces of a snapshot are on the disk, and that the log before it is to go."""
        assert self._part is not None, "it was begun"
        self._part.flush()
        self.close()
        name = self._name(snapshot)
        self._files.rename(name + PART_SUFFIX, name + _INSTALLING_SUFFIX)
        self._files.sync_directory(self._directory)

    def interrupted_install(self) -> OffsetAndEpoch | None:
        """The snapshot whose installation a crash interrupted, if any."""
        found = self._snapshots(_INSTALLING_FILE)
        return max(found, key=lambda snapshot: snapshot.offset, default=None)

    def finish_install(self, snapshot: OffsetAndEpoch) -> None:
        """Return when a snapshot stands on the disk under its own name; the log from before it is gone."""
        name = self._name(snapshot)
        self._files.rename(name + _INSTALLING_SUFFIX, name)
        self._files.sync_directory(self._directory)

    def remove_before(self, offset: Offset) -> None:
        """Take away the snapshots that end before an offset."""
        for snapshot in self._snapshots(_SNAPSHOT_FILE):
            if snapshot.offset < offset:
                self._files.remove(self._name(snapshot))

    def close(self) -> None:
        """Give up a snapshot that was begun and is not finished."""
        if self._part is not None:
            self._part.close()
            self._part = None

    def _snapshots(self, form: re.Pattern[str]) -> list[OffsetAndEpoch]:
        matches = map(form.fullmatch, self._files.names_in(self._directory))
        return [OffsetAndEpoch(offset=Offset(int(match[1])), epoch=Epoch(int(match[2]))) for match in matches if match]

    def _name(self, snapshot: OffsetAndEpoch) -> str:
        return join(self._directory, f"{snapshot.offset:020d}-{snapshot.epoch:010d}.checkpoint")
