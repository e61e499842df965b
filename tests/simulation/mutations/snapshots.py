"""Bugs of snapshots, and of the logs that begin with one."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest

from raft.compaction import making
from raft.compaction.python_compactor import PythonCompactor
from raft.core import fetching
from raft.core.messages import FetchRequest
from raft.core.state import State
from raft.records.batch import read_records
from raft.records.split import walk_batches
from raft.runtime.snapshot_keeper import SnapshotKeeper
from raft.snapshots import SnapshotScan, state_batches
from raft.snapshots.contents import SnapshotContents
from raft.storage import directory_opening
from raft.storage.files import Files
from raft.storage.log import Log
from raft.storage.log_files import LogFiles
from raft.storage.recovery import log_start
from raft.storage.snapshots import SnapshotFolder
from raft.transactions import ProducerState, SnapshotSummary
from raft.transactions.image import NO_TRANSACTIONS
from raft.types import Offset, OffsetAndEpoch
from tests.simulation.mutations.mutation import mutation


@mutation(breaks=("SNAPSHOT-1", "LOG-16"), caught_by=("SnapshotsHoldTheState", "NoUnexpectedErrors"))
def snapshot_past_the_high_watermark(patch: pytest.MonkeyPatch) -> None:
    """A snapshot is made as soon as its segment has ended, although not all of it is committed."""
    patch.setattr(SnapshotKeeper, "_is_stable", lambda *_: True)


@mutation(breaks=("SNAPSHOT-2", "CLIENT-8"), caught_by=("SnapshotsHoldTheState",))
def writer_left_out_of_a_snapshot(patch: pytest.MonkeyPatch) -> None:
    """A snapshot forgets the writer that wrote last."""

    def fewer(state: SnapshotSummary) -> list[bytes]:
        histories = dict(state.producers.writers.histories)
        if histories:
            histories.popitem()
        writers = replace(state.producers.writers, histories=histories)
        return state_batches(replace(state, producers=replace(state.producers, writers=writers)))

    patch.setattr(making, "state_batches", fewer)


@mutation(breaks=("SNAPSHOT-2", "TXN-10"), caught_by=("SnapshotsHoldTheState",))
def open_transactions_left_out_of_a_snapshot(patch: pytest.MonkeyPatch) -> None:
    """A snapshot forgets the transactions that are open where it ends."""

    def fewer(state: SnapshotSummary) -> list[bytes]:
        transactions = replace(NO_TRANSACTIONS, producers=state.producers.transactions.producers)
        return state_batches(replace(state, producers=replace(state.producers, transactions=transactions)))

    patch.setattr(making, "state_batches", fewer)


@mutation(breaks=("SNAPSHOT-2", "LOG-10"), caught_by=("SnapshotsHoldTheState",))
def first_epoch_left_out_of_a_snapshot(patch: pytest.MonkeyPatch) -> None:
    """A snapshot has only the later epochs."""
    patch.setattr(making, "state_batches", lambda state: state_batches(replace(state, epochs=state.epochs[1:])))


@mutation(breaks=("SNAPSHOT-2",), caught_by=("SnapshotsHoldTheState",))
def older_values_of_a_key_are_kept(patch: pytest.MonkeyPatch) -> None:
    """A snapshot has all records, not the newest of each key."""
    patch.setattr(PythonCompactor, "note", lambda *_: None)


@mutation(breaks=("SNAPSHOT-2",), caught_by=("SnapshotsHoldTheState",))
def deleted_key_comes_back(patch: pytest.MonkeyPatch) -> None:
    """A tombstone goes, and the older value of its key stays."""
    note = PythonCompactor.note

    def note_values(compactor: PythonCompactor, batches: bytes) -> None:
        note(compactor, batches)
        for batch in walk_batches(batches):
            for record in read_records(batch.payload):
                if record.value is None and record.key is not None:
                    compactor._newest.pop(record.key, None)

    patch.setattr(PythonCompactor, "note", note_values)


@mutation(breaks=("SNAPSHOT-2", "TXN-10"), caught_by=("SnapshotsHoldTheState",))
def aborted_records_enter_a_snapshot(patch: pytest.MonkeyPatch) -> None:
    """A snapshot has the records of aborted transactions."""
    patch.setattr(making._Segments, "_is_aborted", lambda *_: False)


@mutation(breaks=("SNAPSHOT-2",), caught_by=("SnapshotsHoldTheState",))
def records_of_the_snapshot_before_are_lost(patch: pytest.MonkeyPatch) -> None:
    """A snapshot has the new records only."""
    patch.setattr(making, "_runs_of_snapshot", lambda *_: iter(()))


@mutation(breaks=("SNAPSHOT-4", "FETCH-23"), caught_by=("NoUnexpectedErrors", "SnapshotsHoldTheState", "NodesRestart"))
def damaged_snapshot_is_installed(patch: pytest.MonkeyPatch) -> None:
    """A snapshot that arrived damaged replaces the log nevertheless."""

    def finish(scan: SnapshotScan) -> SnapshotContents:
        return SnapshotContents(summary=scan.summary(), index=scan._records.index, size_bytes=scan._position)  # type: ignore[union-attr]

    def check_part(folder: SnapshotFolder, snapshot: OffsetAndEpoch) -> SnapshotSummary:
        contents = finish(folder._scan)
        folder._write_index(folder.name_of(snapshot), contents)
        return contents.summary

    patch.setattr(SnapshotFolder, "check_part", check_part)


@mutation(breaks=("SNAPSHOT-3", "LOG-15"), caught_by=("LogStartsAtASnapshot", "NoUnexpectedErrors", "NodesRestart"))
def snapshots_removed_with_the_log_before_them(patch: pytest.MonkeyPatch) -> None:
    """A cut removes the snapshot at which the log begins now."""
    remove_before = SnapshotFolder.remove_before

    def remove_up_to(folder: SnapshotFolder, offset: Offset) -> None:
        remove_before(folder, Offset(offset + 1))

    patch.setattr(SnapshotFolder, "remove_before", remove_up_to)


@mutation(breaks=("SNAPSHOT-1",), caught_by=("LogStartsAtASnapshot", "NodesRestart", "NoUnexpectedErrors"))
def snapshot_used_before_its_name_is_durable(patch: pytest.MonkeyPatch) -> None:
    """The directory is not flushed after a snapshot got its name."""

    def finish_made(folder: SnapshotFolder, snapshot: OffsetAndEpoch) -> None:
        name = folder.name_of(snapshot)
        folder._files.rename(name + ".making", name)

    patch.setattr(SnapshotFolder, "finish_made", finish_made)


@mutation(breaks=("SNAPSHOT-4",), caught_by=("WriterTableMatchesLog", "TransactionTableMatchesLog"))
def loaded_snapshot_does_not_change_the_tables(patch: pytest.MonkeyPatch) -> None:
    """A replica that loads a snapshot keeps the writers and transactions of the log that it had."""
    patch.setattr(ProducerState, "restore", lambda *_: None)


@mutation(breaks=("DIVERGE-10", "FETCH-13"), caught_by=("QuorumRecovers", "NoUnexpectedErrors", "NoNodeHalts"))
def replica_behind_the_log_gets_no_snapshot(patch: pytest.MonkeyPatch) -> None:
    """A leader treats a replica whose records are gone here as one that diverges."""

    def is_behind(_state: State, _request: FetchRequest) -> bool:
        return False

    patch.setattr(fetching, "_is_behind", is_behind)


@mutation(breaks=("READ-7",), caught_by=("ReadersSeeTheState",))
def snapshot_is_not_read(patch: pytest.MonkeyPatch) -> None:
    """A read before the log begins with the log."""

    def pieces(
        files: LogFiles, start_offset: Offset, *, max_bytes: int, end_offset: Offset, piece_bytes: int
    ) -> Iterator[bytes]:
        file = files.files_from(max(start_offset, files.segments[0].base_offset))[0]
        span = file.span(max(start_offset, file.base_offset), max_bytes=max_bytes, end_offset=end_offset)
        for position in span[::piece_bytes]:
            yield file.read_at(position, min(piece_bytes, span.stop - position))

    patch.setattr(LogFiles, "pieces", pieces)


@mutation(breaks=("READ-7", "TXN-10"), caught_by=("ReadersSeeTheState",))
def records_before_the_log_are_read_from_memory(patch: pytest.MonkeyPatch) -> None:
    """The newest bytes in memory are read although a snapshot has replaced them, and the transactions among them."""
    pieces = Log.pieces

    def with_tail(
        log: Log, start_offset: Offset, *, max_bytes: int, end_offset: Offset, piece_bytes: int
    ) -> Iterator[bytes]:
        recent = log._tail.read(start_offset, max_bytes=max_bytes, end_offset=end_offset)
        if log.readable_from <= start_offset < end_offset and recent is not None:
            yield recent
            return
        yield from pieces(log, start_offset, max_bytes=max_bytes, end_offset=end_offset, piece_bytes=piece_bytes)

    patch.setattr(Log, "pieces", with_tail)


@mutation(breaks=("LOG-15",), caught_by=("NodesRestart", "NoUnexpectedErrors", "RecoveredLogMatchesWrites"))
def interrupted_installation_is_forgotten(patch: pytest.MonkeyPatch) -> None:
    """A start does not complete the installation of a snapshot that a crash interrupted."""
    patch.setattr(SnapshotFolder, "interrupted_install", lambda _: None)


@mutation(breaks=("LOG-15",), caught_by=("NodesRestart",))
def interrupted_cut_is_not_completed(patch: pytest.MonkeyPatch) -> None:
    """After a crash during a cut, a start expects the log to begin where it did before."""

    def first_snapshot(files: Files, name: str, snapshots: list[OffsetAndEpoch]) -> OffsetAndEpoch:
        found = log_start(files, name, snapshots)
        return snapshots[0] if found.offset and snapshots else found

    patch.setattr(directory_opening, "log_start", first_snapshot)


@mutation(breaks=("TXN-10",), caught_by=("AbortedIndexMatchesLog", "ReadersSeeTheState"))
def transactions_of_the_snapshot_are_not_aborted(patch: pytest.MonkeyPatch) -> None:
    """A start does not know which transactions are open where the log begins."""
    summary = SnapshotFolder.summary

    def without_transactions(folder: SnapshotFolder, snapshot: OffsetAndEpoch) -> SnapshotSummary:
        found = summary(folder, snapshot)
        return replace(found, producers=replace(found.producers, transactions=NO_TRANSACTIONS))

    patch.setattr(SnapshotFolder, "summary", without_transactions)
