"""Snapshots: each replaces the part of the log before its end offset.

    <topic>-<partition>/00000000000000002865-0000000003.checkpoint         whole: end offset, epoch of the record before
                        00000000000000002865-0000000003.checkpoint.part    being downloaded
                        00000000000000002865-0000000003.checkpoint.installing    whole, about to replace the log

Kafka does not have the last form. While a file with this name exists, the log in the folder is the old one, or a part
of it. Its segments may lie before, around or behind the end of the snapshot, and nothing else tells them from the new
log. So a start after a crash completes the installation: it removes the old log and then renames the snapshot.

The nodes of this project make no snapshots. An observer downloads one from a leader of Kafka's that has removed the
start of its log.

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
        files: where the folder is.
        directory: the partition's folder.
    """

    def __init__(self, files: Files, directory: str) -> None:
        self._files = files
        self._directory = directory
        self._part: File | None = None

    def latest(self) -> OffsetAndEpoch | None:
        """Return the newest whole snapshot, or None.

        A snapshot at offset 0, with which Kafka may format a cluster, replaces nothing and does not count.
        """
        found = [snapshot for snapshot in self._snapshots(_SNAPSHOT_FILE) if snapshot.offset > 0]
        return max(found, key=lambda snapshot: snapshot.offset, default=None)

    def store_piece(self, snapshot: OffsetAndEpoch, position: int, piece: bytes) -> None:
        """Write the next piece of a snapshot. A piece at position 0 begins a new download and ends another one.

        Args:
            snapshot: end offset and epoch.
            position: of the piece in the file: the size of the pieces before.
            piece: its bytes.
        """
        if position == 0:
            self.close()
            self._part = self._files.create(self._name(snapshot) + PART_SUFFIX)
        part = self._part
        assert part is not None, "a snapshot begins at position 0"
        assert part.size_bytes == position, f"piece at position {position}, expected {part.size_bytes}"
        part.append(piece)

    def begin_install(self, snapshot: OffsetAndEpoch) -> None:
        """Flush a whole snapshot and mark it as about to replace the log; return when that is on the disk."""
        assert self._part is not None, "its pieces were stored"
        self._part.flush()
        self.close()
        name = self._name(snapshot)
        self._files.rename(name + PART_SUFFIX, name + _INSTALLING_SUFFIX)
        self._files.sync_directory(self._directory)

    def interrupted_install(self) -> OffsetAndEpoch | None:
        """Return the snapshot whose installation was interrupted by a crash, or None."""
        found = self._snapshots(_INSTALLING_FILE)
        return max(found, key=lambda snapshot: snapshot.offset, default=None)

    def finish_install(self, snapshot: OffsetAndEpoch) -> None:
        """Give a snapshot its final name after the old log is removed; return when that is on the disk."""
        name = self._name(snapshot)
        self._files.rename(name + _INSTALLING_SUFFIX, name)
        self._files.sync_directory(self._directory)

    def remove_before(self, offset: Offset) -> None:
        """Remove the snapshots that end before an offset."""
        for snapshot in self._snapshots(_SNAPSHOT_FILE):
            if snapshot.offset < offset:
                self._files.remove(self._name(snapshot))

    def close(self) -> None:
        """End a download that is not complete."""
        if self._part is not None:
            self._part.close()
            self._part = None

    def _snapshots(self, form: re.Pattern[str]) -> list[OffsetAndEpoch]:
        matches = map(form.fullmatch, self._files.names_in(self._directory))
        return [OffsetAndEpoch(offset=Offset(int(match[1])), epoch=Epoch(int(match[2]))) for match in matches if match]

    def _name(self, snapshot: OffsetAndEpoch) -> str:
        return join(self._directory, f"{snapshot.offset:020d}-{snapshot.epoch:010d}.checkpoint")
