"""The interface through which the engine and the request handlers use the disk."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeVar

from raft.core.effects import FlushLog, ReadRange, RepairLog, StoreSnapshotPiece
from raft.errors import CorruptBatchError, DiskFullError
from raft.storage.damage import DamageReport
from raft.storage.directory import ReplicaDirectory
from raft.storage.log import Log
from raft.transactions import AbortedTransaction, ProducerStateImage, SnapshotSummary
from raft.types import Batch, ElectionState, Offset, OffsetAndEpoch

Result = TypeVar("Result")


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


class Disk(Protocol):
    """The directory of one replica. No method waits for the disk.

    All jobs are done in the order of the calls, except for `search`, `read_in_pieces` and flushes. So a read returns
    what was appended before it, and a truncation takes effect before the append that follows it.

    A job for which the disk has no room waits, with the jobs behind it, until `retry`. Meanwhile election states are
    stored, old segments are removed, and clients and replicas read what is written (LOG-27).
    """

    def start(self, listener: DiskListener) -> None:
        """Begin to do jobs, and report to the listener."""
        ...

    def stop(self) -> None:
        """Do the jobs that were ordered, then stop.

        Calls of `search`, `search_in_pieces` and `read_in_pieces`, and flushes that wait, are dropped.
        """
        ...

    def store(self, state: ElectionState, done: Callable[[None], None]) -> None:
        """Store the election state; `done` is called when it is durable."""
        ...

    def append(self, batches: Sequence[Batch], aborted: Sequence[AbortedTransaction] = ()) -> None:
        """Append batches to the log, and the transactions that they abort to the index of aborted transactions."""
        ...

    def truncate(self, end_offset: Offset) -> None:
        """Remove the records at `end_offset` and above."""
        ...

    def flush(self, flush: FlushLog) -> None:
        """Flush the log after all jobs that were ordered before. A newer flush may be reported in its place."""
        ...

    def keep_in_page_cache(self, is_kept: bool) -> None:
        """Decide whether flushed records stay in the page cache, for readers; see `Files`."""
        ...

    def read(self, read: ReadRange, done: Callable[[bytes | CorruptBatchError], None]) -> None:
        """Read records after all jobs that were ordered before; `done` is called with them.

        Records behind damage are left out. If the first one is damaged, `done` is called with the error (LOG-29).
        """
        ...

    def read_in_pieces(
        self,
        read: ReadRange,
        parse: Callable[[bytes, Log], Result],
        done: Callable[[Result | CorruptBatchError], None],
    ) -> None:
        """Read committed records for a client, as `read` does. Other jobs are done first; see `PiecewiseRead`."""
        ...

    def search(self, work: Callable[[Log], Result], done: Callable[[Result | CorruptBatchError], None]) -> None:
        """Search the committed log for a client, after other jobs; `done` is called with what `work` returns or raises.

        Only a CorruptBatchError may be raised: the log is damaged where it was searched.
        """
        ...

    def search_in_pieces(
        self, work: Callable[[Log], Generator[None, None, Result]], done: Callable[[Result | CorruptBatchError], None]
    ) -> None:
        """Search the log, as `search` does; where `work` yields, other jobs are done. See `PiecewiseSearch`."""
        ...

    def check(self, snapshot: OffsetAndEpoch | None, base_offsets: Sequence[Offset]) -> None:
        """Look for damage in a snapshot and in segments, in pieces, after other jobs; the listener is told of it."""
        ...

    def repair(self, order: RepairLog, done: Callable[[bool], None]) -> None:
        """Replace damaged batches, after other jobs; `done` is called with whether they are sound now."""
        ...

    def store_snapshot_piece(self, piece: StoreSnapshotPiece) -> None:
        """Write a piece of a snapshot that is being fetched."""
        ...

    def check_snapshot(self, snapshot: OffsetAndEpoch, done: Callable[[SnapshotSummary | None], None]) -> None:
        """Check a snapshot that was fetched completely; `done` gets what it holds, None if it is damaged."""
        ...

    def install_snapshot(self, contents: SnapshotSummary) -> None:
        """Replace the log with a snapshot that was checked."""
        ...

    def roll(self, image: ProducerStateImage) -> None:
        """Begin a new segment, at whose start a snapshot can end.

        Args:
            image: the writers and transactions at the end of the log.
        """
        ...

    def cut(self, start: OffsetAndEpoch) -> None:
        """Remove the log before the end of a snapshot."""
        ...

    def look(self, work: Callable[[ReplicaDirectory], Result], done: Callable[[Result], None]) -> None:
        """Look at the directory, after other jobs; `done` is called with what `work` returns."""
        ...

    def write_producer_snapshot(self, image: ProducerStateImage) -> None:
        """Write the writers and transactions to disk."""
        ...

    def retry(self) -> None:
        """Do the jobs again for which the disk had no room."""
        ...

    @property
    def waits_for_room(self) -> bool:
        """Whether a job waits because the disk has no room."""
        ...

    def note_committed(self, offset: Offset) -> None:
        """Note, for the next checkpoint, that all records below `offset` are committed."""
        ...
