"""Bugs of starts that trust the log, and of the scrub."""

from __future__ import annotations

from dataclasses import replace

import pytest

from raft.core import RaftCore
from raft.epoch_cache import EpochCache
from raft.storage.damage import DamagedPart
from raft.storage.recovery import Recovery
from raft.storage.scrub import Scrub
from raft.storage.segment import Segment
from raft.storage.snapshots import SnapshotFolder
from raft.storage.survey import Survey
from raft.transactions import ProducerStateImage
from raft.types import BatchHeader, Offset
from tests.simulation.mutations import needs
from tests.simulation.mutations.mutation import mutation


@mutation(breaks=("LOG-25",), caught_by=("NodesRestart", "NoUnexpectedErrors"), needs=needs.full_segments)
def indexes_are_not_flushed_before_they_are_listed(patch: pytest.MonkeyPatch) -> None:
    """A full segment is listed although its indexes may be lost at a power cut."""
    patch.setattr(Segment, "flush_indexes", lambda _segment: None)


@mutation(breaks=("LOG-25", "LOG-22"), caught_by=("WriterTableMatchesLog", "TransactionTableMatchesLog"))
def uncommitted_writers_are_stored_at_a_stop(patch: pytest.MonkeyPatch) -> None:
    """The producer snapshot of a clean stop has batches that may be truncated later, and says that it has not."""

    def with_all_batches(core: RaftCore) -> ProducerStateImage:
        state = core._state
        return state.producers.image(min(state.known_committed, state.log.end_offset))

    patch.setattr(RaftCore, "committed_producers", with_all_batches)


@mutation(breaks=("LOG-25", "LOG-22"), caught_by=("WriterTableMatchesLog", "TransactionTableMatchesLog"))
def batches_of_trusted_segments_are_not_counted(patch: pytest.MonkeyPatch) -> None:
    """A start does not count the batches between the producer snapshot and the segments that it reads."""
    patch.setattr(Recovery, "trusted_headers", lambda _recovery, _offset: iter(()))


@mutation(breaks=("LOG-26",), caught_by=("DamageIsFound", "QuorumRecovers"), needs=needs.flipped_bits)
def scrub_leaves_out_full_segments(patch: pytest.MonkeyPatch) -> None:
    """The scrub checks the last segment only."""
    advance = Survey.advance

    def advance_in_last(survey: Survey, max_bytes: int, end_offset: Offset) -> list[DamagedPart]:
        if survey._segment.summary is None:
            return advance(survey, max_bytes, end_offset)
        survey.position, survey.offset = survey._segment.size_bytes, survey._end_offset
        return []

    patch.setattr(Survey, "advance", advance_in_last)


@mutation(breaks=("LOG-26",), caught_by=("DamageIsFound", "QuorumRecovers"), needs=needs.damaged_snapshots)
def scrub_leaves_out_snapshots(patch: pytest.MonkeyPatch) -> None:
    """The scrub checks the log only."""
    patch.setattr(Scrub, "_check_snapshots", lambda _scrub, _max_bytes: False)


@mutation(breaks=("LOG-26",), caught_by=("NoUnexpectedErrors",))
def scrub_expects_snapshots_that_were_removed(patch: pytest.MonkeyPatch) -> None:
    """The scrub does not look whether a snapshot is still there before it reads it."""
    patch.setattr(SnapshotFolder, "has", lambda _folder, _snapshot: True)


@mutation(breaks=("LOG-26",), caught_by=("SoundLogHasNoDamage",))
def scrub_takes_rising_epochs_for_damage(patch: pytest.MonkeyPatch) -> None:
    """The scrub expects one epoch in the whole log."""
    check = Survey._check_place

    def check_place(survey: Survey, header: BatchHeader) -> None:
        last = survey._epochs.entries[-1]
        survey._epochs = EpochCache((replace(last, start_offset=Offset(0)),))
        check(survey, header)

    patch.setattr(Survey, "_check_place", check_place)
