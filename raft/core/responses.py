"""How a node handles the responses to its requests (rules GEN-9, VOTE-16..23, BEGIN-10, END-12, PREVOTE-16..19)."""

from __future__ import annotations

from dataclasses import replace
from typing import assert_never

from raft.core.effects import Disconnect, HaltCause
from raft.core.epochs import can_be_adopted
from raft.core.events import Failure
from raft.core.failover import on_connection_refused
from raft.core.fetch_responses import on_fetch_response
from raft.core.messages import (
    BeginQuorumEpochRequest,
    BeginQuorumEpochResponse,
    EndQuorumEpochRequest,
    EndQuorumEpochResponse,
    FetchRequest,
    FetchResponse,
    FetchSnapshotRequest,
    FetchSnapshotResponse,
    OutgoingRequest,
    RepairFetchRequest,
    RequestRefused,
    Response,
    VoteRequest,
    VoteResponse,
)
from raft.core.moves import adopt, become_candidate, settle_election
from raft.core.read_index import voter_confirmed
from raft.core.repairs import on_repair_response
from raft.core.request_manager import InflightRequest
from raft.core.roles import Candidate, Leader, Prospective, Resigned
from raft.core.snapshot_load import on_snapshot_piece, stop_loading
from raft.core.state import State
from raft.errors import ErrorCode, error_name
from raft.types import NodeId

_PartitionResponse = (
    VoteResponse | BeginQuorumEpochResponse | EndQuorumEpochResponse | FetchResponse | FetchSnapshotResponse
)

MISCONFIGURED_BACK_OFF_MS = 1000
"""Shortest backoff after an error of the configuration, which no retry can resolve (ERROR-10)."""

_CONFIGURATION_ERRORS = (
    ErrorCode.INCONSISTENT_CLUSTER_ID,
    ErrorCode.INVALID_REQUEST,
    ErrorCode.CLUSTER_AUTHORIZATION_FAILED,
)

_EXPECTED: dict[type, type] = {
    VoteRequest: VoteResponse,
    BeginQuorumEpochRequest: BeginQuorumEpochResponse,
    EndQuorumEpochRequest: EndQuorumEpochResponse,
    FetchRequest: FetchResponse,
    FetchSnapshotRequest: FetchSnapshotResponse,
    RepairFetchRequest: FetchResponse,
}


def on_response(state: State, number: int, response: Response, now_ms: int) -> None:
    """Handle a response; one that is not expected any more changes nothing (GEN-7)."""
    inflight = state.requests.take(number)
    if inflight is None:
        return
    state.unreachable.discard(inflight.node_id)
    if isinstance(response, RequestRefused):
        _on_refusal(state, inflight, response, now_ms)
        return
    assert isinstance(response, _EXPECTED[type(inflight.request)]), "a response to another kind of request"
    state.refusals.accepted(inflight.node_id)
    if _is_settled_by_epoch_or_error(state, inflight, response, now_ms):
        return
    match response:
        case VoteResponse():
            _on_vote(state, inflight.node_id, response, now_ms)
        case BeginQuorumEpochResponse():
            _on_endorsement(state, inflight)
        case EndQuorumEpochResponse():
            _on_end_acknowledged(state, inflight.node_id)
        case FetchResponse() if isinstance(inflight.request, RepairFetchRequest):
            on_repair_response(state, inflight.node_id, inflight.request, response, now_ms)
        case FetchResponse():
            on_fetch_response(state, inflight.node_id, response, now_ms)
        case FetchSnapshotResponse():
            on_snapshot_piece(state, inflight.node_id, response, now_ms)
        case _:
            assert_never(response)


def on_failure(state: State, number: int, failure: Failure, now_ms: int) -> None:
    """Handle a request without a response: it is sent again after a backoff (GEN-8).

    If a voter of an old version does not support pre-votes, this node asks for votes at once, so that a quorum of mixed
    versions can elect a leader (PREVOTE-18).
    """
    inflight = state.requests.take(number)
    if inflight is None:
        return
    if failure is Failure.KAFKA_CONTROLLER and state.config.is_voter:
        state.halt(
            HaltCause.KAFKA_CONTROLLER,
            f"node {inflight.node_id} is a controller of an Apache Kafka cluster, and this node is set up to vote "
            "beside it: it could win an election that only a controller may win",
        )
        return
    state.requests.back_off(inflight.node_id, now_ms)
    if failure is Failure.CONNECTION_REFUSED:
        state.unreachable.add(inflight.node_id)
        on_connection_refused(state, inflight.node_id, now_ms)
        return
    is_pre_vote = isinstance(inflight.request, VoteRequest) and inflight.request.pre_vote
    if failure is Failure.UNSUPPORTED_VERSION and is_pre_vote and isinstance(state.role, Prospective):
        become_candidate(state, now_ms=now_ms, reason=f"node {inflight.node_id} does not support pre-votes")


