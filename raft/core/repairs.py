"""Repairing a damaged range of the log with the records of the leader (LOG-31).

The fetch is like a consumer's, so that it changes nothing at the leader, which may also be one of Apache Kafka.
"""

from __future__ import annotations

from dataclasses import replace

from raft.core.effects import RepairLog
from raft.core.events import DamageReported, RepairEnded
from raft.core.messages import FetchResponse, RepairFetchRequest
from raft.core.roles import Follower
from raft.core.state import State
from raft.errors import ErrorCode, error_name
from raft.types import Batch, DamagedRange, NodeId, Offset


def on_damage_reported(state: State, event: DamageReported) -> None:
    """Take what is damaged, as far as the log still has it."""
    end_offset = state.log.end_offset
    state.damage.reported(
        tuple(
            replace(each, end_offset=min(each.end_offset, end_offset))
            for each in event.ranges
            if each.start_offset < end_offset and each.end_offset >= state.log.start_offset
        )
    )


def on_repair_ended(state: State, event: RepairEnded, now_ms: int) -> None:
    """Go on with the next range, or try again later."""
    state.damage.is_repairing = False
    if not event.is_repaired:
        state.damage.pause(now_ms)


def repair_request(state: State, node_id: NodeId, now_ms: int) -> RepairFetchRequest | None:
    """Return the request for the records of a damaged range that is sent to a node now; None if there is none.

    Only the leader is asked, after it has responded: then the log agrees with its own.
    """
    role = state.role
    if not isinstance(role, Follower) or role.leader_id != node_id or not role.has_fetched:
        return None
    damaged = state.damage.to_repair(state.known_committed, now_ms)
    if damaged is None:
        return None
    return RepairFetchRequest(
        cluster_id=state.config.cluster_id,
        epoch=state.epoch,
        damaged=damaged,
        last_fetched_epoch=state.log.epoch_at(damaged.start_offset),
        max_bytes=state.config.fetch_max_bytes,
    )


def on_repair_response(
    state: State, node_id: NodeId, request: RepairFetchRequest, response: FetchResponse, now_ms: int
) -> None:
    """Order the records to disk that fit the damaged range. If none do, try again later.

    This response does not extend the fetch timeout (TIMER-2).
    """
    damaged, damage = request.damaged, state.damage
    if damaged not in damage.ranges:
        return  # It was repaired or removed meanwhile, or more is known of it.
    role = state.role
    if not isinstance(role, Follower) or response.leader.leader_id != role.leader_id:
        state.requests.back_off(node_id, now_ms)
        return
    begins_later = _begins_later(response, damaged)
    batches = () if begins_later else _fitting(state, damaged, response)
    if batches:
        damage.is_repairing = True
        state.emit(RepairLog(batches=batches, source=node_id))
        return
    damage.pause(now_ms)
    if begins_later:
        damage.has_no_source(damaged)
        state.report(
            f"the log is damaged at {damaged}, and that of leader {node_id} begins later; see 'A damaged log' in "
            "docs/operations.md"
        )
    else:
        state.report(f"leader {node_id} sent no records to repair {damaged} with: {_reason(response)}")


def _fitting(state: State, damaged: DamagedRange, response: FetchResponse) -> tuple[Batch, ...]:
    """Return the batches that continue from the start of a range without a gap, with the epochs of this log."""
    fitting: list[Batch] = []
    next_offset = damaged.start_offset
    for batch in response.batches if response.error == ErrorCode.NONE else ():
        header = batch.header
        is_expected = header.base_offset == next_offset and header.epoch == state.log.epoch_at(Offset(next_offset + 1))
        if not is_expected or header.end_offset > damaged.end_offset:
            break
        fitting.append(batch)
        next_offset = header.end_offset
    return tuple(fitting)


def _begins_later(response: FetchResponse, damaged: DamagedRange) -> bool:
    """Whether the leader has removed these records: it says so, or has records of a snapshot instead.

    The batches of a snapshot have other bytes, even if no record between them is missing.
    """
    return (
        response.error == ErrorCode.OFFSET_OUT_OF_RANGE
        or response.snapshot is not None
        or (response.compacted_end is not None and response.compacted_end > damaged.start_offset)
    )


def _reason(response: FetchResponse) -> str:
    if response.error != ErrorCode.NONE:
        return error_name(response.error)
    if response.damage is not None:
        return response.damage
    sent = ", ".join(f"offsets {each.header.base_offset} to {each.header.end_offset}" for each in response.batches[:1])
    return f"it has other batches there: {sent}" if sent else "the response is empty"
