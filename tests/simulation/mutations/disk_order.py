"""Bugs in the order of a disk's jobs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import pytest

from raft.core.effects import FlushLog, ReadRange, StoreElectionState, TruncateLog
from raft.runtime.disk import Disk, DiskEffect
from raft.runtime.flusher import Flusher
from raft.runtime.job_queue import JobQueue, Passing, _Job
from raft.runtime.piecewise_read import PiecewiseRead
from tests.simulation.mutations.mutation import mutation

Result = TypeVar("Result")


def _changes(patch: pytest.MonkeyPatch, kind: type, change: Callable[[Disk, Any, Any], None]) -> None:
    """Replace what the disk does with effects of one kind."""
    do = Disk.do

    def do_or_change(disk: Disk, effect: DiskEffect, done: Callable[[Any], None] | None = None) -> None:
        if isinstance(effect, kind):
            change(disk, effect, done)
        else:
            do(disk, effect, done)

    patch.setattr(Disk, "do", do_or_change)


@mutation(breaks=("LOG-6",), caught_by=("FetchOffsetIsDurable", "CommittedIsDurable", "CheckpointIsCommitted"))
def flush_done_before_an_earlier_append(patch: pytest.MonkeyPatch) -> None:
    """A flush does not wait for earlier jobs: it may be done before the records that it has to cover are written."""
    _changes(patch, FlushLog, lambda disk, order, _done: disk._order_flush(order))


@mutation(breaks=("STATE-5",), caught_by=("StoredBeforeSent", "RoleIsStored"))
def election_state_reported_before_it_is_stored(patch: pytest.MonkeyPatch) -> None:
    """The engine counts an election state as stored when its job is queued."""
    do = Disk.do

    def store_later(disk: Disk, effect: StoreElectionState, done: Callable[[None], None]) -> None:
        disk._workers.post(lambda: done(None))
        do(disk, effect, lambda _: None)

    _changes(patch, StoreElectionState, store_later)


@mutation(
    breaks=("DIVERGE-6",),
    caught_by=("NoUnexpectedErrors", "LogsMatch", "RecoveredLogMatchesWrites", "FetchOffsetIsDurable"),
)
def truncation_done_after_later_appends(patch: pytest.MonkeyPatch) -> None:
    """A truncation is done after appends that were ordered after it."""

    def truncate_later(disk: Disk, effect: TruncateLog, _done: object) -> None:
        disk._jobs.put_later(lambda: disk._locked(lambda: disk._directory.truncate(effect.end_offset)))

    _changes(patch, TruncateLog, truncate_later)


@mutation(
    breaks=("LOG-6",),
    caught_by=(
        "NoUnexpectedErrors",
        "LogsMatch",
        "RecoveredLogMatchesWrites",
        "FetchOffsetIsDurable",
        "ReadsFindRecords",
    ),
)
def disk_jobs_done_last_in_first_out(patch: pytest.MonkeyPatch) -> None:
    """The newest of the waiting jobs is done first."""

    def put_first(
        self: JobQueue,
        work: Callable[[], Result],
        done: Callable[[Result], None] | None = None,
        *,
        passing: Passing = Passing.NOTHING,
    ) -> None:
        self._jobs.appendleft(_Job(work, done, passing))  # type: ignore[arg-type]  # the pair fits together
        self._wake()

    patch.setattr(JobQueue, "put", put_first)


@mutation(breaks=("FETCH-10",), caught_by=("ReadsFindRecords",))
def read_done_before_an_earlier_append(patch: pytest.MonkeyPatch) -> None:
    """A read for a follower does not wait for earlier appends, and finds no records."""

    def read_at_once(self: Disk, read: ReadRange, done: Callable[[bytes], None]) -> None:
        log = self._directory.log
        done(log.read(read.start_offset, max_bytes=read.max_bytes, end_offset=min(read.end_offset, log.end_offset)))

    patch.setattr(Disk, "read", read_at_once)


@mutation(breaks=("CLIENT-2", "TXN-10"), caught_by=("ReadsFindRecords",))
def read_for_a_client_done_before_an_earlier_append(patch: pytest.MonkeyPatch) -> None:
    """A job that can wait is taken after the last urgent one, although an append was put before it in between."""

    def take_last(self: JobQueue) -> bool:
        self.do_urgent()
        if self._later:
            self._do([self._later.popleft()])
        return self.has_later

    patch.setattr(JobQueue, "do_waiting", take_last)


@mutation(
    breaks=("CLIENT-2",),
    # Or the reader's check of what it was sent finds that records are missing.
    caught_by=("ReadsAreCommitted", "ReadersFollowCommittedLog", "CompactedReadsAreCommitted", "NoUnexpectedErrors"),
)
def only_the_last_piece_of_a_read_returned(patch: pytest.MonkeyPatch) -> None:
    """A read in several pieces returns only the last of them."""
    read_piece = PiecewiseRead._read_piece

    def drop_earlier_pieces(self: PiecewiseRead[object]) -> tuple[object] | None:
        self._found.clear()
        return read_piece(self)

    patch.setattr(PiecewiseRead, "_read_piece", drop_earlier_pieces)


@mutation(breaks=("LOG-6",), caught_by=("QuorumRecovers",))
def second_flush_order_dropped(patch: pytest.MonkeyPatch) -> None:
    """A flush that is ordered while another one waits is dropped, so its number is never reported."""
    order = Flusher.order

    def order_once(self: Flusher, flush: FlushLog) -> None:
        if not self._orders:
            order(self, flush)

    patch.setattr(Flusher, "order", order_once)
