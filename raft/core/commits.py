"""Commitment: how far a majority has come, and who hears of it (rules HW; DIVERGE-7)."""

from __future__ import annotations

from raft.core.quorum import next_high_watermark
from raft.core.roles import Leader
from raft.core.state import State
from raft.errors import ErrorCode
from raft.types import Offset


def maybe_advance_high_watermark(state: State) -> bool:
    """Compute the leader's high watermark anew; return whether it moved. Appends that are committed now are answered.

    The leader itself counts with what it has flushed, like everybody else (HW-7).
    """
    role = state.role
    assert isinstance(role, Leader), "only a leader computes the high watermark"
    durable_offsets = [voter.fetch_offset for voter in role.progress.voters.values()]
    moved_to = next_high_watermark(
        [*durable_offsets, state.flushes.durable_end],
        epoch_start_offset=role.epoch_start_offset,
        high_watermark=state.high_watermark,
    )
    if moved_to is None or moved_to == state.high_watermark:
        return False
    commit(state, moved_to)
    return True


def commit(state: State, high_watermark: Offset) -> None:
    """Everything below is committed: it will be there for ever, on every node."""
    state.high_watermark = high_watermark
    state.known_committed = max(state.known_committed, high_watermark)
    state.writers.committed(high_watermark)
    state.committed_bytes.commit(high_watermark)
    for append in [append for append in state.appends if append.end_offset <= high_watermark]:
        state.appends.take(append.request_id)
        state.answer_append(append.request_id, append.error, append.base_offset, append.message)


def end_overdue_appends(state: State, now_ms: int) -> None:
    """Tell clients that waited long enough that the outcome is unknown."""
    for append in state.appends.take_overdue(now_ms):
        state.answer_append(append.request_id, ErrorCode.REQUEST_TIMED_OUT)
