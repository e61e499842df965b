"""The requests that a node sends in each role, each as soon as its receiver is ready for it.

Rules FETCH-19, 20; BEGIN-1, 2; END-4; VOTE-16; READ-2.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import assert_never

from raft.core.config import FETCH_MAX_WAIT_MS
from raft.core.disk_room import NO_ROOM_MAX_BYTES
from raft.core.effects import SendRequest
from raft.core.failover import is_retry_due
from raft.core.messages import (
    BeginQuorumEpochRequest,
    EndQuorumEpochRequest,
    FetchRequest,
    FetchSnapshotRequest,
    OutgoingRequest,
    VoteRequest,
)
from raft.core.repairs import repair_request
from raft.core.roles import Candidate, Follower, Leader, Loading, Prospective, Resigned, Unattached
from raft.core.state import State
from raft.core.unfit_voters import stands_aside
from raft.types import Endpoint, NodeId


def send_requests(state: State, now_ms: int) -> None:
    """Send every request that is due now."""
    role = state.role
    match role:
        case Unattached():
            if not state.is_shutting_down:
                _fetch_from_any_node(state, now_ms)
        case Follower():
            if not state.is_shutting_down:
                _fetch_as_follower(state, role, now_ms)
        case Prospective() if stands_aside(state):
            pass
        case Prospective() | Candidate():
            if not role.tally.is_lost:
                _send_to_voters(state, sorted(role.tally.unrecorded), _vote_request, now_ms)
        case Leader():
            _announce(state, role, now_ms)
        case Resigned():
            _send_to_voters(state, sorted(role.unacknowledged), _end_request, now_ms)
        case _:
            assert_never(role)


def _announce(state: State, role: Leader, now_ms: int) -> None:
    newest_read = state.reads.last
    if newest_read is not None:
        _send_to_voters(state, role.progress.voters_to_confirm(newest_read.first_request), _begin_request, now_ms)
    if now_ms < role.progress.begin_deadline_ms:
        return
    _send_to_voters(state, role.progress.voters_to_remind(now_ms), _begin_request, now_ms)
    role.progress.reminded(now_ms)


def _send_to_voters(
    state: State, voters: Iterable[NodeId], make: Callable[[State, NodeId], OutgoingRequest], now_ms: int
) -> None:
    for voter in voters:
        if state.requests.is_ready(voter, now_ms):
            _send(state, voter, state.config.voters.endpoints(voter)[0], make(state, voter), now_ms)


def _fetch_as_follower(state: State, role: Follower, now_ms: int) -> None:
    """Fetch from the leader; while it backs off, from any other node, which may know a newer leader (FETCH-20)."""
    leader = (role.leader_id, role.leader_endpoints[0])
    if state.requests.is_paused:
        return
    if state.requests.is_backing_off(role.leader_id, now_ms):
        if is_retry_due(state, role):
            # Only one fetch is in flight at a time (GEN-6): another node without a response would delay the retry.
            return
        _fetch_from_any_node(state, now_ms, except_for=leader)
        return
    has_timed_out = state.requests.forget_timeout(role.leader_id)
    if not has_timed_out or not _fetch_from_any_node(state, now_ms, except_for=leader):
        _fetch(state, *leader, now_ms, loading=role.loading)


def _fetch_from_any_node(state: State, now_ms: int, *, except_for: tuple[NodeId, Endpoint] | None = None) -> bool:
    """Fetch from a random node that is ready; return whether there is one."""
    ready = [
        (node_id, endpoint)
        for node_id, endpoint in state.config.bootstrap_nodes()
        if state.requests.is_ready(node_id, now_ms) and not _is_same(except_for, node_id, endpoint)
    ]
    if ready and not state.requests.has_inflight:
        node_id, endpoint = ready[state.draw(len(ready))]
        _fetch(state, node_id, endpoint, now_ms)
    return bool(ready)


def _is_same(node: tuple[NodeId, Endpoint] | None, node_id: NodeId, endpoint: Endpoint) -> bool:
    """Whether both are the same node; bootstrap servers are known by their address alone."""
    return node is not None and (node[0] == node_id or (node[1].host, node[1].port) == (endpoint.host, endpoint.port))


def _fetch(state: State, node_id: NodeId, endpoint: Endpoint, now_ms: int, *, loading: Loading | None = None) -> None:
    """Fetch, if no other request is in flight (GEN-6) and everything that was fetched before is on disk (FETCH-25).

    While a part of the log waits for room, the fetch is at the end of what is on disk: it keeps the contact (LOG-28).
    """
    durable_end, is_waiting = state.flushes.durable_end, state.disk_room.written_end is not None
    is_contact = is_waiting and durable_end >= state.log.start_offset
    if state.requests.has_inflight or (durable_end < state.log.end_offset and not is_contact):
        return
    if loading is not None and (loading.is_complete or is_waiting):
        return  # What to fetch next is known when the snapshot is checked, or its pieces are stored.
    if loading is None and (repair := repair_request(state, node_id, now_ms)) is not None:
        state.damage.asked()
        request: OutgoingRequest = repair
    elif loading is None:
        state.fetched_from = durable_end
        state.damage.fetched()
        request = _fetch_request(state)
    else:
        request = _fetch_snapshot_request(state, loading)
    _send(state, node_id, endpoint, request, now_ms)


def _fetch_snapshot_request(state: State, loading: Loading) -> FetchSnapshotRequest:
    return FetchSnapshotRequest(
        cluster_id=state.config.cluster_id,
        replica=state.config.replica,
        epoch=state.epoch,
        snapshot=loading.snapshot,
        position=loading.position,
        max_bytes=state.config.fetch_snapshot_max_bytes,
    )


def _fetch_request(state: State) -> FetchRequest:
    return FetchRequest(
        cluster_id=state.config.cluster_id,
        replica=state.config.replica,
        epoch=state.epoch,
        fetch_offset=state.fetched_from,
        last_fetched_epoch=state.log.epoch_at(state.fetched_from),
        max_wait_ms=FETCH_MAX_WAIT_MS,
        max_bytes=NO_ROOM_MAX_BYTES if state.disk_room.is_full else state.config.fetch_max_bytes,
        high_watermark=state.high_watermark,
        wants_high_watermark=True,
        is_damaged=state.damage.exists,
    )


def _vote_request(state: State, voter: NodeId) -> VoteRequest:
    return VoteRequest(
        cluster_id=state.config.cluster_id,
        epoch=state.epoch,
        candidate=state.config.replica,
        candidate_log_end=state.log.end,
        pre_vote=isinstance(state.role, Prospective),
        voter=state.config.voters.key(voter),
    )


def _begin_request(state: State, voter: NodeId) -> BeginQuorumEpochRequest:
    return BeginQuorumEpochRequest(
        cluster_id=state.config.cluster_id,
        leader=state.leader,
        voter=state.config.voters.key(voter),
    )


def _end_request(state: State, _voter: NodeId) -> EndQuorumEpochRequest:
    role = state.role
    assert isinstance(role, Resigned), "only a resigned leader ends its epoch"
    return EndQuorumEpochRequest(
        cluster_id=state.config.cluster_id,
        leader=state.leader,
        preferred_successors=role.preferred_successors,
    )


def _send(state: State, node_id: NodeId, endpoint: Endpoint, request: OutgoingRequest, now_ms: int) -> None:
    number = state.requests.on_request_sent(node_id, request, now_ms)
    state.emit(SendRequest(number=number, node_id=node_id, endpoint=endpoint, request=request))
