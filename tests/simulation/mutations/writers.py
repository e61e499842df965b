"""Bugs of the table of writers: what is forgotten, when, and what of it is on the disk."""

from __future__ import annotations

from dataclasses import replace
from itertools import count, islice

import pytest

from raft.core.state import State
from raft.storage.producer_snapshots import ProducerSnapshots
from raft.types import BatchHeader, Offset
from raft.writers import TableImage, WriterExpiry, WriterTable, table
from tests.simulation.mutations.mutation import mutation


@mutation(breaks=("LOG-22",), caught_by=("WriterTableMatchesLog",))
def snapshot_forgets_a_writer(patch: pytest.MonkeyPatch) -> None:
    """A producer snapshot leaves out the writer that wrote last."""
    write = ProducerSnapshots.write

    def write_less(snapshots: ProducerSnapshots, image: TableImage) -> None:
        entries = sorted(image.histories.items(), key=lambda entry: entry[1][-1].base_offset)
        write(snapshots, replace(image, histories=dict(islice(entries, max(len(entries) - 1, 0)))))

    patch.setattr(ProducerSnapshots, "write", write_less)


@mutation(breaks=("LOG-22",), caught_by=("WriterTableMatchesLog",))
def snapshot_of_what_may_be_cut_off(patch: pytest.MonkeyPatch) -> None:
    """A start begins with the newest producer snapshot, committed or not, and cannot undo what it counts in."""
    newest = ProducerSnapshots.newest

    def newest_of_all(snapshots: ProducerSnapshots, *, at_most: Offset) -> TableImage | None:
        del at_most
        return newest(snapshots, at_most=Offset(1 << 62))

    patch.setattr(ProducerSnapshots, "newest", newest_of_all)


@mutation(breaks=("LOG-22",), caught_by=("WriterTableMatchesLog",))
def snapshot_not_removed_by_a_truncation(patch: pytest.MonkeyPatch) -> None:
    """A producer snapshot outlives the truncation of what it counts, and is used once the offsets are written again."""
    patch.setattr(ProducerSnapshots, "remove_after", lambda _snapshots, _end_offset: None)


@mutation(breaks=("CLIENT-13",), caught_by=("WriterTableMatchesLog", "WritersExpire"))
def expiry_by_the_nodes_own_clock(patch: pytest.MonkeyPatch) -> None:
    """Each node dates a write by when it comes to read it: every table has its own times, and forgets at its own."""
    ticks = count(1_700_000_000_000)
    patch.setattr(table, "log_time_after", lambda _log_time_ms, _header: next(ticks))


@mutation(breaks=("CLIENT-8",), caught_by=("WriterTableMatchesLog",))
def undo_dropped_too_early(patch: pytest.MonkeyPatch) -> None:
    """A node forgets how to undo a write as soon as it has written it, though it may be cut off."""
    append = State.append

    def append_for_good(state: State, batches: tuple[object, ...]) -> None:
        append(state, batches)  # type: ignore[arg-type]  # whatever it takes
        state.writers.committed(state.log.end_offset)

    patch.setattr(State, "append", append_for_good)


@mutation(breaks=("CLIENT-13",), caught_by=("WritersExpire",))
def writers_never_forgotten(patch: pytest.MonkeyPatch) -> None:
    """However late it is in the log, every writer is remembered."""
    patch.setattr(WriterTable, "_forget_expired", lambda _table, _undo: None)


@mutation(breaks=("CLIENT-13",), caught_by=("WrittenOnce", "WritersExpire", "QuorumRecovers"))
def newest_writers_not_kept(patch: pytest.MonkeyPatch) -> None:
    """When log time leaps, every writer is forgotten, those that wrote a moment ago too."""
    new_table = WriterTable.__init__

    def without_newest(writers: WriterTable, *, expiry: WriterExpiry) -> None:
        new_table(writers, expiry=replace(expiry, newest_kept=0))

    patch.setattr(WriterTable, "__init__", without_newest)


@mutation(breaks=("CLIENT-13",), caught_by=("WriterTableMatchesLog",))
def control_batches_move_log_time(patch: pytest.MonkeyPatch) -> None:
    """A follower counts the time of a leader's control batch, which the leader's own core has never seen."""
    appended = WriterTable.appended

    def with_control(writers: WriterTable, header: BatchHeader) -> None:
        appended(writers, replace(header, producer_id=None, control_types=()) if header.is_control else header)

    patch.setattr(WriterTable, "appended", with_control)
