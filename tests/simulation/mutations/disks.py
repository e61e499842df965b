"""Bugs of the storage: what lasts, what is believed to, and what a crash leaves."""

from __future__ import annotations

import pytest

from raft.errors import StorageError
from raft.storage import election_state
from raft.storage.atomic_file import replace_file
from raft.storage.files import Files
from raft.storage.log import Log
from raft.storage.recovery import Recovery
from raft.storage.recovery_point import RecoveryPoint
from raft.storage.segment import Segment
from tests.memory_files.files import MemoryFiles
from tests.simulation.mutations.mutation import mutation, switched_off


@mutation(breaks=("STATE-4",), caught_by=("StoredBeforeSent", "RoleIsStored"))
def election_state_not_flushed(patch: pytest.MonkeyPatch) -> None:
    """The file of the election state gets its name before its bytes are on the disk."""

    def replace_unflushed(files: Files, name: str, content: bytes) -> None:
        file = files.create(name)
        file.append(content)
        file.close()

    patch.setattr(election_state, "replace_file", replace_unflushed)


@mutation(breaks=("STATE-4",), caught_by=("StoredBeforeSent", "RoleIsStored", "NodesRestart"))
def folder_not_flushed_after_rename(patch: pytest.MonkeyPatch) -> None:
    """The new election state is on the disk, but its name is not: after a crash the old file is there."""

    def replace_without_folder(files: Files, name: str, content: bytes) -> None:
        with switched_off(MemoryFiles, "sync_directory"):
            replace_file(files, name, content)

    patch.setattr(election_state, "replace_file", replace_without_folder)


@mutation(breaks=("LOG-6",), caught_by=("FlushedIsDurable",))
def flush_that_does_nothing(patch: pytest.MonkeyPatch) -> None:
    """A flush says that it is done, and has not asked the disk."""
    patch.setattr(Segment, "flush", lambda _segment: None)


@mutation(breaks=("LOG-6", "LOG-14"), caught_by=("FlushedIsDurable",))
def full_segment_not_flushed(patch: pytest.MonkeyPatch) -> None:
    """A new segment is begun while the full one is not on the disk; later flushes look at the new one only."""
    roll = Log._roll

    def roll_unflushed(log: Log) -> None:
        with switched_off(Segment, "flush"):
            roll(log)

    patch.setattr(Log, "_roll", roll_unflushed)


@mutation(breaks=("DIVERGE-6", "LOG-6"), caught_by=("RecoveredLogMatchesWrites", "LogsMatch", "DamagedLogIsRefused"))
def cut_not_flushed(patch: pytest.MonkeyPatch) -> None:
    """A truncation is not on the disk when new records are written behind it: a crash brings the old ones back."""
    patch.setattr(Segment, "truncate_file", lambda segment, size_bytes: segment._file.truncate(size_bytes))


@mutation(breaks=("LOG-13",), caught_by=("NodesRestart",))
def recovery_point_not_taken_back(patch: pytest.MonkeyPatch) -> None:
    """The recovery point stays above a truncation, and vouches for records that were never flushed."""
    patch.setattr(RecoveryPoint, "retreat", lambda _point, _end_offset: None)


@mutation(breaks=("LOG-13",), caught_by=("DamagedLogIsRefused",))
def damage_cut_off_like_a_torn_write(patch: pytest.MonkeyPatch) -> None:
    """A node that finds flushed records damaged cuts its log there, and goes on as if it had never had them."""
    patch.setattr(Recovery, "_check_nothing_is_lost", lambda _recovery, _damage: None)


@mutation(breaks=("LOG-19",), caught_by=("DamagedLogIsRefused",))
def damage_cut_off_though_whole_batches_follow(patch: pytest.MonkeyPatch) -> None:
    """A node that finds damage above its recovery point cuts its log there without a look at what follows."""
    patch.setattr(Recovery, "_check_nothing_follows", lambda _recovery, _damage, _later: None)


@mutation(breaks=("LOG-13", "LOG-6"), caught_by=("RecoveredLogMatchesWrites",))
def recovered_log_not_flushed(patch: pytest.MonkeyPatch) -> None:
    """A node that starts counts as durable what it finds in its files, though only the cache may hold it."""
    settle = Recovery._settle

    def settle_unflushed(recovery: Recovery) -> None:
        with switched_off(Segment, "flush"):
            settle(recovery)

    patch.setattr(Recovery, "_settle", settle_unflushed)


@mutation(breaks=("LOG-2", "LOG-13", "FETCH-24"), caught_by=("LogsMatch", "DamagedLogIsRefused"))
def checksum_not_looked_at(patch: pytest.MonkeyPatch) -> None:
    """Batches are believed whatever their checksum says."""
    patch.setattr("raft.records.split.check_crc", lambda _buffer, _position, _size_bytes: None)


@mutation(breaks=("LOG-10",), caught_by=("EpochCheckpointMatchesLog",))
def epochs_not_written(patch: pytest.MonkeyPatch) -> None:
    """A flush leaves the file of epochs as it was."""

    def keep_in_mind(log: Log, epochs: object) -> None:
        log._epochs_on_disk = log._epochs

    patch.setattr(Log, "_store_epochs", keep_in_mind)


@mutation(breaks=("LOG-17",), caught_by=("NoDiskCallsAfterAnError",))
def refused_flush_tried_again(patch: pytest.MonkeyPatch) -> None:
    """A flush that the disk refused is tried once more, and believed if it goes well then."""
    flush = Segment.flush

    def flush_stubbornly(segment: Segment) -> None:
        try:
            flush(segment)
        except StorageError:
            flush(segment)

    patch.setattr(Segment, "flush", flush_stubbornly)
