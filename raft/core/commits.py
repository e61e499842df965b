"""The high watermark: which offsets are committed, and which requests waited for them (rules HW; DIVERGE-7)."""

from __future__ import annotations

from collections.abc import Iterable

from raft.core.roles import Leader
from raft.core.state import State
from raft.errors import ErrorCode
from raft.types import Offset


def next_high_watermark(
    durable_offsets: Iterable[Offset | None], *, epoch_start_offset: Offset, high_watermark: Offset | None
) -> Offset | None:
    """Return the high watermark after the latest fetches and flushes, or None while it is unknown.

    Args:
        durable_offsets: one per voter, the leader included: everything below is on the voter's disk; None for a voter
            that has not fetched yet.
        epoch_start_offset: first offset that this leader wrote in its own epoch.
        high_watermark: the value before; None until this epoch has one.

    Returns:
        The largest offset that a majority holds, once it lies past `epoch_start_offset`. Records of earlier epochs
        commit only together with one of this epoch, else a later leader could still erase them (Raft 5.4.2,
        SCENARIO-27).

    Source: KIP-595 "Fetch"; Kafka LeaderState.maybeUpdateHighWatermark.
    """
    offsets = list(durable_offsets)
    known = sorted((offset for offset in offsets if offset is not None), reverse=True)
    majority = len(offsets) // 2 + 1
    if len(known) < majority:
        return high_watermark
    held_by_majority = known[majority - 1]
    if held_by_majority <= epoch_start_offset:
        return high_watermark
    # A changed voter set, or a voter that lost data, can compute less than before; what is committed stays committed.
    return held_by_majority if high_watermark is None else max(high_watermark, held_by_majority)


def maybe_advance_high_watermark(state: State) -> bool:
    """Compute the leader's high watermark again and return whether it moved; appends below it get their responses.

    The leader counts with the records that it has flushed, as every other voter does (HW-7).
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
    """Move the high watermark: the records below are committed, and no leader will ever truncate them."""
    state.high_watermark = high_watermark
    state.known_committed = max(state.known_committed, high_watermark)
    state.producers.committed(high_watermark)
    state.committed_bytes.commit(high_watermark)
    state.stable_bytes.commit(state.transactions.last_stable_offset(high_watermark))
    for append in [append for append in state.appends if append.end_offset <= high_watermark]:
        state.appends.take(append.request_id)
        state.respond_to_append(append.request_id, append.error, append.base_offset, append.message, append.producer)


def end_overdue_appends(state: State, now_ms: int) -> None:
    """Respond with REQUEST_TIMED_OUT to appends whose timeout is over; whether they will be committed is unknown."""
    for append in state.appends.take_overdue(now_ms):
        message = append.message if append.is_held else None
        state.respond_to_append(append.request_id, ErrorCode.REQUEST_TIMED_OUT, message=message)
