"""Bugs of logs that differ, and of what is cut off them."""

from __future__ import annotations

import pytest

from raft.core import following, moves
from raft.core.log_view import Agreement, LogView
from raft.core.moves import become_leader
from raft.core.state import State
from raft.types import Offset, OffsetAndEpoch
from raft.writers import WriterTable
from tests.simulation.mutations.mutation import mutation


@mutation(breaks=("DIVERGE-5", "FETCH-22"), caught_by=("QuorumRecovers",))
def no_truncation(patch: pytest.MonkeyPatch) -> None:
    """A follower whose log leaves its leader's keeps it as it is, and never gets any further."""
    patch.setattr(following, "_truncate", lambda _state, _diverging: None)


@mutation(breaks=("DIVERGE-7",), caught_by=("CommittedIsNotTruncated",))
def truncation_below_the_high_watermark(patch: pytest.MonkeyPatch) -> None:
    """A follower whose log leaves its leader's starts over with an empty one."""
    patch.setattr(following, "_truncate", lambda state, _diverging: state.truncate(Offset(0)))


@mutation(breaks=("DIVERGE-5",), caught_by=("QuorumRecovers", "ViewMatchesLog"))
def truncation_not_far_enough(patch: pytest.MonkeyPatch) -> None:
    """A follower cuts where its leader's epoch ends, and does not look where its own does."""

    def truncation_offset(view: LogView, diverging: OffsetAndEpoch) -> Offset:
        return min(diverging.offset, view.end_offset)

    patch.setattr(LogView, "truncation_offset", truncation_offset)


@mutation(
    breaks=("DIVERGE-1", "DIVERGE-3"),
    caught_by=("LogsMatch", "CommittedNeverChanges", "CommittedIsDurable", "CommitNeedsRecordOfOwnEpoch"),
)
def leader_does_not_compare_logs(patch: pytest.MonkeyPatch) -> None:
    """A leader serves whoever asks from the offset that he names, whatever lies before it in his log."""
    patch.setattr(LogView, "agreement", lambda _view, _fetch_offset, _last_fetched_epoch: Agreement.VALID)


@mutation(breaks=("TEST-9",), caught_by=("LeadersOnlyAppend", "LeadersAreComplete"))
def new_leader_cleans_up(patch: pytest.MonkeyPatch) -> None:
    """A new leader cuts off what it does not know to be committed, before it begins its epoch."""

    def cut_and_lead(state: State, *, now_ms: int) -> None:
        committed_end = state.high_watermark
        if committed_end is not None and committed_end < state.log.end_offset:
            state.truncate(committed_end)
        become_leader(state, now_ms=now_ms)

    patch.setattr(moves, "become_leader", cut_and_lead)


@mutation(breaks=("DIVERGE-6",), caught_by=("ViewMatchesLog",))
def epochs_not_cut(patch: pytest.MonkeyPatch) -> None:
    """A truncation leaves the cut off epochs in the cache."""

    def truncate(view: LogView, end_offset: Offset) -> None:
        view.end_offset = min(view.end_offset, end_offset)

    patch.setattr(LogView, "truncate", truncate)


@mutation(breaks=("CLIENT-8",), caught_by=("WriterTableMatchesLog", "AppendResponsesAreCorrect"))
def writers_not_cut(patch: pytest.MonkeyPatch) -> None:
    """The table of writers keeps the writes that were cut off with the log."""
    patch.setattr(WriterTable, "truncated", lambda _table, _end_offset: None)
