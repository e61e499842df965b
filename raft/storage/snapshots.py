"""Snapshots: each replaces the part of the log before its end offset.

    <topic>-<partition>/00000000000000002865-0000000003.checkpoint         whole: end offset, epoch of the record before
                        00000000000000002865-0000000003.checkpoint.offsets    where its records are
                        00000000000000002865-0000000003.checkpoint.making  being made from the log of this node
                        00000000000000002865-0000000003.checkpoint.part    being downloaded
                        00000000000000002865-0000000003.checkpoint.installing    whole, about to replace the log

Kafka does not have the last form. While a file with this name exists, the log in the folder is the old one, or a part
of it. Its segments may lie before, around or after the end of the snapshot, and nothing else tells them from the new
log. So a start after a crash completes the installation: it removes the old log and then renames the snapshot.

A snapshot gets its final name only after it was read from its begin to its end: it is never taken torn or damaged.

Source: rules LOG-14 to LOG-16; Kafka Snapshots, FileRawSnapshotWriter.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Generator, Iterator
from contextlib import contextmanager

from raft.errors import CorruptBatchError, DecodeError, DiskFullError
from raft.snapshots import SnapshotContents, SnapshotIndex, SnapshotScan
from raft.snapshots.offset_index import INDEX_SUFFIX
from raft.storage.atomic_file import replace_file
from raft.storage.compacted_records import CompactedRecords
from raft.storage.files import File, Files, join
from raft.transactions import SnapshotSummary
from raft.types import LOG_BEGIN, Epoch, Offset, OffsetAndEpoch

_logger = logging.getLogger(__name__)

PART_SUFFIX = ".part"
MAKING_SUFFIX = ".making"

_READ_BYTES = 1 << 20
_MOST_SERVED = 4
INSTALLING_SUFFIX = ".installing"
_SNAPSHOT_FILE = re.compile(r"([0-9]{20})-([0-9]{10})\.checkpoint")
_INSTALLING_FILE = re.compile(_SNAPSHOT_FILE.pattern + r"\.installing")
_INDEX_FILE = re.compile(_SNAPSHOT_FILE.pattern + r"\.offsets")


class SnapshotFolder:
    """The snapshots of one partition. One thread at a time uses it, but several may read whole snapshots.

    Args:
        files: where the folder is.
        directory: the partition's folder.
    """

    def __init__(self, files: Files, directory: str) -> None:
        self._files = files
        self.directory = directory
        self._part: File | None = None
        self._scan = SnapshotScan(LOG_BEGIN)
        self._damage: DecodeError | None = None
        self._served: dict[OffsetAndEpoch, File] = {}

    # Whole snapshots

    def whole(self) -> list[OffsetAndEpoch]:
        """Return the whole snapshots in the order of their offsets.

        A snapshot at offset 0, with which Kafka may format a cluster, replaces nothing and does not count.
        """
        found = [snapshot for snapshot in self._named(_SNAPSHOT_FILE) if snapshot.offset > 0]
        return sorted(found, key=lambda snapshot: snapshot.offset)

    def newest(self) -> OffsetAndEpoch | None:
        """Return the newest whole snapshot, or None."""
        return self.whole()[-1] if self.whole() else None

    def has(self, snapshot: OffsetAndEpoch) -> bool:
        """Whether there is this whole snapshot."""
        return self._files.exists(self.name_of(snapshot))

    def size_bytes(self, snapshot: OffsetAndEpoch) -> int:
        """Return the size of a whole snapshot."""
        file = self._files.open(self.name_of(snapshot))
        try:
            return file.size_bytes
        finally:
            file.close()

    def path_of(self, snapshot: OffsetAndEpoch) -> str:
        """Return the path of a snapshot's file, for the operator and for tools."""
        return self._files.path_of(self.name_of(snapshot))

    def serve(self, snapshot: OffsetAndEpoch) -> File | None:
        """Return the file of a whole snapshot, to be read by a replica piece by piece; None if there is none.

        The last ones stay open. So a replica can load one to its end, although newer ones have replaced it meanwhile.
        """
        file = self._served.pop(snapshot, None)
        if file is None:
            if not self.has(snapshot):
                return None
            file = self._files.open(self.name_of(snapshot))
        self._served[snapshot] = file
        if len(self._served) > _MOST_SERVED:
            self._served.pop(next(iter(self._served))).close()
        return file

    def summary(self, snapshot: OffsetAndEpoch) -> SnapshotSummary:
        """Return the state in a whole snapshot; its records are not read.

        Raises:
            CorruptBatchError: it is damaged; names the file.
        """
        name = self.name_of(snapshot)
        scan = SnapshotScan(snapshot)
        with self._damage_named(name):
            for piece in self._pieces(name):
                scan.feed(piece)
                if scan.is_past_state:
                    break
            return scan.summary()

    def check(self, snapshot: OffsetAndEpoch, *, piece_bytes: int = _READ_BYTES) -> Generator[int, None, None]:
        """Read a whole snapshot from its begin to its end.

        Args:
            snapshot: the snapshot. It may be removed while it is read.
            piece_bytes: how much is read at once.

        Yields:
            The bytes of each piece that was read.

        Raises:
            CorruptBatchError: it is damaged; names the file.
        """
        yield from self._scanned(self.name_of(snapshot), snapshot, piece_bytes)

    def log_time_ms(self, snapshot: OffsetAndEpoch) -> int:
        """Return the log time at the end of a whole snapshot; see `summary`."""
        return self.summary(snapshot).producers.writers.log_time_ms

    def compacted(self, snapshot: OffsetAndEpoch) -> CompactedRecords:
        """Return the records of a whole snapshot, for readers.

        Raises:
            CorruptBatchError: it is damaged; names the file.
        """
        name = self.name_of(snapshot)
        try:
            content = self._files.read(name + INDEX_SUFFIX) if self._files.exists(name + INDEX_SUFFIX) else b""
            index = SnapshotIndex.from_bytes(content, snapshot_bytes=self.size_bytes(snapshot))
        except DecodeError:
            # It is missing or damaged, and follows from the snapshot.
            index = self._make_index(name, snapshot)
        return CompactedRecords(self._files, name, snapshot, index)

    def remove_before(self, offset: Offset) -> None:
        """Remove the snapshots that end before an offset, and the indexes of snapshots that do not exist."""
        for snapshot in self.whole():
            if snapshot.offset < offset:
                self._files.remove(self.name_of(snapshot))
        for snapshot in self._named(_INDEX_FILE):
            if not self.has(snapshot):
                self._files.remove(self.name_of(snapshot) + INDEX_SUFFIX)

    def remove(self, snapshot: OffsetAndEpoch) -> None:
        """Remove a whole snapshot and its index, and return when that is on the disk."""
        self._files.remove(self.name_of(snapshot))
        self._files.remove(self.name_of(snapshot) + INDEX_SUFFIX)
        self._files.sync_directory(self.directory)

    # Snapshots of this node's log

    def create(self, snapshot: OffsetAndEpoch) -> File:
        """Create the file of a snapshot that is made from the log; `index_made` comes when it is written."""
        return self._files.create(self.name_of(snapshot) + MAKING_SUFFIX)

    def check_made(self, snapshot: OffsetAndEpoch) -> Generator[int, None, None]:
        """Read the file that was made from its begin to its end, and write its index.

        Raises:
            CorruptBatchError: it is not as it was written.
        """
        name = self.name_of(snapshot)
        contents = yield from self._scanned(name + MAKING_SUFFIX, snapshot)
        self._write_index(name, contents)

    def finish_made(self, snapshot: OffsetAndEpoch) -> None:
        """Give a snapshot that was made its final name; return when that is on the disk."""
        name = self.name_of(snapshot)
        self._files.rename(name + MAKING_SUFFIX, name)
        self._files.sync_directory(self.directory)

    def remove_making(self, snapshot: OffsetAndEpoch) -> None:
        """Remove the file of a snapshot that was not made to its end."""
        self._files.remove(self.name_of(snapshot) + MAKING_SUFFIX)

    # Snapshots of other nodes

    def store_piece(self, snapshot: OffsetAndEpoch, position: int, piece: bytes) -> None:
        """Write the next piece of a snapshot. A piece at position 0 begins a new download and ends another one.

        Args:
            snapshot: end offset and epoch.
            position: of the piece in the file: the size of the pieces before.
            piece: its bytes.

        Raises:
            DiskFullError: the disk has no room for the piece; the call may be repeated.
        """
        if position == 0:
            self._end_download()
            self._part = self._files.create(self.name_of(snapshot) + PART_SUFFIX)
            self._scan, self._damage = SnapshotScan(snapshot), None
        part = self._part
        assert part is not None, "a snapshot begins at position 0"
        assert part.size_bytes == position, f"piece at position {position}, expected {part.size_bytes}"
        try:
            part.append(piece)
        except DiskFullError:
            part.truncate(position)
            raise
        if self._damage is None:
            try:
                self._scan.feed(piece)
            except DecodeError as error:
                self._damage = error

    def check_part(self, snapshot: OffsetAndEpoch) -> SnapshotSummary | None:
        """Return the state in a snapshot whose pieces were all stored, and write its index.

        Returns:
            None if it is torn or damaged; the reason is logged.
        """
        try:
            if self._damage is not None:
                raise self._damage
            contents = self._scan.finish()
        except DecodeError as error:
            path = self._files.path_of(self.name_of(snapshot) + PART_SUFFIX)
            _logger.warning("snapshot %s is not used: %s", path, error)
            return None
        self._write_index(self.name_of(snapshot), contents)
        return contents.summary

    def begin_install(self, snapshot: OffsetAndEpoch) -> None:
        """Flush a whole snapshot and mark it as about to replace the log; return when that is on the disk."""
        if self.interrupted_install() == snapshot:
            return  # An earlier call has done this, and the disk had no room for what follows.
        assert self._part is not None, "its pieces were stored"
        self._part.flush()
        self._end_download()
        name = self.name_of(snapshot)
        self._files.rename(name + PART_SUFFIX, name + INSTALLING_SUFFIX)
        self._files.sync_directory(self.directory)

    def interrupted_install(self) -> OffsetAndEpoch | None:
        """Return the snapshot whose installation was interrupted by a crash, or None."""
        found = self._named(_INSTALLING_FILE)
        return max(found, key=lambda snapshot: snapshot.offset, default=None)

    def finish_install(self, snapshot: OffsetAndEpoch) -> None:
        """Give a snapshot its final name after the old log is removed; return when that is on the disk."""
        name = self.name_of(snapshot)
        self._files.rename(name + INSTALLING_SUFFIX, name)
        self._files.sync_directory(self.directory)

    def close(self) -> None:
        """End a download that is not complete, and close all files."""
        self._end_download()
        for file in self._served.values():
            file.close()
        self._served.clear()

    def _end_download(self) -> None:
        if self._part is not None:
            self._part.close()
            self._part = None

    def _make_index(self, name: str, snapshot: OffsetAndEpoch) -> SnapshotIndex:
        with self._damage_named(name):
            scan = SnapshotScan(snapshot)
            for piece in self._pieces(name):
                scan.feed(piece)
            contents = scan.finish()
        self._write_index(name, contents)
        return contents.index

    def _scanned(
        self, name: str, snapshot: OffsetAndEpoch, piece_bytes: int = _READ_BYTES
    ) -> Generator[int, None, SnapshotContents]:
        scan = SnapshotScan(snapshot)
        with self._damage_named(name):
            for piece in self._pieces(name, piece_bytes):
                scan.feed(piece)
                yield len(piece)
            return scan.finish()

    def _pieces(self, name: str, piece_bytes: int = _READ_BYTES) -> Iterator[bytes]:
        file = self._files.open(name)
        try:
            position = 0
            while piece := file.read(position, piece_bytes):
                yield piece
                position += len(piece)
        finally:
            file.close()

    @contextmanager
    def _damage_named(self, name: str) -> Iterator[None]:
        try:
            yield
        except DecodeError as error:
            path = self._files.path_of(name)
            raise CorruptBatchError(f"{path} is damaged: {error}", path=path) from error

    def _write_index(self, name: str, contents: SnapshotContents) -> None:
        content = contents.index.to_bytes(snapshot_bytes=contents.size_bytes)
        try:
            replace_file(self._files, name + INDEX_SUFFIX, content)
        except DiskFullError as error:
            _logger.warning("%s; the index is made again when the snapshot is opened", error)

    def _named(self, form: re.Pattern[str]) -> list[OffsetAndEpoch]:
        matches = map(form.fullmatch, self._files.names_in(self.directory))
        return [OffsetAndEpoch(offset=Offset(int(match[1])), epoch=Epoch(int(match[2]))) for match in matches if match]

    def name_of(self, snapshot: OffsetAndEpoch) -> str:
        """Return the name of the file of a whole snapshot."""
        return join(self.directory, f"{snapshot.offset:020d}-{snapshot.epoch:010d}.checkpoint")
