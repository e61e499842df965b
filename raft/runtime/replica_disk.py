"""The `Disk` interface on a replica's directory: which work is a job, and which needs the lock of the log."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from contextlib import AbstractContextManager
from typing import Protocol, TypeVar

from raft.core.effects import FlushLog, ReadRange, StoreSnapshotPiece
from raft.runtime.checkpoint_pace import CheckpointPace
from raft.runtime.disk import DiskListener
from raft.runtime.flusher import Flusher
from raft.runtime.job_queue import JobQueue
from raft.runtime.meter import NO_METER, Meter
from raft.runtime.piecewise_read import PIECE_BYTES, PiecewiseRead
from raft.runtime.piecewise_search import PiecewiseSearch
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
        self._jobs = JobQueue(post=workers.post, failed=self._failed, wake=workers.job_waits)
        self._flusher = Flusher(
            flush=meter.timing(directory.flush),
            write_checkpoints=directory.write_checkpoints,
            pace=CheckpointPace(checkpoint_interval_s),
        )
        self._listener: DiskListener | None = None

    def start(self, listener: DiskListener) -> None:
        """See `Disk.start`."""
        self._listener = listener
        self._workers.start(self._jobs, self._flusher, listener)

    def stop(self) -> None:
        """See `Disk.stop`."""
        self._workers.stop()

    def store(self, state: ElectionState, done: Callable[[None], None]) -> None:
        """See `Disk.store`."""
        self._jobs.put(lambda: self._directory.store_election_state(state), done)

    def append(self, batches: Sequence[Batch], aborted: Sequence[AbortedTransaction] = ()) -> None:
        """See `Disk.append`."""
        self._jobs.put(lambda: self._append(batches, aborted))

    def truncate(self, end_offset: Offset) -> None:
        """See `Disk.truncate`."""
        self._jobs.put(lambda: self._truncate(end_offset))

    def flush(self, flush: FlushLog) -> None:
        """See `Disk.flush`."""
        self._jobs.put(lambda: self._order_flush(flush))

    def keep_in_page_cache(self, is_kept: bool) -> None:
        """See `Disk.keep_in_page_cache`."""
        self._directory.keep_in_page_cache(is_kept)

    def read(self, read: ReadRange, done: Callable[[bytes], None]) -> None:
        """See `Disk.read`."""
        log = self._directory.log
        self._jobs.put(
            lambda: log.read(read.start_offset, max_bytes=read.max_bytes, end_offset=read.end_offset),
            done,
        )

    def read_in_pieces(
        self, read: ReadRange, parse: Callable[[bytes, Log], Result], done: Callable[[Result], None]
    ) -> None:
        """See `Disk.read_in_pieces`."""
        log = self._directory.log
        PiecewiseRead(log, self._jobs, read, parse, done, piece_bytes=self._piece_bytes).read_next()

    def search(self, work: Callable[[Log], Result], done: Callable[[Result], None]) -> None:
        """See `Disk.search`."""
        self._jobs.put_later(lambda: work(self._directory.log), done)

    def search_in_pieces(
        self, work: Callable[[Log], Generator[None, None, Result]], done: Callable[[Result], None]
    ) -> None:
        """See `Disk.search_in_pieces`."""
        PiecewiseSearch(self._jobs, work(self._directory.log), done).search_next()

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
        self._jobs.put(lambda: self._cut(start))

    def look(self, work: Callable[[ReplicaDirectory], Result], done: Callable[[Result], None]) -> None:
        """See `Disk.look`."""
        self._jobs.put_later(lambda: work(self._directory), done)

    def write_producer_snapshot(self, image: ProducerStateImage) -> None:
        """See `Disk.write_producer_snapshot`."""
        self._jobs.put(lambda: self._directory.write_producer_snapshot(image))

    def note_committed(self, offset: Offset) -> None:
        """See `Disk.note_committed`."""
        self._directory.note_committed(offset)

    # Run by the workers

    def _append(self, batches: Sequence[Batch], aborted: Sequence[AbortedTransaction]) -> None:
        has_rolled = self._directory.append(batches, aborted)
        if has_rolled and self._listener is not None:
            self._workers.post(self._listener.rolled)

    def _truncate(self, end_offset: Offset) -> None:
        with self._workers.log_lock:
            self._directory.truncate(end_offset)

    def _install(self, contents: SnapshotSummary) -> None:
        with self._workers.log_lock:
            self._directory.install_snapshot(contents)

    def _roll(self, image: ProducerStateImage) -> None:
        with self._workers.log_lock:
            self._directory.roll(image)

    def _cut(self, start: OffsetAndEpoch) -> None:
        with self._workers.log_lock:
            self._directory.cut(start)

    def _order_flush(self, flush: FlushLog) -> None:
        self._flusher.order(flush)
        self._workers.flush_waits()

    def _failed(self, error: BaseException) -> None:
        assert self._listener is not None, "jobs are done after the start"
        self._listener.failed(error)
