"""Bugs of the table of writers: expiry, undo and producer snapshots."""

from __future__ import annotations

from dataclasses import replace
from itertools import count, islice

import pytest

from raft.core.state import State
from raft.storage.producer_snapshots import ProducerSnapshots
from raft.transactions import ProducerStateImage
from raft.types import BatchHeader, Offset
from raft.writers import WriterExpiry, WriterTable, table
from tests.simulation.mutations.mutation import mutation


@mutation(breaks=("LOG-22",), caught_by=("WriterTableMatchesLog", "SnapshotsHoldTheState"))
def snapshot_without_the_last_writer(patch: pytest.MonkeyPatch) -> None:
    """A producer snapshot does not contain the last writer."""
    write = ProducerSnapshots.write

    def write_less(snapshots: ProducerSnapshots, image: ProducerStateImage, *, last_segment: Offset) -> None:
        entries = sorted(image.writers.histories.items(), key=lambda entry: entry[1][-1].base_offset)
        less = replace(image.writers, histories=dict(islice(entries, max(len(entries) - 1, 0))))
        write(snapshots, replace(image, writers=less), last_segment=last_segment)

    patch.setattr(ProducerSnapshots, "write", write_less)


@mutation(breaks=("LOG-22",), caught_by=("WriterTableMatchesLog", "TransactionTableMatchesLog"))
def uncommitted_snapshot_loaded_on_restart(patch: pytest.MonkeyPatch) -> None:
    """A start loads the newest producer snapshot, committed or not, and cannot undo the uncommitted writes in it."""
    newest = ProducerSnapshots.newest

    def newest_of_all(snapshots: ProducerSnapshots, *, at_most: Offset) -> ProducerStateImage | None:
        del at_most
        return newest(snapshots, at_most=Offset(1 << 62))

    patch.setattr(ProducerSnapshots, "newest", newest_of_all)


@mutation(
    breaks=("LOG-22",), caught_by=("WriterTableMatchesLog", "TransactionTableMatchesLog", "SnapshotsHoldTheState")
)
def snapshot_not_removed_by_truncation(patch: pytest.MonkeyPatch) -> None:
    """A truncation leaves snapshots of truncated offsets, and a start loads them once these are written again."""
    patch.setattr(ProducerSnapshots, "remove_after", lambda _snapshots, _end_offset: None)


@mutation(breaks=("CLIENT-13",), caught_by=("WriterTableMatchesLog", "WritersExpire"))
def writers_expire_by_the_node_clock(patch: pytest.MonkeyPatch) -> None:
    """Each node uses its own clock as the time of a write, so that writers expire at different offsets."""
    ticks = count(1_700_000_000_000)
    patch.setattr(table, "log_time_after", lambda _log_time_ms, _header: next(ticks))


@mutation(breaks=("CLIENT-8",), caught_by=("WriterTableMatchesLog",))
def undo_dropped_before_the_commit(patch: pytest.MonkeyPatch) -> None:
    """A node drops the undo data of a write when it appends it, though it may still be truncated."""
    append = State.append

    def append_without_undo(state: State, batches: tuple[object, ...]) -> None:
        append(state, batches)  # type: ignore[arg-type]  # whatever it takes
        state.writers.committed(state.log.end_offset)

    patch.setattr(State, "append", append_without_undo)


@mutation(breaks=("CLIENT-13",), caught_by=("WritersExpire",))
def writers_never_expire(patch: pytest.MonkeyPatch) -> None:
    """No writer ever expires."""
    patch.setattr(WriterTable, "_forget_expired", lambda _table, _undo: None)


@mutation(breaks=("CLIENT-13",), caught_by=("WrittenOnce", "WritersExpire", "QuorumRecovers"))
def newest_writers_not_kept(patch: pytest.MonkeyPatch) -> None:
    """When log time jumps, every writer expires, also those that wrote just before."""
    new_table = WriterTable.__init__

    def without_newest(writers: WriterTable, *, expiry: WriterExpiry) -> None:
        new_table(writers, expiry=replace(expiry, newest_kept=0))

    patch.setattr(WriterTable, "__init__", without_newest)


@mutation(breaks=("CLIENT-13",), caught_by=("WriterTableMatchesLog", "WrittenOnce", "SnapshotsHoldTheState"))
def control_batches_advance_log_time(patch: pytest.MonkeyPatch) -> None:
    """Control batches advance log time at followers, though they do not at the leader, whose core never sees them."""
    appended = WriterTable.appended

    def with_control(writers: WriterTable, header: BatchHeader) -> None:
        appended(writers, replace(header, producer_id=None, control_types=()) if header.is_control else header)

    patch.setattr(WriterTable, "appended", with_control)
