"""The `Disk` interface on a replica's directory: which work is a job, and which needs the lock of the log."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from typing import Protocol, TypeVar

from raft.core.effects import FlushLog, ReadRange, RepairLog, StoreSnapshotPiece
from raft.errors import CorruptBatchError, DiskFullError
from raft.runtime.checkpoint_pace import CheckpointPace
from raft.runtime.disk import DiskListener
from raft.runtime.flusher import Flusher
from raft.runtime.job_queue import JobQueue, Passing
from raft.runtime.log_append import LogAppend
from raft.runtime.meter import NO_METER, Meter
from raft.runtime.piecewise_read import PIECE_BYTES, PiecewiseRead
from raft.runtime.piecewise_search import PiecewiseSearch
from raft.storage.damage import DamageReport
from raft.storage.directory import ReplicaDirectory
from raft.storage.log import Log
from raft.transactions import AbortedTransaction, ProducerStateImage, SnapshotSummary
from raft.types import Batch, ElectionState, Offset, OffsetAndEpoch

Result = TypeVar("Result")

_CHECKPOINT_INTERVAL_S = 1.0


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


class ReplicaDisk:
    """Does the engine's orders on the directory of a replica; see `Disk`.

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
        """See `Disk.start`."""
        self._listener = listener
        self._workers.start(self._jobs, self._flusher, listener)

    def stop(self) -> None:
        """See `Disk.stop`."""
        self._workers.stop()

    def store(self, state: ElectionState, done: Callable[[None], None]) -> None:
        """See `Disk.store`."""
        # It may pass a job that waits for room: an append that is not done is like one that a crash has undone.
        self._jobs.put(lambda: self._directory.store_election_state(state), done, passing=Passing.EVERYTHING)

    def append(self, batches: Sequence[Batch], aborted: Sequence[AbortedTransaction] = ()) -> None:
        """See `Disk.append`."""
        self._jobs.put(LogAppend(self._directory, batches, aborted, rolled=self._rolled), passing=Passing.IS_ADDITION)

    def truncate(self, end_offset: Offset) -> None:
        """See `Disk.truncate`."""
        self._jobs.put(lambda: self._truncate(end_offset))

    def flush(self, flush: FlushLog) -> None:
        """See `Disk.flush`."""
        self._jobs.put(lambda: self._order_flush(flush), passing=Passing.IS_ADDITION)

    def keep_in_page_cache(self, is_kept: bool) -> None:
        """See `Disk.keep_in_page_cache`."""
        self._directory.keep_in_page_cache(is_kept)

    def read(self, read: ReadRange, done: Callable[[bytes | CorruptBatchError], None]) -> None:
        """See `Disk.read`."""
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
        """See `Disk.read_in_pieces`."""
        log = self._directory.log
        reading = PiecewiseRead(
            log, self._jobs, read, parse, done, piece_bytes=self._piece_bytes, readable_end=self._readable_end
        )
        reading.read_next()

    def search(self, work: Callable[[Log], Result], done: Callable[[Result | CorruptBatchError], None]) -> None:
        """See `Disk.search`."""
        self._jobs.put_later(lambda: self._search(work), done)

    def search_in_pieces(
        self, work: Callable[[Log], Generator[None, None, Result]], done: Callable[[Result | CorruptBatchError], None]
    ) -> None:
        """See `Disk.search_in_pieces`."""
        PiecewiseSearch(self._jobs, work(self._directory.log), done, damaged=self._damaged).search_next()

    def check(self, snapshot: OffsetAndEpoch | None, base_offsets: Sequence[Offset]) -> None:
        """See `Disk.check`."""
        pieces = self._directory.check(snapshot, base_offsets)
        PiecewiseSearch(self._jobs, pieces, lambda _found: None, damaged=self._damaged).search_next()

    def repair(self, order: RepairLog, done: Callable[[bool], None]) -> None:
        """See `Disk.repair`."""
        self._jobs.put_later(lambda: self._repair(order), done)

    def store_snapshot_piece(self, piece: StoreSnapshotPiece) -> None:
        """See `Disk.store_snapshot_piece`."""
        self._jobs.put(lambda: self._directory.store_snapshot_piece(piece.snapshot, piece.position, piece.piece))

    def check_snapshot(self, snapshot: OffsetAndEpoch, done: Callable[[SnapshotSummary | None], None]) -> None:
        """See `Disk.check_snapshot`."""
        self._jobs.put(lambda: self._directory.check_snapshot(snapshot), done)

    def install_snapshot(self, contents: SnapshotSummary) -> None:
        """See `Disk.install_snapshot`."""
        self._jobs.put(lambda: self._install(contents))

    def roll(self, image: ProducerStateImage) -> None:
        """See `Disk.roll`."""
        self._jobs.put(lambda: self._roll(image))

    def cut(self, start: OffsetAndEpoch) -> None:
        """See `Disk.cut`."""
        # It may pass a job that waits for room, because it makes room. What it removes is on the disk and committed.
        self._jobs.put(lambda: self._cut(start), passing=Passing.EVERYTHING)

    def look(self, work: Callable[[ReplicaDirectory], Result], done: Callable[[Result], None]) -> None:
        """See `Disk.look`."""
        self._jobs.put_later(lambda: self._look(work), done)

    def write_producer_snapshot(self, image: ProducerStateImage) -> None:
        """See `Disk.write_producer_snapshot`."""
        self._jobs.put(lambda: self._write_producer_snapshot(image), passing=Passing.IS_ADDITION)

    def note_committed(self, offset: Offset) -> None:
        """See `Disk.note_committed`."""
        self._directory.note_committed(offset)

    def retry(self) -> None:
        """See `Disk.retry`."""
        self._jobs.retry()
        if self._is_producer_snapshot_late:
            self._is_producer_snapshot_late = False
            self._rolled()

    @property
    def waits_for_room(self) -> bool:
        """See `Disk.waits_for_room`."""
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

    def _truncate(self, end_offset: Offset) -> None:
        with self._workers.log_lock:
            self._directory.truncate(end_offset)
            self._report_damage()

    def _install(self, contents: SnapshotSummary) -> None:
        with self._workers.log_lock:
            self._directory.install_snapshot(contents)
            self._report_damage()

    def _roll(self, image: ProducerStateImage) -> None:
        with self._workers.log_lock:
            self._directory.roll(image)

    def _cut(self, start: OffsetAndEpoch) -> None:
        with self._workers.log_lock:
            self._directory.cut(start)
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
