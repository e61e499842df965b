"""Following a leader: what a replica makes of the answers to its fetches (rules FETCH, follower side; DIVERGE-5..8)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from raft.core.commits import commit
from raft.core.effects import HaltCause
from raft.core.fetching import wake_fetches
from raft.core.loading import on_snapshot_offered
from raft.core.messages import FetchResponse
from raft.core.roles import Follower
from raft.core.state import State
from raft.types import Batch, ControlType, NodeId, Offset, OffsetAndEpoch

_KNOWN_CONTROL_TYPES = frozenset(ControlType)


def on_fetch_answer(state: State, node_id: NodeId, response: FetchResponse, now_ms: int) -> None:
    """Take in an error-free answer of our leader, at our epoch: cut, or append and learn the high watermark.

    Only this keeps a follower from giving its leader up (TIMER-2), and only this makes it refuse pre-votes
    (PREVOTE-10).
    """
    role = state.role
    if not isinstance(role, Follower) or response.leader.leader_id != role.leader_id:
        # An answer without error from one that is not the leader we follow: there is nothing to take from it.
        state.requests.back_off(node_id, now_ms)
        return
    deadline_ms = None if role.fetch_deadline_ms is None else now_ms + role.fetch_timeout_ms
    state.update_role(replace(role, fetch_deadline_ms=deadline_ms, has_fetched=True, is_leader_refusing=False))
    if response.snapshot is not None:
        on_snapshot_offered(state, node_id, response.snapshot, now_ms)
        return
    if response.diverging is not None:
        _cut(state, response.diverging)
        return
    _take_batches(state, response.batches)
    if response.damage is not None:
        # It may be whole next time (KAFKA-18723); if the leader's disk is damaged, it never will be: not in a hurry.
        state.report(f"leader {node_id} sent a damaged batch behind offset {state.log.end_offset}: {response.damage}")
        state.requests.back_off(node_id, now_ms)
    if not state.is_stopped:
        _learn_high_watermark(state, response.high_watermark, now_ms)


def _cut(state: State, diverging: OffsetAndEpoch) -> None:
    """Give up the part of the log that the leader does not share (DIVERGE-5), never a committed one (DIVERGE-7)."""
    end_offset = state.log.cut_for(diverging)
    if end_offset < state.known_committed:
        state.halt(
            HaltCause.COMMITTED_RECORDS_LOST,
            f"the leader's log leaves ours at {end_offset}, below the high watermark {state.known_committed}: "
            "committed records would be lost",
        )
    elif end_offset < state.log.end_offset:
        state.truncate(end_offset)


def _take_batches(state: State, batches: Iterable[Batch]) -> None:
    """Append what follows our log, up to the first batch that does not fit; the rest is dropped (FETCH-24).

    A leader that changes while it answers may send batches of a later epoch than the answer's (KAFKA-18723).
    """
    good: list[Batch] = []
    end_offset, last_epoch = state.log.end_offset, state.log.last_epoch
    for batch in batches:
        header = batch.header
        if header.base_offset != end_offset or not last_epoch <= header.epoch <= state.epoch:
            break
        unknown = [kind for kind in header.control_types if kind not in _KNOWN_CONTROL_TYPES]
        if unknown:
            # Such a record may change what the quorum is; to skip it is to guess (CONTROL-8).
            reason = f"unknown control record type {unknown[0]} at offset {header.base_offset}"
            state.halt(HaltCause.UNKNOWN_CONTROL_RECORD, reason)
            return
        good.append(batch)
        end_offset, last_epoch = header.end_offset, header.epoch
    if good:
        state.append(tuple(good))


def _learn_high_watermark(state: State, leaders: Offset | None, now_ms: int) -> None:
    """Follow the leader's high watermark as far as our log goes; a new leader may not know it yet (HW-5)."""
    if leaders is None:
        return
    ours = min(leaders, state.log.end_offset)
    if ours < state.known_committed:
        reason = f"the leader's high watermark fell from {state.known_committed} to {leaders}"
        state.halt(HaltCause.COMMITTED_RECORDS_LOST, reason)
    elif ours != state.high_watermark:
        commit(state, ours)
        wake_fetches(state, now_ms, high_watermark_moved=True)
