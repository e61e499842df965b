"""Appends of clients (rules CLIENT-6, CLIENT-8; LOG-5; exactly-once writes)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import assert_never

from raft.core.appender import Appender
from raft.core.disk_room import FULL_DISK
from raft.core.events import AppendRequested
from raft.core.held_writes import hold, is_to_be_held
from raft.core.read_index import respond_when_confirmed, wait_for_commit
from raft.core.roles import Leader
from raft.core.state import State
from raft.core.transactions import abort_parts, commit_parts, judge_transactional, start_timeout, unfit_parts
from raft.core.waiting_requests import PendingAppend
from raft.errors import ErrorCode
from raft.types import FIRST_KEYED_PRODUCER_ID, Offset, WriteCommit
from raft.writers import Accepted, Refused, Repeated, Verdict, WriteId


def on_appends(state: State, events: Sequence[AppendRequested], now_ms: int) -> None:
    """Append new batches and recognise repeated ones; each response is sent when its batch is committed (HW-6).

    Whether a batch is new is decided against the whole log up to its end. A client cannot decide it by reading: a write
    whose response was lost may be uncommitted in the next leader's log, and be committed later. Batches that came
    together are checked in order, each against the log with those before it, and are written and flushed together.

    Args:
        state: of any role; only a leader appends.
        events: the appends, in the order in which they came.
        now_ms: the present time.
    """
    appender = Appender(state)
    for event in events:
        _handle(state, appender, event, now_ms)
    appender.finish(now_ms)


def _handle(state: State, appender: Appender, event: AppendRequested, now_ms: int) -> None:
    if not isinstance(state.role, Leader):
        state.respond_to_append(event.request_id, ErrorCode.NOT_LEADER_OR_FOLLOWER)
        return
    verdict = _judge(state, event)
    header = event.batch.header
    if isinstance(verdict, Accepted) and not header.is_control and not state.disk_room.holds(header.size_bytes):
        # Control records end transactions and are small: the reserve has room for them.
        verdict = Refused(error=ErrorCode.STORAGE_ERROR, message=FULL_DISK)
    match verdict:
        case Accepted() if is_to_be_held(state, header, now_ms):
            hold(state, event, now_ms)
        case Accepted():
            base_offset = _append(state, appender, event, now_ms)
            _wait_for_commit(state, event, base_offset, state.log.end_offset, now_ms)
        case Repeated():
            _wait_for_commit(state, event, verdict.base_offset, verdict.end_offset, now_ms)
        case Refused(base_offset=int() as base_offset, end_offset=int() as end_offset):
            _wait_for_commit(state, event, Offset(base_offset), Offset(end_offset), now_ms, refused=verdict)
        case Refused() if isinstance(event.batch.header.control_value, WriteCommit):
            # A successor that this leader does not know of may have the parts.
            refusal = _pending(event, None, state.log.end_offset, now_ms, refused=verdict)
            respond_when_confirmed(state, refusal)
        case Refused():
            state.respond_to_append(event.request_id, verdict.error, message=verdict.message)
        case _:
            assert_never(verdict)


def _judge(state: State, event: AppendRequested) -> Verdict:
    header = event.batch.header
    if header.is_transactional:
        return judge_transactional(state, event)
    if event.transactional_id is not None:
        return Refused(error=ErrorCode.INVALID_TXN_STATE, message="a batch that is not transactional, in a transaction")
    if header.producer_id is not None and state.transactions.producer_with(header.producer_id) is not None:
        return Refused(
            error=ErrorCode.INVALID_TXN_STATE, message="a producer with a transactional id writes in transactions only"
        )
    verdict = state.writers.judge(header)
    if isinstance(verdict, Accepted) and isinstance(header.control_value, WriteCommit):
        return unfit_parts(state, header, header.control_value) or verdict
    return verdict


def _append(state: State, appender: Appender, event: AppendRequested, now_ms: int) -> Offset:
    """Append a batch, and the markers that belong to it; return its base offset."""
    header, commit = event.batch.header, event.batch.header.control_value
    if state.transactions.has_parts and (header.producer_id or 0) >= FIRST_KEYED_PRODUCER_ID:
        winners = [part.producer_id for part in commit.parts] if isinstance(commit, WriteCommit) else []
        abort_parts(state, appender, WriteId.of(header), but=winners)
    base_offset = appender.add(event.batch)
    if header.is_transactional:
        start_timeout(state, header, now_ms)
    elif isinstance(commit, WriteCommit):
        commit_parts(state, appender)
    return base_offset


def _wait_for_commit(
    state: State,
    event: AppendRequested,
    base_offset: Offset,
    end_offset: Offset,
    now_ms: int,
    *,
    refused: Refused | None = None,
) -> None:
    """Respond when everything below `end_offset` is committed, and every transaction that has ended so far.

    A multipart write ends with its last marker, which may be far behind its commit if leaders changed between them.
    """
    end_offset = max(end_offset, state.transactions.ends_committed_at)
    wait_for_commit(state, _pending(event, base_offset, end_offset, now_ms, refused=refused))


def _pending(
    event: AppendRequested, base_offset: Offset | None, end_offset: Offset, now_ms: int, *, refused: Refused | None
) -> PendingAppend:
    error, message = (refused.error, refused.message) if refused is not None else (ErrorCode.NONE, None)
    return PendingAppend(
        request_id=event.request_id,
        base_offset=base_offset,
        end_offset=end_offset,
        error=error,
        message=message,
        deadline_ms=now_ms + event.timeout_ms,
    )
