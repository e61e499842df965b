"""Bugs of responses to clients, and of the check for repeated writes."""

from __future__ import annotations

from collections.abc import Sequence
from copy import deepcopy
from dataclasses import replace

import pytest

from raft.core import fetches, machine
from raft.core.appends import on_appends
from raft.core.events import AppendRequested
from raft.core.fetches import _client_error, on_client_fetch
from raft.core.messages import ClientFetchRequest
from raft.core.roles import Leader
from raft.core.state import State
from raft.errors import ErrorCode
from raft.records.batch import build_batch
from raft.records.header import read_header
from raft.records.record import Record
from raft.types import FIRST_KEYED_PRODUCER_ID, Batch, BatchHeader
from raft.writers import Accepted, Refused, Repeated, WriterTable, table
from raft.writers.table import Verdict
from raft.writers.written import Written
from tests.simulation.mutations.mutation import mutation


@mutation(breaks=("CLIENT-8",), caught_by=("WrittenOnce",))
def key_checked_without_the_uncommitted_tail(patch: pytest.MonkeyPatch) -> None:
    """A write counts as new until it is committed, although it may be in the log already."""
    judge = WriterTable.judge

    def judge_committed_only(writers: WriterTable, header: BatchHeader) -> Verdict:
        if writers._undo:
            writers = deepcopy(writers)
            writers.truncated(writers._undo[0].base_offset)
        return judge(writers, header)

    patch.setattr(WriterTable, "judge", judge_committed_only)


@mutation(breaks=("CLIENT-8",), caught_by=("WritersKeepTheirOrder",))
def sequence_gap_accepted(patch: pytest.MonkeyPatch) -> None:
    """A producer's batch is appended although an earlier one is missing."""
    _accept_instead_of(patch, ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER)


@mutation(breaks=("CLIENT-8",), caught_by=("WrittenOnce", "WritersKeepTheirOrder"))
def older_version_accepted(patch: pytest.MonkeyPatch) -> None:
    """A write of an older version is appended after a newer one."""
    _accept_instead_of(patch, ErrorCode.DUPLICATE_SEQUENCE_NUMBER)


@mutation(breaks=("CLIENT-8",), caught_by=("AppendResponsesAreCorrect",))
def older_version_refused_before_the_newer_commits(patch: pytest.MonkeyPatch) -> None:
    """A write of an older version is refused as superseded while the newer one may still be truncated."""
    judge = WriterTable.judge

    def judge_at_once(writers: WriterTable, header: BatchHeader) -> Verdict:
        verdict = judge(writers, header)
        return replace(verdict, base_offset=None, end_offset=None) if isinstance(verdict, Refused) else verdict

    patch.setattr(WriterTable, "judge", judge_at_once)


@mutation(breaks=("CLIENT-8",), caught_by=("AppendResponsesAreCorrect",))
def newer_version_acknowledged_as_repeated(patch: pytest.MonkeyPatch) -> None:
    """A new version of a key is acknowledged with the offset of the last one, and not appended."""
    judge = WriterTable.judge

    def judge_by_writer_only(writers: WriterTable, header: BatchHeader) -> Verdict:
        is_keyed = (header.producer_id or 0) >= FIRST_KEYED_PRODUCER_ID
        history = writers._remembered(header.producer_id or 0) if is_keyed else None
        verdict = judge(writers, header)
        if history is None or not isinstance(verdict, Accepted):
            return verdict
        return Repeated(base_offset=history[-1].base_offset, end_offset=history[-1].end_offset)

    patch.setattr(WriterTable, "judge", judge_by_writer_only)


@mutation(breaks=("CLIENT-11",), caught_by=("AppendResponsesAreCorrect",))
def other_content_acknowledged_as_repeated(patch: pytest.MonkeyPatch) -> None:
    """Other rows under a written key are acknowledged, and not appended."""
    patch.setattr(table, "_judge_repeated_key", lambda written, *_: _repeated(written))


@mutation(breaks=("CLIENT-11",), caught_by=("AppendResponsesAreCorrect",))
def content_compared_by_record_count(patch: pytest.MonkeyPatch) -> None:
    """Other rows under a written key are acknowledged if their number is the same."""
    judge = table._judge_repeated_key

    def judge_by_count(written: Written, header: BatchHeader, version: int) -> Verdict:
        is_same = written.record_count == header.record_count
        return _repeated(written) if is_same else judge(written, header, version)

    patch.setattr(table, "_judge_repeated_key", judge_by_count)


