"""Appends of clients (rules CLIENT-6, CLIENT-8; LOG-5; exactly-once writes)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import assert_never

from raft.core.events import AppendRequested
from raft.core.fetching import wake_fetches
from raft.core.parking import PendingAppend
from raft.core.roles import Leader
from raft.core.state import State
from raft.errors import ErrorCode
from raft.types import Batch, Offset
from raft.writers import Accepted, Refused, Repeated


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
    accepted: list[Batch] = []
    for event in events:
        batch = _judge(state, event, now_ms)
        if batch is not None:
            accepted.append(batch)
    if accepted:
        state.order_append(tuple(accepted))
        wake_fetches(state, now_ms, high_watermark_moved=False)


def _judge(state: State, event: AppendRequested, now_ms: int) -> Batch | None:
    """Return the batch with its offsets, counted in the log, if it is to be written; None if not."""
    if not isinstance(state.role, Leader):
        state.respond_to_append(event.request_id, ErrorCode.NOT_LEADER_OR_FOLLOWER)
        return None
    verdict = state.writers.judge(event.batch.header)
    match verdict:
        case Accepted():
            batch = _placed(state, event.batch)
            state.count_in(batch.header)
            _wait_for_commit(state, event, batch.header.base_offset, batch.header.end_offset, now_ms)
            return batch
        case Repeated():
            _wait_for_commit(state, event, verdict.base_offset, verdict.end_offset, now_ms)
        case Refused(base_offset=int() as base_offset, end_offset=int() as end_offset):
            _wait_for_commit(state, event, Offset(base_offset), Offset(end_offset), now_ms, refused=verdict)
        case Refused():
            state.respond_to_append(event.request_id, verdict.error, message=verdict.message)
        case _:
            assert_never(verdict)
    return None


def _placed(state: State, batch: Batch) -> Batch:
    """Return the batch with the offsets of the log end and this leader's epoch; its records do not change."""
    header = batch.header
    base_offset = state.log.end_offset
    last_offset = Offset(base_offset + header.last_offset - header.base_offset)
    return replace(batch, header=replace(header, base_offset=base_offset, last_offset=last_offset, epoch=state.epoch))


def _wait_for_commit(
    state: State,
    event: AppendRequested,
    base_offset: Offset,
    end_offset: Offset,
    now_ms: int,
    *,
    refused: Refused | None = None,
) -> None:
    error, message = (refused.error, refused.message) if refused is not None else (ErrorCode.NONE, None)
    if state.high_watermark is not None and end_offset <= state.high_watermark:
        state.respond_to_append(event.request_id, error, base_offset, message)
        return
    state.appends.add(
        PendingAppend(
            request_id=event.request_id,
            base_offset=base_offset,
            end_offset=end_offset,
            error=error,
            message=message,
            deadline_ms=now_ms + event.timeout_ms,
        )
    )
