"""Following a leader: how a replica handles the responses to its fetches (rules FETCH, follower side; DIVERGE-5..8)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from raft.core.commits import commit
from raft.core.effects import HaltCause
from raft.core.fetches import wake_fetches
from raft.core.messages import FetchResponse
from raft.core.roles import Follower
from raft.core.snapshot_load import on_snapshot_offered
from raft.core.state import State
from raft.types import Batch, ControlType, NodeId, Offset, OffsetAndEpoch

FULL_DISK_PAUSE_MS = 500
"""Time between the fetches of a replica whose disk has no room for records."""

_KNOWN_CONTROL_TYPES = frozenset(ControlType)


def on_fetch_response(state: State, node_id: NodeId, response: FetchResponse, now_ms: int) -> None:
    """Handle an error-free response of our leader in our epoch: truncate, or append and advance the high watermark.

    Nothing else extends the fetch timeout (TIMER-2), and nothing else makes a follower refuse pre-votes (PREVOTE-10).
    """
    role = state.role
    if not isinstance(role, Follower) or response.leader.leader_id != role.leader_id:
        # It does not come from the leader that this node follows, so its records are not used.
        state.requests.back_off(node_id, now_ms)
        return
    deadline_ms = None if role.fetch_deadline_ms is None else now_ms + role.fetch_timeout_ms
    # Without an offer of a snapshot the leader has the records that we need: an earlier one may be outdated.
    loading = None if response.snapshot is None else role.loading
    state.rounds_aside = 0
    state.update_role(
        replace(role, fetch_deadline_ms=deadline_ms, has_fetched=True, is_leader_refusing=False, loading=loading)
    )
    if response.diverging is not None:
        _truncate(state, response.diverging)
        return
    if state.fetched_from != state.log.end_offset:
        # A part of the log waits for room, so the fetch was only contact. What lies after its offset, this node's log
        # may not have, or not as the leader: neither records nor the high watermark apply to it. And a snapshot that is
        # offered for that offset may end below what this node holds already.
        state.requests.pause_fetches(now_ms + FULL_DISK_PAUSE_MS)
        return
    if response.snapshot is not None:
        on_snapshot_offered(state, node_id, response.snapshot, now_ms)
        return
    if not _take_batches(state, response.batches):
        # The next fetch comes soon, because a leader without fetches of a majority resigns (FETCH-17).
        state.requests.pause_fetches(now_ms + FULL_DISK_PAUSE_MS)
    if response.damage is not None:
        # The next response may be good (KAFKA-18723). If the leader's disk is damaged, none will be: so back off.
        state.report(f"leader {node_id} sent a damaged batch behind offset {state.log.end_offset}: {response.damage}")
        state.requests.back_off(node_id, now_ms)
    if not state.is_stopped:
        _learn_high_watermark(state, response.high_watermark, now_ms)


def _truncate(state: State, diverging: OffsetAndEpoch) -> None:
    """Truncate what the leader does not have (DIVERGE-5), but never committed records (DIVERGE-7)."""
    end_offset = state.log.truncation_offset(diverging)
    if end_offset < state.known_committed:
        state.halt(
            HaltCause.COMMITTED_RECORDS_LOST,
            f"the leader's log diverges from ours at {end_offset}, below the high watermark {state.known_committed}: "
            "committed records would be lost",
        )
    elif end_offset < state.log.end_offset:
        state.truncate(end_offset)


def _take_batches(state: State, batches: Iterable[Batch]) -> bool:
    """Append the batches that continue our log, up to the first one that does not; drop the rest (FETCH-24).

    A leader that changes while it responds may send batches of a later epoch than the response's (KAFKA-18723).

    Returns:
        False if the disk had no room for one of them (LOG-24).
    """
    good: list[Batch] = []
    size_bytes, has_room = 0, True
    end_offset, last_epoch = state.log.end_offset, state.log.last_epoch
    for batch in batches:
        header = batch.header
        if header.base_offset != end_offset or not last_epoch <= header.epoch <= state.epoch:
            break
        unknown = [kind for kind in header.control_types if kind not in _KNOWN_CONTROL_TYPES]
        if unknown:
            # Such a record may change the voter set or the format of the log, so it must not be skipped (CONTROL-8).
            reason = f"unknown control record type {unknown[0]} at offset {header.base_offset}"
            state.halt(HaltCause.UNKNOWN_CONTROL_RECORD, reason)
            return True
        difference = state.config.difference_to(header.logged_voters)
        if difference is not None:
            state.halt(HaltCause.OTHER_VOTERS, f"{difference}, at offset {header.base_offset}")
            return True
        if not header.is_control and not state.disk_room.holds(size_bytes + header.size_bytes):
            has_room = False
            break
        size_bytes += header.size_bytes
        good.append(batch)
        end_offset, last_epoch = header.end_offset, header.epoch
    if good:
        state.append(tuple(good))
    return has_room


def _learn_high_watermark(state: State, leaders: Offset | None, now_ms: int) -> None:
    """Follow the leader's high watermark up to the end of our log; a new leader may not know it yet (HW-5)."""
    if leaders is None:
        return
    ours = min(leaders, state.log.end_offset)
    if ours < state.known_committed:
        reason = f"the leader's high watermark fell from {state.known_committed} to {leaders}"
        state.halt(HaltCause.COMMITTED_RECORDS_LOST, reason)
    elif ours != state.high_watermark:
        commit(state, ours)
        wake_fetches(state, now_ms, high_watermark_moved=True)
