"""Bugs of the storage: flushes, truncation and recovery."""

from __future__ import annotations

import pytest

from raft.errors import StorageError
from raft.storage import election_state
from raft.storage.atomic_file import replace_file
from raft.storage.directory import ReplicaDirectory
from raft.storage.files import Files
from raft.storage.log import Log
from raft.storage.offset_checkpoint import OffsetCheckpoint
from raft.storage.recovery import Recovery
from raft.storage.recovery_point import RecoveryPoint
from raft.storage.segment import Segment
from raft.storage.stored_epochs import StoredEpochs
from raft.types import Offset
from tests.memory_files.files import MemoryFiles
from tests.simulation.mutations.mutation import mutation, switched_off


@mutation(breaks=("STATE-4",), caught_by=("StoredBeforeSent", "RoleIsStored"))
def election_state_not_flushed(patch: pytest.MonkeyPatch) -> None:
    """The election state file is renamed before its bytes are flushed."""

    def replace_unflushed(files: Files, name: str, content: bytes) -> None:
        file = files.create(name)
        file.append(content)
        file.close()

    patch.setattr(election_state, "replace_file", replace_unflushed)


@mutation(breaks=("STATE-4",), caught_by=("StoredBeforeSent", "RoleIsStored", "NodesRestart"))
def directory_not_flushed_after_rename(patch: pytest.MonkeyPatch) -> None:
    """The directory is not flushed after the rename of the election state file: a crash brings the old one back."""

    def replace_without_directory_flush(files: Files, name: str, content: bytes) -> None:
        with switched_off(MemoryFiles, "sync_directory"):
            replace_file(files, name, content)

    patch.setattr(election_state, "replace_file", replace_without_directory_flush)


@mutation(breaks=("LOG-6",), caught_by=("FlushedIsDurable",))
def flush_does_nothing(patch: pytest.MonkeyPatch) -> None:
    """A flush returns without flushing the file."""
    patch.setattr(Segment, "flush", lambda _segment: None)


@mutation(breaks=("LOG-6", "LOG-14"), caught_by=("FlushedIsDurable",))
def full_segment_not_flushed(patch: pytest.MonkeyPatch) -> None:
    """A new segment is started before the full one is flushed, and later flushes cover the new one only."""
    roll = Log._roll

    def roll_unflushed(log: Log) -> None:
        with switched_off(Segment, "flush"):
            roll(log)

    patch.setattr(Log, "_roll", roll_unflushed)


@mutation(breaks=("DIVERGE-6", "LOG-6"), caught_by=("RecoveredLogMatchesWrites", "LogsMatch", "DamagedLogIsRefused"))
def truncation_not_flushed(patch: pytest.MonkeyPatch) -> None:
    """A truncation is not flushed before records are appended behind it: a crash brings the old ones back."""
    patch.setattr(Segment, "truncate_file", lambda segment, size_bytes: segment._file.truncate(size_bytes))


@mutation(breaks=("LOG-13",), caught_by=("NodesRestart",))
def recovery_point_not_lowered_by_truncation(patch: pytest.MonkeyPatch) -> None:
    """The recovery point stays above a truncation, so records count as flushed that were not."""
    patch.setattr(RecoveryPoint, "retreat", lambda _point, _end_offset: None)


@mutation(breaks=("LOG-32",), caught_by=("NodesRestart",))
def mark_written_before_the_flush(patch: pytest.MonkeyPatch) -> None:
    """The mark says that records are flushed before they are, so a power cut leaves a log that ends below it."""
    flush = ReplicaDirectory.flush

    def mark_and_flush(directory: ReplicaDirectory) -> Offset:
        directory._recovery_point.flushed(directory.log.end_offset, directory.committed_offset)
        return flush(directory)

    patch.setattr(ReplicaDirectory, "flush", mark_and_flush)


@mutation(breaks=("LOG-32",), caught_by=("NodesRestart",))
def mark_not_lowered_by_truncation(patch: pytest.MonkeyPatch) -> None:
    """A truncation lowers the checkpoint, and the mark stays above it."""
    patch.setattr(RecoveryPoint, "retreat", OffsetCheckpoint.retreat)


@mutation(breaks=("LOG-32",), caught_by=("DamagedLogIsRefused",))
def mark_not_read(patch: pytest.MonkeyPatch) -> None:
    """A start takes the recovery point of the checkpoint, and truncates what was flushed after it and is damaged."""
    patch.setattr(RecoveryPoint, "_marked", None)


@mutation(breaks=("LOG-13",), caught_by=("DamagedLogIsRefused",))
def damage_below_the_recovery_point_truncated(patch: pytest.MonkeyPatch) -> None:
    """A start truncates damaged records below the recovery point, like a torn write, instead of refusing."""
    patch.setattr(Recovery, "_check_nothing_is_lost", lambda _recovery, _damage: None)


@mutation(breaks=("LOG-19",), caught_by=("DamagedLogIsRefused",))
def damage_before_whole_batches_truncated(patch: pytest.MonkeyPatch) -> None:
    """A start truncates damage above the recovery point, although whole batches follow it."""
    patch.setattr(Recovery, "_check_nothing_follows", lambda _recovery, _damage, _later: None)


@mutation(breaks=("LOG-13", "LOG-6"), caught_by=("RecoveredLogMatchesWrites",))
def recovered_log_not_flushed(patch: pytest.MonkeyPatch) -> None:
    """A start counts recovered records as durable, although they may be in the page cache only."""
    settle = Recovery._settle

    def settle_unflushed(recovery: Recovery) -> None:
        with switched_off(Segment, "flush"):
            settle(recovery)

    patch.setattr(Recovery, "_settle", settle_unflushed)


@mutation(breaks=("LOG-2", "LOG-13", "FETCH-24"), caught_by=("LogsMatch", "DamagedLogIsRefused"))
def checksum_not_checked(patch: pytest.MonkeyPatch) -> None:
    """The checksums of batches are not checked."""
    patch.setattr("raft.records.batches.check_crc", lambda _buffer, _position, _size_bytes: None)


@mutation(breaks=("LOG-10",), caught_by=("EpochCheckpointMatchesLog",))
def epoch_checkpoint_not_written(patch: pytest.MonkeyPatch) -> None:
    """A flush does not write the leader-epoch-checkpoint."""

    patch.setattr(StoredEpochs, "store", lambda _stored, _epochs: None)


@mutation(breaks=("LOG-17",), caught_by=("NoDiskCallsAfterAnError",))
def failed_flush_retried(patch: pytest.MonkeyPatch) -> None:
    """A flush that failed is retried, and counts as done if the retry succeeds."""
    flush = Segment.flush

    def flush_with_retry(segment: Segment) -> None:
        try:
            flush(segment)
        except StorageError:
            flush(segment)

    patch.setattr(Segment, "flush", flush_with_retry)
