"""Checks the directory of a stopped node, and repairs what a start refuses to decide: the work of `kraft check`."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from functools import partial

from raft.errors import ConfigError, StorageError
from raft.storage.aborted_index import ABORTED_SUFFIX
from raft.storage.directory_lock import LOCK_FILE_NAME
from raft.storage.election_state import ELECTION_STATE_NAME, ElectionStateFile
from raft.storage.files import Files, join
from raft.storage.flushed_mark import FLUSHED_MARK_NAME, FlushedMark
from raft.storage.high_watermark import HIGH_WATERMARK_NAME, HighWatermarkCheckpoint
from raft.storage.log_check import Finding, LogCheck, LogFinding
from raft.storage.meta_properties import META_PROPERTIES_NAME, read_meta_properties
from raft.storage.recovery import segment_bases
from raft.storage.recovery_point import RECOVERY_POINT_NAME, RecoveryPoint
from raft.storage.segment import LOG_SUFFIX
from raft.storage.trusted_segments import TRUSTED_SEGMENTS_NAME, TrustedSegments

_NO_ELECTION_STATE = (
    "missing, although the log has records: unless it is the only one, a voter does not start, because it could vote "
    "twice in one epoch"
)
_PARTITION_FOLDER = re.compile(r"(.+)-([0-9]+)")


class DirectoryCheck:
    """The check of one log directory. It is locked meanwhile; `close` releases the lock.

    Args:
        files: the log directory.

    Raises:
        ConfigError: it is not the directory of a node, or the node runs.
    """

    def __init__(self, files: Files) -> None:
        if not files.exists("") or not files.exists(META_PROPERTIES_NAME):
            raise ConfigError(f"{files.path_of('')} is no log directory of a node, expected one with meta.properties")
        self._files = files
        self._lock = files.lock(LOCK_FILE_NAME)

    def close(self) -> None:
        """Release the lock."""
        self._lock.release()

    def findings(self) -> Iterator[Finding]:
        """Yield what is said of each file. No file is changed."""
        yield from self._readable(META_PROPERTIES_NAME, partial(read_meta_properties, self._files))
        for folder, topic, partition in self._partitions():
            name = join(folder, ELECTION_STATE_NAME)
            if not self._files.exists(name) and self._has_records(folder):
                yield Finding(name=name, state=LogFinding.LOST, detail=_NO_ELECTION_STATE)
            yield from self._readable(name, ElectionStateFile(self._files, name).read)
            name = join(folder, HIGH_WATERMARK_NAME)
            high_watermark = partial(HighWatermarkCheckpoint, self._files, name, topic=topic, partition=partition)
            yield from self._readable(name, high_watermark)
            name = join(folder, RECOVERY_POINT_NAME)
            try:
                recovery_point = RecoveryPoint(self._files, name, topic=topic, partition=partition).offset
            except StorageError as error:
                yield Finding(name=name, state=LogFinding.LOST, detail=str(error))
                continue
            yield Finding(name=name, state=LogFinding.SOUND, detail=f"everything below {recovery_point} was flushed")
            name = join(folder, FLUSHED_MARK_NAME)
            if self._files.exists(name) and FlushedMark(self._files, name).offsets is None:
                yield Finding(name=name, state=LogFinding.STALE, detail="damaged: the checkpoints say what was flushed")
            yield from LogCheck(self._files, folder, recovery_point).findings()

    def repair(self, findings: Sequence[Finding]) -> Iterator[str]:
        """Truncate logs that are damaged above the recovery point, and remove stale files; yield what was done.

        A log that has lost flushed records is not changed.

        Args:
            findings: of `findings`.
        """
        for folder, _, _ in self._partitions():
            of_folder = [each for each in findings if each.name.startswith(folder)]
            if any(each.state is LogFinding.LOST for each in of_folder):
                continue
            for each in of_folder:
                if each.state is LogFinding.STALE:
                    self._files.remove(each.name)
                    self._files.remove(join(folder, TRUSTED_SEGMENTS_NAME))
                    yield f"removed {self._files.path_of(each.name)}: the next start makes it again"
            unclear = [each for each in of_folder if each.state is LogFinding.UNCLEAR]
            if unclear:
                self._truncate(folder, unclear[0])
                yield (
                    f"truncated {self._files.path_of(unclear[0].name)} at byte {unclear[0].position}: the log ends at "
                    f"offset {unclear[0].end_offset} now"
                )

    def _truncate(self, folder: str, damaged: Finding) -> None:
        """Remove everything from the first damage on. The next start lowers the checkpoints."""
        assert damaged.position is not None, "a damaged segment has a position"
        assert damaged.end_offset is not None, "a damaged segment has an end offset"
        TrustedSegments(self._files, folder).retreat(damaged.end_offset)
        for base_offset in reversed(segment_bases(self._files, folder)):
            name = join(folder, f"{base_offset:020d}")
            if name + LOG_SUFFIX > damaged.name:
                for suffix in (LOG_SUFFIX, ".index", ".timeindex", ABORTED_SUFFIX):
                    self._files.remove(name + suffix)
        self._files.sync_directory(folder)
        file = self._files.open(damaged.name)
        try:
            file.truncate(damaged.position)
            file.flush()
        finally:
            file.close()

    def _partitions(self) -> list[tuple[str, str, int]]:
        """Return folder, topic and number of each partition."""
        matches = map(_PARTITION_FOLDER.fullmatch, self._files.names_in(""))
        return [(match[0], match[1], int(match[2])) for match in matches if match]

    def _has_records(self, folder: str) -> bool:
        """Whether a log has records, or has had some before a snapshot."""
        bases = segment_bases(self._files, folder)
        if not bases or bases[-1] > 0:
            return bool(bases)
        file = self._files.open(join(folder, f"{bases[0]:020d}{LOG_SUFFIX}"))
        try:
            return file.size_bytes > 0
        finally:
            file.close()

    def _readable(self, name: str, read: Callable[[], object]) -> Iterator[Finding]:
        if self._files.exists(name):
            try:
                read()
            except StorageError as error:
                yield Finding(name=name, state=LogFinding.LOST, detail=str(error))
            else:
                yield Finding(name=name, state=LogFinding.SOUND, detail="readable")