def _on_refusal(state: State, inflight: InflightRequest, response: RequestRefused, now_ms: int) -> None:
    """Handle the refusal of a whole request: wrong cluster, wrong partition, not authorized (CLUSTERID-5, ERROR-6)."""
    node_id, name = inflight.node_id, type(inflight.request).__name__
    if response.error == ErrorCode.CLUSTER_AUTHORIZATION_FAILED:
        state.refusals.refused(node_id, now_ms)
        if _stop_if_not_authorized(state, now_ms):
            return
        state.report(
            f"node {node_id} does not authorize {name} of node {state.config.node_id}: the rules of node {node_id} "
            "are wrong, or the name that this node proves to it; this node goes on, because fewer than "
            f"{state.refusals.needed} of {state.refusals.total} nodes refuse it"
        )
    else:
        state.refusals.accepted(node_id)
        state.report(f"node {node_id} refuses {name}: {error_name(response.error)}")
    _back_off(state, inflight, now_ms, at_least_ms=_back_off_ms(response.error))


def _stop_if_not_authorized(state: State, now_ms: int) -> bool:
    """Stop if a majority refuses this node. A leader goes on: its followers' fetches decide that (FETCH-17)."""
    refusing, needed = state.refusals.counted(now_ms), state.refusals.needed
    if len(refusing) < needed or isinstance(state.role, Leader):
        return False
    state.halt(
        HaltCause.NOT_AUTHORIZED,
        f"nodes {refusing}, of {state.refusals.total} that this node knows, do not authorize its requests",
    )
    return True


def _back_off_ms(error: int) -> int:
    return MISCONFIGURED_BACK_OFF_MS if error in _CONFIGURATION_ERRORS else 0


def _back_off(state: State, inflight: InflightRequest, now_ms: int, *, at_least_ms: int = 0) -> None:
    """Send no request to that node during the backoff, and do not fetch the same snapshot again, which may be gone."""
    if isinstance(inflight.request, FetchSnapshotRequest):
        stop_loading(state)
    state.requests.back_off(inflight.node_id, now_ms, at_least_ms=at_least_ms)


def _is_settled_by_epoch_or_error(
    state: State, inflight: InflightRequest, response: _PartitionResponse, now_ms: int
) -> bool:
    """Do what is common to all responses (GEN-9); return False if the handler of this kind must go on."""
    error, leader = response.error, response.leader
    if leader.epoch < state.epoch or error == ErrorCode.UNKNOWN_LEADER_EPOCH:
        # An old response, or one of a node that does not know our epoch yet: back off, instead of repeating at once.
        state.requests.back_off(inflight.node_id, now_ms)
        return True
    if not can_be_adopted(leader.epoch, ours=state.epoch):
        state.report(f"node {inflight.node_id} responds with epoch {leader.epoch}, ours is {state.epoch}: ignored")
        _back_off(state, inflight, now_ms)
        return True
    knew_leader, epoch_before = state.leader_id, state.epoch
    named = "no leader" if leader.leader_id is None else f"leader {leader.leader_id}"
    reason = f"{_name(inflight.request)} response of node {inflight.node_id} names {named} of epoch {leader.epoch}"
    adopt(state, leader, now_ms=now_ms, reason=reason)
    if state.is_stopped or state.epoch > epoch_before:
        return True
    is_repair = isinstance(inflight.request, RepairFetchRequest) and error not in _NOT_THE_LEADER
    if error == ErrorCode.NONE or is_repair:
        return False
    if knew_leader is None and state.leader_id is not None:
        return True  # The response named the leader, which is asked next.
    _report_error(state, inflight, error)
    if error == ErrorCode.NOT_LEADER_OR_FOLLOWER and leader.leader_id == inflight.node_id:
        # It has resigned, or another node is at the other end: the address was wrong when the connection was opened.
        state.emit(Disconnect(node_id=inflight.node_id))
    # While the leader does not authorize this node, no other node needs to be asked for it often.
    in_vain = error == ErrorCode.NOT_LEADER_OR_FOLLOWER and state.refusals.is_by(state.leader_id)
    _back_off(state, inflight, now_ms, at_least_ms=MISCONFIGURED_BACK_OFF_MS if in_vain else 0)
    return True


def _name(request: OutgoingRequest) -> str:
    if isinstance(request, VoteRequest) and request.pre_vote:
        return "pre-vote"
    return type(request).__name__.removesuffix("Request")


_NOT_THE_LEADER = (ErrorCode.FENCED_LEADER_EPOCH, ErrorCode.NOT_LEADER_OR_FOLLOWER)


def _report_error(state: State, inflight: InflightRequest, error: int) -> None:
    """Report an error, unless it is a common one during an election."""
    if error in (*_NOT_THE_LEADER, ErrorCode.BROKER_NOT_AVAILABLE):
        return
    name = type(inflight.request).__name__
    state.report(f"node {inflight.node_id} responds {error_name(error)} to our {name} in epoch {state.epoch}")


def _on_vote(state: State, voter: NodeId, response: VoteResponse, now_ms: int) -> None:
    """Count a vote or a pre-vote. A voter is asked until it has responded, so it cannot change its vote (VOTE-23)."""
    role = state.role
    if not isinstance(role, Prospective | Candidate):
        return  # The response also named the leader, which this node follows now.
    state.update_role(replace(role, tally=role.tally.with_vote(voter, granted=response.vote_granted)))
    settle_election(state, now_ms)


def _on_endorsement(state: State, inflight: InflightRequest) -> None:
    assert isinstance(state.role, Leader), "a request in flight is of the present role"
    voter_confirmed(state, inflight.node_id, inflight.number)


def _on_end_acknowledged(state: State, voter: NodeId) -> None:
    role = state.role
    assert isinstance(role, Resigned), "a request in flight is of the present role"
    state.update_role(replace(role, unacknowledged=role.unacknowledged - {voter}))
