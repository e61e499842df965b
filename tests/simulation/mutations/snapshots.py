"""Bugs of snapshots, and of the logs that begin with one."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest

from raft.compaction import snapshot_maker
from raft.compaction.batch_runs import Run
from raft.compaction.compactor import Compactor
from raft.core import fetches, machine, responses, snapshot_load
from raft.core.effects import DeleteBeforeSnapshot
from raft.core.events import DeleteBeforeSnapshotRequested
from raft.core.messages import FetchRequest, FetchSnapshotResponse
from raft.core.state import State
from raft.epoch_cache import EpochCache
from raft.errors import DecodeError
from raft.records.batch import build_sparse_batch, read_records
from raft.records.batches import read_batches
from raft.records.header import read_header
from raft.records.header_fields import batch_size_bytes
from raft.runtime.piecewise_read import PiecewiseRead
from raft.runtime.snapshot_keeper import SnapshotKeeper, _Look
from raft.snapshots import SnapshotScan, contents, state_batches
from raft.snapshots.contents import SnapshotContents
from raft.storage import opened_directory
from raft.storage.directory import ReplicaDirectory
from raft.storage.files import Files
from raft.storage.log import Log
from raft.storage.log_files import LogFiles
from raft.storage.recovery import log_start
from raft.storage.snapshots import SnapshotFolder
from raft.transactions import ProducerState, SnapshotSummary
from raft.transactions.image import NO_TRANSACTIONS, TransactionsImage
from raft.types import Batch, NodeId, Offset, OffsetAndEpoch
from tests.simulation.mutations import needs
from tests.simulation.mutations.mutation import mutation, switched_off


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

    patch.setattr(snapshot_maker, "state_batches", fewer)


@mutation(breaks=("SNAPSHOT-2", "TXN-10"), caught_by=("SnapshotsHoldTheState",))
def open_transactions_left_out_of_a_snapshot(patch: pytest.MonkeyPatch) -> None:
    """A snapshot forgets the transactions that are open where it ends."""

    def fewer(state: SnapshotSummary) -> list[bytes]:
        transactions = replace(NO_TRANSACTIONS, producers=state.producers.transactions.producers)
        return state_batches(replace(state, producers=replace(state.producers, transactions=transactions)))

    patch.setattr(snapshot_maker, "state_batches", fewer)


@mutation(breaks=("SNAPSHOT-2", "LOG-10"), caught_by=("SnapshotsHoldTheState",))
def first_epoch_left_out_of_a_snapshot(patch: pytest.MonkeyPatch) -> None:
    """A snapshot has only the later epochs."""
    patch.setattr(snapshot_maker, "state_batches", lambda state: state_batches(replace(state, epochs=state.epochs[1:])))


@mutation(breaks=("SNAPSHOT-2",), caught_by=("SnapshotsHoldTheState",))
def older_values_of_a_key_are_kept(patch: pytest.MonkeyPatch) -> None:
    """A snapshot has all records, not the newest of each key."""
    patch.setattr(Compactor, "note", lambda *_: None)


@mutation(breaks=("SNAPSHOT-2",), caught_by=("SnapshotsHoldTheState",))
def deleted_key_comes_back(patch: pytest.MonkeyPatch) -> None:
    """A tombstone goes, and the older value of its key stays."""
    note = Compactor.note

    def note_values(compactor: Compactor, batches: bytes) -> None:
        for batch in read_batches(batches):
            header = batch.header
            values = [record for record in read_records(batch.payload) if record.value is not None]
            if values:
                base, last = header.base_offset, header.last_offset
                note(compactor, build_sparse_batch(values, base_offset=base, last_offset=last, epoch=header.epoch))

    patch.setattr(Compactor, "note", note_values)


@mutation(breaks=("SNAPSHOT-2", "TXN-10"), caught_by=("SnapshotsHoldTheState",))
def aborted_records_enter_a_snapshot(patch: pytest.MonkeyPatch) -> None:
    """A snapshot has the records of aborted transactions."""
    patch.setattr(snapshot_maker._Segments, "_is_aborted", lambda *_: False)


@mutation(breaks=("SNAPSHOT-2",), caught_by=("SnapshotsHoldTheState",))
def records_of_the_snapshot_before_are_lost(patch: pytest.MonkeyPatch) -> None:
    """A snapshot has the new records only."""
    patch.setattr(snapshot_maker, "_runs_of_snapshot", lambda *_: iter(()))


@mutation(
    breaks=("SNAPSHOT-4", "FETCH-23"),
    caught_by=("SnapshotsHoldTheState", "NoUnexpectedErrors", "DamageIsFound"),
    needs=needs.damaged_snapshots,
)
def damaged_snapshot_is_installed(patch: pytest.MonkeyPatch) -> None:
    """The checksums of a snapshot that a replica has downloaded are not compared."""

    def unchecked(data: bytes) -> Iterator[Batch]:
        position = 0
        while (size_bytes := batch_size_bytes(data, position)) is not None and position + size_bytes <= len(data):
            yield Batch(header=read_header(data, position), payload=data[position : position + size_bytes])
            position += size_bytes

    patch.setattr(contents, "read_batches", unchecked)


@mutation(breaks=("SNAPSHOT-4", "FETCH-23"), caught_by=("SnapshotsHoldTheState", "QuorumRecovers"))
def torn_snapshot_is_taken(patch: pytest.MonkeyPatch) -> None:
    """A replica expects no footer, and no more of a snapshot when it has most of it."""
    store = snapshot_load.on_snapshot_piece

    def store_last(state: State, node_id: NodeId, response: FetchSnapshotResponse, now_ms: int) -> None:
        end_position = response.position + len(response.piece)
        size_bytes = end_position if 4 * end_position >= 3 * response.size_bytes else response.size_bytes
        store(state, node_id, replace(response, size_bytes=size_bytes), now_ms)

    def finish(scan: SnapshotScan) -> SnapshotContents:
        if scan._records is None:
            raise DecodeError("the state is not whole")
        return SnapshotContents(summary=scan.summary(), index=scan._records.index, size_bytes=scan._position)

    patch.setattr(responses, "on_snapshot_piece", store_last)
    patch.setattr(SnapshotScan, "finish", finish)


@mutation(
    breaks=("SNAPSHOT-1", "LOG-16"),
    # Or the check of the directory takes the part that is written for a damaged snapshot.
    caught_by=("SnapshotsHoldTheState", "NodesRestart", "NoUnexpectedErrors", "SoundLogHasNoDamage"),
)
def snapshot_is_written_under_its_final_name(patch: pytest.MonkeyPatch) -> None:
    """A crash leaves a part of a snapshot that a start takes for a whole one."""
    patch.setattr("raft.storage.snapshots.MAKING_SUFFIX", "")
    patch.setattr(SnapshotFolder, "finish_made", lambda *_: None)


@mutation(breaks=("SNAPSHOT-1", "SNAPSHOT-3"), caught_by=("LogStartsAtASnapshot",))
def log_is_cut_past_the_high_watermark(patch: pytest.MonkeyPatch) -> None:
    """The log is cut where the next snapshot will end, before everything before that is committed."""

    def delete(keeper: SnapshotKeeper, look: _Look) -> None:
        if look.order is not None and not keeper._is_stable(look.order.end.offset):
            keeper._submit(DeleteBeforeSnapshotRequested(start=look.order.end, shows_records=False))

    def cut_unchecked(state: State, event: DeleteBeforeSnapshotRequested) -> None:
        state.emit(DeleteBeforeSnapshot(start=event.start))

    patch.setattr(SnapshotKeeper, "_delete_before_snapshot", delete)
    patch.setattr(machine, "on_deletion_requested", cut_unchecked)
    patch.setattr(ReplicaDirectory, "_compacted_of", lambda *_: None)


@mutation(breaks=("SNAPSHOT-2",), caught_by=("SnapshotsHoldTheState",))
def tombstone_is_removed_too_early(patch: pytest.MonkeyPatch) -> None:
    """The first snapshot behind a tombstone does not have it, however long tombstones are to be kept."""

    begin = Compactor.__init__

    def begin_without_retention(compactor: Compactor, *, now_ms: int, delete_retention_ms: int) -> None:
        del delete_retention_ms
        begin(compactor, now_ms=now_ms, delete_retention_ms=0)

    patch.setattr(Compactor, "__init__", begin_without_retention)


@mutation(breaks=("SNAPSHOT-2",), caught_by=("SnapshotsHoldTheState",))
def older_value_comes_back_from_the_snapshot_before(patch: pytest.MonkeyPatch) -> None:
    """All records of the snapshot before are kept, also those whose keys have newer values."""
    runs_of_snapshot, retain = snapshot_maker._runs_of_snapshot, snapshot_maker._Output.retain

    class OldRun(Run):
        """A run of the snapshot before."""

    def old_runs(folder: SnapshotFolder, snapshot: OffsetAndEpoch) -> Iterator[Run]:
        return (OldRun(run.batches, run.codec) for run in runs_of_snapshot(folder, snapshot))

    def retain_old(output: snapshot_maker._Output, run: Run) -> None:
        if isinstance(run, OldRun):
            output.write(run.batches)
        else:
            retain(output, run)

    patch.setattr(snapshot_maker, "_runs_of_snapshot", old_runs)
    patch.setattr(snapshot_maker._Output, "retain", retain_old)


@mutation(breaks=("SNAPSHOT-3", "LOG-15"), caught_by=("LogStartsAtASnapshot", "NoUnexpectedErrors", "NodesRestart"))
def snapshots_removed_with_the_log_before_them(patch: pytest.MonkeyPatch) -> None:
    """A cut removes the snapshot at which the log begins now."""
    remove_before = SnapshotFolder.remove_before

    def remove_up_to(folder: SnapshotFolder, offset: Offset) -> None:
        remove_before(folder, Offset(offset + 1))

    patch.setattr(SnapshotFolder, "remove_before", remove_up_to)


@mutation(breaks=("SNAPSHOT-1",), caught_by=("SnapshotsHoldTheState",))
def snapshot_used_before_its_name_is_durable(patch: pytest.MonkeyPatch) -> None:
    """The directory is not flushed after a snapshot got its name."""

    def finish_made(folder: SnapshotFolder, snapshot: OffsetAndEpoch) -> None:
        name = folder.name_of(snapshot)
        folder._files.rename(name + ".making", name)

    patch.setattr(SnapshotFolder, "finish_made", finish_made)


@mutation(
    breaks=("SNAPSHOT-4",),
    caught_by=("WriterTableMatchesLog", "TransactionTableMatchesLog", "LastStableOffsetIsCorrect"),
)
def loaded_snapshot_does_not_change_the_tables(patch: pytest.MonkeyPatch) -> None:
    """A replica that loads a snapshot keeps the writers and transactions of the log that it had."""
    restart_log = State.restart_log

    def restart_without_tables(state: State, contents: SnapshotSummary) -> None:
        with switched_off(ProducerState, "restore"):
            restart_log(state, contents)

    patch.setattr(State, "restart_log", restart_without_tables)


@mutation(breaks=("DIVERGE-10", "FETCH-13"), caught_by=("QuorumRecovers", "NoUnexpectedErrors", "NoNodeHalts"))
def replica_behind_the_log_gets_no_snapshot(patch: pytest.MonkeyPatch) -> None:
    """A leader treats a replica whose records are gone here as one that diverges."""

    def is_behind(_state: State, _request: FetchRequest) -> bool:
        return False

    patch.setattr(fetches, "_is_behind", is_behind)


@mutation(breaks=("READ-7",), caught_by=("ReadersSeeTheState", "QuorumRecovers", "MissingRecordsAreReplaced"))
def snapshot_is_not_read(patch: pytest.MonkeyPatch) -> None:
    """A read before the log begins with the log."""

    def pieces(
        files: LogFiles, start_offset: Offset, _: EpochCache, *, max_bytes: int, end_offset: Offset, piece_bytes: int
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


@mutation(breaks=("READ-7", "CLIENT-2"), caught_by=("CompactedReadsAreCommitted", "LastStableOffsetIsCorrect"))
def uncommitted_records_are_served_behind_a_snapshot(patch: pytest.MonkeyPatch) -> None:
    """A read before the log goes on to the end of the log, although not all records there are committed."""
    pieces = LogFiles.pieces

    def to_the_end(
        files: LogFiles,
        start_offset: Offset,
        epochs: EpochCache,
        *,
        max_bytes: int,
        end_offset: Offset,
        piece_bytes: int,
    ) -> Iterator[bytes]:
        if start_offset >= files.segments[0].base_offset:
            yield from pieces(
                files, start_offset, epochs, max_bytes=max_bytes, end_offset=end_offset, piece_bytes=piece_bytes
            )
            return
        found = bytearray()
        for file in files.files_from(start_offset):
            span = file.span(max(start_offset, file.base_offset), max_bytes=max_bytes, end_offset=Offset(1 << 62))
            found += file.read_at(span.start, len(span))
            if span.stop < file.size_bytes:
                break
        for position in range(0, len(found), piece_bytes):
            yield bytes(found[position : position + piece_bytes])

    patch.setattr(LogFiles, "pieces", to_the_end)


@mutation(breaks=("READ-7",), caught_by=("CompactedReadsAreCommitted",))
def read_goes_on_in_a_newer_snapshot(patch: pytest.MonkeyPatch) -> None:
    """A read that was in the middle of a snapshot when a newer one replaced it returns records of both."""
    read_piece = PiecewiseRead._read_piece

    def keep_found(read: PiecewiseRead[object]) -> tuple[object] | None:
        before = read._found
        result = read_piece(read)
        if read._found is not before:
            read._found = [*before, *read._found]
            return None if result is None else (read._parse(b"".join(read._found), read._log),)
        return result

    patch.setattr(PiecewiseRead, "_read_piece", keep_found)


@mutation(
    breaks=("LOG-15",),
    caught_by=("NodesRestart", "NoUnexpectedErrors", "RecoveredLogMatchesWrites"),
    needs=needs.snapshots,
)
def interrupted_installation_is_forgotten(patch: pytest.MonkeyPatch) -> None:
    """A start does not complete the installation of a snapshot that a crash interrupted."""
    patch.setattr(SnapshotFolder, "interrupted_install", lambda _: None)


@mutation(breaks=("TXN-2",), caught_by=("LastStableOffsetIsCorrect",), needs=needs.snapshots)
def snapshot_ends_between_the_markers_of_a_write(patch: pytest.MonkeyPatch) -> None:
    """A snapshot may end behind the marker of the first part of a write and before those of others."""
    patch.setattr(TransactionsImage, "is_between_markers", False)


@mutation(breaks=("LOG-15",), caught_by=("NodesRestart",), needs=needs.snapshots)
def interrupted_cut_is_not_completed(patch: pytest.MonkeyPatch) -> None:
    """After a crash during a cut, a start expects the log to begin where it did before."""

    def first_snapshot(files: Files, name: str, snapshots: list[OffsetAndEpoch]) -> OffsetAndEpoch:
        found = log_start(files, name, snapshots)
        return snapshots[0] if found.offset and snapshots else found

    patch.setattr(opened_directory, "log_start", first_snapshot)


@mutation(
    breaks=("TXN-10",),
    caught_by=("AbortedIndexMatchesLog", "TransactionTableMatchesLog", "ReadersSeeTheState"),
    needs=needs.snapshots,
)
def transactions_of_the_snapshot_are_not_aborted(patch: pytest.MonkeyPatch) -> None:
    """A start does not know which transactions are open where the log begins."""
    summary = SnapshotFolder.summary

    def without_transactions(folder: SnapshotFolder, snapshot: OffsetAndEpoch) -> SnapshotSummary:
        found = summary(folder, snapshot)
        return replace(found, producers=replace(found.producers, transactions=NO_TRANSACTIONS))

    patch.setattr(SnapshotFolder, "summary", without_transactions)
