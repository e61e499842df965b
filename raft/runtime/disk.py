"""The disk of a replica: which work is a job, what it may pass that waits for room, and what needs the log's lock."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Protocol, TypeVar, assert_never

from raft.core.effects import (
    AppendBatches,
    CheckSnapshot,
    DeleteBeforeSnapshot,
    FlushLog,
    InstallSnapshot,
    ReadRange,
    RepairLog,
    RollLog,
    StoreElectionState,
    StoreSnapshotPiece,
    TruncateLog,
)
from raft.errors import CorruptBatchError, DiskFullError
from raft.runtime.checkpoint_pace import CheckpointPace
from raft.runtime.flusher import Flusher
from raft.runtime.job_queue import JobQueue, Passing
from raft.runtime.log_append import LogAppend
from raft.runtime.meter import NO_METER, Meter
from raft.runtime.piecewise_read import PIECE_BYTES, PiecewiseRead
from raft.runtime.piecewise_search import PiecewiseSearch
from raft.storage.damage import DamageReport
from raft.storage.directory import ReplicaDirectory
from raft.storage.log import Log
from raft.transactions import ProducerStateImage
from raft.types import Offset, OffsetAndEpoch

Result = TypeVar("Result")

DiskEffect = (
    StoreElectionState
    | AppendBatches
    | TruncateLog
    | FlushLog
    | RepairLog
    | StoreSnapshotPiece
    | CheckSnapshot
    | InstallSnapshot
    | RollLog
    | DeleteBeforeSnapshot
)
"""The effects of the core that change the directory. Batches to append have their bytes."""

_CHECKPOINT_INTERVAL_S = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class DiskListener:
    """The callbacks of a disk. All are called on the scheduler.

    Fields:
        flushed: called with a flush that is complete; it covers all flushes ordered before it.
        rolled: called when an append has begun a new segment.
        room: called with the error of each job that waits because the disk has no room, at each attempt, and with None
            when the jobs that waited are done; each time also with the end of what is written.
        damaged: called when damage of the log was found, repaired, or removed with a part of the log.
        failed: called with the error that a job, a flush, or the callback of a job has raised. The node must stop: of
            what was ordered and not reported, any part may be done.
    """

    flushed: Callable[[FlushLog], None]
    rolled: Callable[[], None]
    room: Callable[[DiskFullError | None, Offset], None]
    damaged: Callable[[DamageReport], None]
    failed: Callable[[BaseException], None]


class DiskWorkers(Protocol):
    """Does the jobs and the flushes of a disk: two threads in a node."""

    @property
    def log_lock(self) -> AbstractContextManager[object]:
        """Held during a flush, while checkpoints are written, and while the log is truncated or replaced."""
        ...

    def start(self, jobs: JobQueue, flusher: Flusher, listener: DiskListener) -> None:
        """Begin to do jobs and flushes."""
        ...

    def stop(self) -> None:
        """Do the urgent jobs that wait, then stop. Jobs that can wait, and flushes that wait, are dropped."""
        ...

    def job_waits(self) -> None:
        """Do the jobs that wait soon."""
        ...

    def flush_waits(self) -> None:
        """Do the flushes that wait soon."""
        ...

    def post(self, action: Callable[[], None]) -> None:
        """Run an action on the scheduler."""
        ...


class Disk:
    """The directory of one replica, and the jobs that are done on it. No method waits for them.

    Effects and reads are done in the order of the calls, searches, reads for clients and repairs after them. So a read
    returns what was appended before it, and a truncation takes effect before the append that follows it.

    A job for which the disk has no room waits, with the jobs after it, until `retry`. Meanwhile election states are
    stored, old segments are removed, and clients and replicas read what is written (LOG-27).

    Args:
        directory: an open directory, to which nothing else writes. Its owner closes it after `stop`.
        workers: do the jobs and the flushes.
        checkpoint_interval_s: minimum time between two writes of the checkpoints, in seconds.
        meter: measures the flushes.
        piece_bytes: size of the pieces in which reads for clients are done.
    """

    def __init__(
        self,
        directory: ReplicaDirectory,
        workers: DiskWorkers,
        *,
        checkpoint_interval_s: float = _CHECKPOINT_INTERVAL_S,
        meter: Meter = NO_METER,
        piece_bytes: int = PIECE_BYTES,
    ) -> None:
        self._directory = directory
        self._workers = workers
        self._piece_bytes = piece_bytes
        self._jobs = JobQueue(post=workers.post, failed=self._failed, wake=workers.job_waits, room=self._room)
        self._flusher = Flusher(
            flush=meter.timing(directory.flush),
            write_checkpoints=directory.write_checkpoints,
            pace=CheckpointPace(checkpoint_interval_s),
        )
        self._listener: DiskListener | None = None
        self._is_producer_snapshot_late = False
        self._reported = DamageReport()

    def start(self, listener: DiskListener) -> None:
        """Begin to do jobs, and report to the listener."""
        self._listener = listener
        self._workers.start(self._jobs, self._flusher, listener)

    def stop(self) -> None:
        """Do the jobs that were ordered, then stop.

        Calls of `search`, `search_in_pieces` and `read_in_pieces`, and flushes that wait, are dropped.
        """
        self._workers.stop()

    def do(self, effect: DiskEffect, done: Callable[[Any], None] | None = None) -> None:
        """Carry out an effect of the core.

        Args:
            effect: see `DiskEffect`. A flush covers all jobs that were ordered before; the listener is told of it, or
                of a newer one in its place.
            done: called when it is done: with the `SnapshotSummary` of a snapshot that was checked, None if it is
                damaged; with whether the batches of a repair are sound now; with None for the others.
        """
        directory, put = self._directory, self._jobs.put
        match effect:
            case StoreElectionState(state=state):
                # It may pass a job that waits for room: an append that is not done is like one that a crash has undone.
                put(partial(directory.store_election_state, state), done, passing=Passing.EVERYTHING)
            case AppendBatches(batches=batches, aborted=aborted):
                append = LogAppend(directory, batches, aborted, rolled=self._rolled)  # type: ignore[arg-type]
                put(append, done, passing=Passing.IS_ADDITION)
            case FlushLog():
                put(partial(self._order_flush, effect), done, passing=Passing.IS_ADDITION)
            case TruncateLog(end_offset=end_offset):
                put(partial(self._locked, partial(directory.truncate, end_offset)), done)
            case InstallSnapshot(contents=contents):
                put(partial(self._locked, partial(directory.install_snapshot, contents)), done)
            case RollLog(producers=producers):
                roll = partial(self._locked, partial(directory.roll, producers))
                put(roll, done, passing=Passing.IS_ADDITION)
            case DeleteBeforeSnapshot(start=start):
                # It may pass a job that waits for room, because it makes room. What it removes is on the disk and
                # committed.
                put(partial(self._locked, partial(directory.delete_before, start)), done, passing=Passing.EVERYTHING)
            case StoreSnapshotPiece(snapshot=snapshot, position=position, piece=piece):
                store = partial(directory.store_snapshot_piece, snapshot, position, piece)
                put(store, done, passing=Passing.IS_ADDITION)
            case CheckSnapshot(snapshot=snapshot):
                put(partial(directory.check_snapshot, snapshot), done, passing=Passing.IS_ADDITION)
            case RepairLog():
                self._jobs.put_later(partial(self._repair, effect), done, passing=Passing.ADDITIONS)
            case _:
                assert_never(effect)

    def keep_in_page_cache(self, is_kept: bool) -> None:
        """Decide whether flushed records stay in the page cache, for readers; see `Files`."""
        self._directory.keep_in_page_cache(is_kept)

    def read(self, read: ReadRange, done: Callable[[bytes | CorruptBatchError], None]) -> None:
        """Read records after all jobs that were ordered before; `done` is called with them.

        Records after damage are left out. If the first one is damaged, `done` is called with the error (LOG-29).
        """
        self._jobs.put(
            lambda: self._read(read),
            done,
            # It returns less than was ordered then: what is written. Behind a truncation that would be other records.
            passing=Passing.ADDITIONS,
        )

    def read_in_pieces(
        self,
        read: ReadRange,
        parse: Callable[[bytes, Log], Result],
        done: Callable[[Result | CorruptBatchError], None],
    ) -> None:
        """Read committed records for a client, as `read` does. Other jobs are done first; see `PiecewiseRead`."""
        log = self._directory.log
        reading = PiecewiseRead(
            log, self._jobs, read, parse, done, piece_bytes=self._piece_bytes, readable_end=self._readable_end
        )
        reading.read_next()

    def search(self, work: Callable[[Log], Result], done: Callable[[Result | CorruptBatchError], None]) -> None:
        """Search the committed log for a client, after other jobs; `done` is called with what `work` returns or raises.

        Only a CorruptBatchError may be raised: the log is damaged where it was searched.
        """
        self._jobs.put_later(lambda: self._search(work), done, passing=Passing.ADDITIONS)

    def search_in_pieces(
        self, work: Callable[[Log], Generator[None, None, Result]], done: Callable[[Result | CorruptBatchError], None]
    ) -> None:
        """Search the log, as `search` does; where `work` yields, other jobs are done. See `PiecewiseSearch`."""
        PiecewiseSearch(self._jobs, work(self._directory.log), done, damaged=self._damaged).search_next()

    def check(self, snapshot: OffsetAndEpoch | None, base_offsets: Sequence[Offset]) -> None:
        """Look for damage in a snapshot and in segments, in pieces, after other jobs; the listener is told of it."""
        pieces = self._directory.check(snapshot, base_offsets)
        PiecewiseSearch(self._jobs, pieces, lambda _found: None, damaged=self._damaged).search_next()

    def look(self, work: Callable[[ReplicaDirectory], Result], done: Callable[[Result], None]) -> None:
        """Look at the directory, after other jobs; `done` is called with what `work` returns."""
        self._jobs.put_later(lambda: self._look(work), done)

    def write_producer_snapshot(self, image: ProducerStateImage) -> None:
        """Write the writers and transactions to disk."""
        self._jobs.put(lambda: self._write_producer_snapshot(image), passing=Passing.IS_ADDITION)

    def note_committed(self, offset: Offset) -> None:
        """Note, for the next checkpoint, that all records below `offset` are committed."""
        self._directory.note_committed(offset)

    def retry(self) -> None:
        """Do the jobs again for which the disk had no room."""
        self._jobs.retry()
        if self._is_producer_snapshot_late:
            self._is_producer_snapshot_late = False
            self._rolled()

    @property
    def waits_for_room(self) -> bool:
        """Whether a job waits because the disk has no room."""
        return self._jobs.waits_for_room

    # Run by the workers

    def _rolled(self) -> None:
        if self._listener is not None:
            self._workers.post(self._listener.rolled)

    def _read(self, read: ReadRange) -> bytes | CorruptBatchError:
        log, end_offset = self._directory.log, read.end_offset
        while True:
            try:
                return log.read(read.start_offset, max_bytes=read.max_bytes, end_offset=end_offset)
            except CorruptBatchError as error:
                readable_end = self._readable_end(error, replace(read, end_offset=end_offset))
                if readable_end is None:
                    return error
                end_offset = readable_end

    def _readable_end(self, error: CorruptBatchError, read: ReadRange) -> Offset | None:
        """Note damage that a read has met; return where it begins, None if the read begins in it."""
        self._damaged(error)
        part = self._directory.damage.first_behind(read.start_offset, error.path)
        is_behind_start = part is not None and read.start_offset < part.start_offset < read.end_offset
        return part.start_offset if part is not None and is_behind_start else None

    def _search(self, work: Callable[[Log], Result]) -> Result | CorruptBatchError:
        try:
            return work(self._directory.log)
        except CorruptBatchError as error:
            self._damaged(error)
            return error

    def _damaged(self, error: CorruptBatchError) -> None:
        self._directory.note_damage(error)
        self._report_damage()

    def _report_damage(self) -> None:
        report = self._directory.damage.report
        if report != self._reported and (listener := self._listener) is not None:
            self._reported = report
            self._workers.post(lambda: listener.damaged(report))

    def _look(self, work: Callable[[ReplicaDirectory], Result]) -> Result:
        result = work(self._directory)
        self._report_damage()
        return result

    def _repair(self, order: RepairLog) -> bool:
        is_repaired = self._directory.repair(order.batches, order.source)
        self._report_damage()
        return is_repaired

    def _write_producer_snapshot(self, image: ProducerStateImage) -> None:
        try:
            self._directory.write_producer_snapshot(image)
        except DiskFullError:
            # A start reads more of the log without it, so nothing has to wait for it.
            self._is_producer_snapshot_late = True

    def _locked(self, change: Callable[[], None]) -> None:
        """Change the log while nothing else uses its files."""
        with self._workers.log_lock:
            change()
            self._report_damage()

    def _order_flush(self, flush: FlushLog) -> None:
        self._flusher.order(flush)
        self._workers.flush_waits()

    def _room(self, error: DiskFullError | None) -> None:
        assert self._listener is not None, "jobs are done after the start"
        self._listener.room(error, self._directory.log.end_offset)

    def _failed(self, error: BaseException) -> None:
        assert self._listener is not None, "jobs are done after the start"
        self._listener.failed(error)
