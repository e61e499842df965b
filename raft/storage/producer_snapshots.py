"""The producer snapshots of a partition: a start takes the newest one instead of the writes below its offset.

Source: rule LOG-22; Kafka ProducerStateManager, LogFileUtils.producerSnapshotFile.
"""

from __future__ import annotations

import logging
import re

from raft.errors import DecodeError
from raft.storage.atomic_file import replace_file
from raft.storage.files import Files, join
from raft.storage.producer_snapshot import decode_producer_snapshot, encode_producer_snapshot
from raft.transactions import ProducerStateImage
from raft.types import Offset

_logger = logging.getLogger(__name__)

KEPT_SNAPSHOTS = 2
"""The newest one, and the one before it in case the newest is damaged."""

_SNAPSHOT_FILE = re.compile(r"([0-9]{20})\.snapshot")


class ProducerSnapshots:
    """The producer snapshots in a folder. One thread at a time uses them.

    Args:
        files: where the folder is.
        directory: the partition's folder.
    """

    def __init__(self, files: Files, directory: str) -> None:
        self._files = files
        self._directory = directory
        self.pinned: Offset | None = None
        """End offset of tables that are kept although newer ones follow: a snapshot of the log is made with them."""

    def write(self, image: ProducerStateImage, *, last_segment: Offset) -> None:
        """Store the tables, and return when they are on the disk; the files that a start may need are kept.

        Args:
            image: the tables.
            last_segment: the start of the last segment. After a crash a start reads that segment, and takes the newest
                tables below it.
        """
        replace_file(self._files, self._name(image.end_offset), encode_producer_snapshot(image))
        found = self._end_offsets()
        below = [end_offset for end_offset in found if end_offset <= last_segment]
        kept = {*found[-KEPT_SNAPSHOTS:], *below[-1:], self.pinned}
        for end_offset in found:
            if end_offset not in kept:
                self._files.remove(self._name(end_offset))

    def newest(self, *, at_most: Offset) -> ProducerStateImage | None:
        """Return the newest tables with an end offset of at most `at_most`, or None. A damaged file is ignored."""
        for end_offset in reversed(self._end_offsets()):
            if end_offset > at_most:
                continue
            name = self._name(end_offset)
            try:
                return decode_producer_snapshot(self._files.read(name), end_offset=end_offset)
            except DecodeError as error:
                _logger.warning("producer snapshot %s is ignored: %s", name, error)
        return None

    def at(self, end_offset: Offset) -> ProducerStateImage | None:
        """Return the tables with this end offset, or None."""
        found = self.newest(at_most=end_offset)
        return found if found is not None and found.end_offset == end_offset else None

    def remove_after(self, end_offset: Offset) -> None:
        """Remove the tables with batches from `end_offset` on, and return when that is done on the disk."""
        later = [found for found in self._end_offsets() if found > end_offset]
        for found in later:
            self._files.remove(self._name(found))
        if later:
            self._files.sync_directory(self._directory)

    def remove_all(self) -> None:
        """Remove all tables, and return when that is done on the disk."""
        self.remove_after(Offset(-1))

    def _end_offsets(self) -> list[Offset]:
        matches = map(_SNAPSHOT_FILE.fullmatch, self._files.names_in(self._directory))
        return [Offset(int(match[1])) for match in matches if match]

    def _name(self, end_offset: Offset) -> str:
        return join(self._directory, f"{end_offset:020d}.snapshot")
