"""Whether the files of a backup are whole and follow each other. They are checked piece by piece."""

from __future__ import annotations

import re

from raft.errors import DecodeError
from raft.records.batches import read_headers
from raft.records.header_fields import HEADER, batch_size_bytes
from raft.snapshots import SnapshotScan
from raft.types import LARGEST_BATCH_BYTES, LOG_BEGIN, Epoch, Offset, OffsetAndEpoch

_SEGMENT = re.compile(r"(\d{20})\.log")
_SNAPSHOT = re.compile(r"(\d{20})-(\d{10})\.checkpoint")


def segment_name(base_offset: Offset) -> str:
    """Return the name of a segment."""
    return f"{base_offset:020d}.log"


def snapshot_name(snapshot: OffsetAndEpoch) -> str:
    """Return the name of a snapshot."""
    return f"{snapshot.offset:020d}-{snapshot.epoch:010d}.checkpoint"


class BackupCheck:
    """Checks the files of a backup, in their order: a snapshot or none, then the segments.

    Attributes:
        end: where the files so far end, and the epoch of the last record.
        has_compacted_records: whether the snapshot holds records, as only `cleanup.policy=compact` keeps them.
    """

    def __init__(self) -> None:
        self.end = LOG_BEGIN
        self.has_compacted_records = False
        self._scan: SnapshotScan | None = None
        self._snapshot: OffsetAndEpoch | None = None
        self._is_first = True
        self._unread = bytearray()
        self._position = 0
        self._left = 0

    @property
    def position(self) -> int:
        """Where the batch begins, in the present file, that is read next; after an error, the one that is damaged."""
        return self._position if self._scan is None else self._scan.position

    def begin(self, name: str, size: int) -> None:
        """Begin the next file.

        Raises:
            DecodeError: it is not the one that follows.
        """
        self._unread.clear()
        self._position, self._left, self._scan = 0, size, None
        is_first, self._is_first = self._is_first, False
        snapshot, segment = _SNAPSHOT.fullmatch(name), _SEGMENT.fullmatch(name)
        if snapshot and is_first:
            self._snapshot = OffsetAndEpoch(offset=Offset(int(snapshot[1])), epoch=Epoch(int(snapshot[2])))
            self._scan = SnapshotScan(self._snapshot)
        elif segment is None or int(segment[1]) != self.end.offset:
            raise DecodeError(f"expected the segment {segment_name(self.end.offset)}")

    def feed(self, piece: bytes) -> None:
        """Check the next bytes of the present file, which may end within a batch.

        Raises:
            DecodeError: a batch is damaged, or does not follow the one before.
        """
        if self._scan is not None:
            self._scan.feed(piece)
            return
        self._unread += piece
        size = batch_size_bytes(bytes(self._unread[: HEADER.size]))
        if size is not None and size > self._left:
            raise DecodeError(f"batch of {size} bytes, and {self._left} are left in the file")
        if size is not None and size > LARGEST_BATCH_BYTES:
            raise DecodeError(f"batch of {size} bytes, expected at most {LARGEST_BATCH_BYTES}")
        if size is None or size > len(self._unread):
            return
        start = self._position
        for header in read_headers(bytes(self._unread)):
            if header.base_offset != self.end.offset or header.epoch < self.end.epoch:
                raise DecodeError(
                    f"batch at offset {header.base_offset} of epoch {header.epoch}, expected offset {self.end.offset} "
                    f"of epoch {self.end.epoch} or later"
                )
            self.end = OffsetAndEpoch(offset=header.end_offset, epoch=header.epoch)
            self._position += header.size_bytes
            self._left -= header.size_bytes
        del self._unread[: self._position - start]

    def finish(self) -> None:
        """End the present file.

        Raises:
            DecodeError: it is incomplete.
        """
        if self._scan is not None:
            contents = self._scan.finish()
            self.has_compacted_records = not contents.index.is_empty
            assert self._snapshot is not None, "a scan is that of a snapshot"
            self.end = self._snapshot
        elif self._unread:
            raise DecodeError(f"batch is incomplete: {len(self._unread)} bytes are left")
