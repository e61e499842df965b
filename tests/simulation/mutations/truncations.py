"""Bugs of divergence and truncation."""

from __future__ import annotations

import pytest

from raft.core import fetch_responses, moves
from raft.core.log_view import Agreement, LogView
from raft.core.moves import become_leader
from raft.core.state import State
from raft.types import Offset, OffsetAndEpoch
from raft.writers import WriterTable
from tests.simulation.mutations.mutation import mutation


@mutation(breaks=("DIVERGE-5", "FETCH-22"), caught_by=("QuorumRecovers",))
def diverging_log_not_truncated(patch: pytest.MonkeyPatch) -> None:
    """A follower whose log diverges does not truncate it, and never catches up."""
    patch.setattr(fetch_responses, "_truncate", lambda _state, _diverging: None)


@mutation(breaks=("DIVERGE-7",), caught_by=("CommittedIsNotTruncated",))
def truncation_below_the_high_watermark(patch: pytest.MonkeyPatch) -> None:
    """A follower whose log diverges truncates all of it."""
    patch.setattr(fetch_responses, "_truncate", lambda state, _diverging: state.truncate(Offset(0)))


@mutation(breaks=("DIVERGE-5",), caught_by=("QuorumRecovers", "ViewMatchesLog"))
def truncation_ignores_end_of_own_epoch(patch: pytest.MonkeyPatch) -> None:
    """A follower truncates to the leader's end of the diverging epoch, and ignores where that epoch ends here."""

    def truncation_offset(view: LogView, diverging: OffsetAndEpoch) -> Offset:
        return min(diverging.offset, view.end_offset)

    patch.setattr(LogView, "truncation_offset", truncation_offset)


@mutation(
    breaks=("DIVERGE-1", "DIVERGE-3"),
    caught_by=("LogsMatch", "CommittedNeverChanges", "CommittedIsDurable", "CommitNeedsRecordOfOwnEpoch"),
)
def leader_does_not_check_for_divergence(patch: pytest.MonkeyPatch) -> None:
    """A leader serves every fetch offset, and does not compare the last fetched epoch with its log."""
    patch.setattr(LogView, "agreement", lambda _view, _fetch_offset, _last_fetched_epoch: Agreement.VALID)


@mutation(breaks=("TEST-9",), caught_by=("LeadersOnlyAppend", "LeadersAreComplete"))
def new_leader_truncates_its_uncommitted_tail(patch: pytest.MonkeyPatch) -> None:
    """A new leader truncates its log to its high watermark before its epoch starts."""

    def truncate_and_lead(state: State, *, now_ms: int) -> None:
        committed_end = state.high_watermark
        if committed_end is not None and committed_end < state.log.end_offset:
            state.truncate(committed_end)
        become_leader(state, now_ms=now_ms)

    patch.setattr(moves, "become_leader", truncate_and_lead)


@mutation(breaks=("DIVERGE-6",), caught_by=("ViewMatchesLog",))
def epoch_cache_not_truncated(patch: pytest.MonkeyPatch) -> None:
    """A truncation leaves the truncated epochs in the epoch cache."""

    def truncate(view: LogView, end_offset: Offset) -> None:
        view.end_offset = min(view.end_offset, end_offset)

    patch.setattr(LogView, "truncate", truncate)


@mutation(breaks=("CLIENT-8",), caught_by=("WriterTableMatchesLog", "AppendResponsesAreCorrect"))
def writer_table_not_truncated(patch: pytest.MonkeyPatch) -> None:
    """The table of writers keeps the writes that were truncated."""
    patch.setattr(WriterTable, "truncated", lambda _table, _end_offset: None)