@mutation(breaks=("CLIENT-11",), caught_by=("WrittenOnce", "WritersKeepTheirOrder"))
def other_content_accepted(patch: pytest.MonkeyPatch) -> None:
    """Other rows under a written key are appended."""
    _accept_instead_of(patch, ErrorCode.DUPLICATE_RESOURCE)


@mutation(breaks=("CLIENT-8",), caught_by=("AppendResponsesAreCorrect",))
def repeated_write_refused_as_other_content(patch: pytest.MonkeyPatch) -> None:
    """A repeated write is refused as if it had other rows."""

    def refuse(written: Written, *_: object) -> Verdict:
        return Refused(
            error=ErrorCode.DUPLICATE_RESOURCE, base_offset=written.base_offset, end_offset=written.end_offset
        )

    patch.setattr(table, "_judge_repeated_key", refuse)


@mutation(breaks=("CLIENT-8",), caught_by=("WrittenOnce", "WritersKeepTheirOrder", "AppendResponsesAreCorrect"))
def coalesced_appends_not_checked_against_each_other(patch: pytest.MonkeyPatch) -> None:
    """Each of several coalesced appends is checked against the log as it was before the first of them."""

    def append_with_old_verdicts(state: State, events: Sequence[AppendRequested], now_ms: int) -> None:
        verdicts = iter([state.writers.judge(event.batch.header) for event in events])
        with pytest.MonkeyPatch.context() as inner:
            inner.setattr(WriterTable, "judge", lambda _table, _header: next(verdicts))
            on_appends(state, events, now_ms)

    patch.setattr(machine, "on_appends", append_with_old_verdicts)


@mutation(breaks=("CLIENT-6",), caught_by=("OnlyRequestedWritesAreCommitted",))
def leader_appends_an_extra_record(patch: pytest.MonkeyPatch) -> None:
    """A leader appends a record of its own behind the records of clients."""

    def append_more(state: State, events: Sequence[AppendRequested], now_ms: int) -> None:
        end_before = state.log.end_offset
        on_appends(state, events, now_ms)
        if state.log.end_offset > end_before:
            payload = build_batch([Record(value=b"extra")], base_offset=state.log.end_offset, epoch=state.epoch)
            state.append((Batch(header=read_header(payload), payload=payload),))

    patch.setattr(machine, "on_appends", append_more)


@mutation(breaks=("CLIENT-2", "FETCH-29"), caught_by=("ReadsAreCommitted", "CompactedReadsAreCommitted"))
def core_serves_records_above_the_high_watermark(patch: pytest.MonkeyPatch) -> None:
    """A leader serves its whole log to clients."""

    def serve(state: State, request_id: int, request: ClientFetchRequest, now_ms: int) -> None:
        known = state.high_watermark
        if isinstance(state.role, Leader):
            state.high_watermark = state.log.end_offset
        on_client_fetch(state, request_id, request, now_ms)
        state.high_watermark = known

    patch.setattr(machine, "on_client_fetch", serve)


@mutation(breaks=("CLIENT-3",), caught_by=("ReadOffsetsStayValid",))
def lagging_follower_responds_offset_out_of_range(patch: pytest.MonkeyPatch) -> None:
    """A follower that does not have an offset yet responds with OFFSET_OUT_OF_RANGE."""

    def error_of(state: State, request: ClientFetchRequest) -> ErrorCode:
        error = _client_error(state, request)
        return ErrorCode.OFFSET_OUT_OF_RANGE if error == ErrorCode.OFFSET_NOT_AVAILABLE else error

    patch.setattr(fetches, "_client_error", error_of)


@mutation(breaks=("CLIENT-1",), caught_by=("ReadOffsetsStayValid", "ReadersSeeCommittedTransactions"))
def deposed_leader_ignores_the_epoch_of_a_client(patch: pytest.MonkeyPatch) -> None:
    """A deposed leader serves a client that has sent a higher epoch than the leader's."""

    def serve(state: State, request_id: int, request: ClientFetchRequest, now_ms: int) -> None:
        on_client_fetch(state, request_id, replace(request, epoch=None), now_ms)

    patch.setattr(machine, "on_client_fetch", serve)


def _repeated(written: Written) -> Repeated:
    return Repeated(base_offset=written.base_offset, end_offset=written.end_offset)


def _accept_instead_of(patch: pytest.MonkeyPatch, error: ErrorCode) -> None:
    """Make the table accept every batch that it would refuse with this error."""
    judge = WriterTable.judge

    def judge_and_accept(writers: WriterTable, header: BatchHeader) -> Verdict:
        verdict = judge(writers, header)
        return Accepted() if isinstance(verdict, Refused) and verdict.error == error else verdict

    patch.setattr(WriterTable, "judge", judge_and_accept)
