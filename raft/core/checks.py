"""The checks that requests have in common, in the order of the protocol (rules, section 17)."""

from __future__ import annotations

from typing import assert_never

from raft.core.epochs import can_be_adopted
from raft.core.messages import (
    BeginQuorumEpochRequest,
    EndQuorumEpochRequest,
    FetchRequest,
    Request,
    RequestRefused,
    UnknownPartitionRequest,
    VoteRequest,
)
from raft.core.state import State
from raft.errors import ErrorCode


def cluster_refusal(state: State, cluster_id: str | None) -> RequestRefused | None:
    """Refuse a request that names another cluster; return None for any other.

    A request of another cluster changes nothing here, not even the epoch (CLUSTERID-3). A request without a cluster id
    is not checked, and none is while this node does not know its own (CLUSTERID-4).
    """
    ours = state.config.cluster_id
    is_of_another = ours is not None and cluster_id not in (None, ours)
    return RequestRefused(error=ErrorCode.INCONSISTENT_CLUSTER_ID) if is_of_another else None


def unknown_partition_refusal(state: State, request: UnknownPartitionRequest) -> RequestRefused:
    """Refuse a request for another partition: for its cluster id if that is wrong too, else as invalid (GEN-2)."""
    return cluster_refusal(state, request.cluster_id) or RequestRefused(error=ErrorCode.INVALID_REQUEST)


def partition_error(state: State, request: Request) -> ErrorCode:
    """Return the error of a request's fields, given our epoch; NONE when the request is valid."""
    match request:
        case VoteRequest():
            return _vote_error(state, request)
        case BeginQuorumEpochRequest() | EndQuorumEpochRequest():
            if request.epoch < state.epoch:
                return ErrorCode.FENCED_LEADER_EPOCH
            # Epoch 0 is the one before the first election: it never has a leader (GEN-13).
            has_leader = request.leader.leader_id is not None and request.epoch >= 1
            is_valid = has_leader and can_be_adopted(request.epoch, ours=state.epoch)
            return ErrorCode.NONE if is_valid else ErrorCode.INVALID_REQUEST
        case FetchRequest():
            return _fetch_error(state, request)
        case _:
            assert_never(request)


def _vote_error(state: State, request: VoteRequest) -> ErrorCode:
    log_end = request.candidate_log_end
    # A candidate has raised its epoch above that of its log; a pre-vote is sent before that (VOTE-4, PREVOTE-4).
    highest_log_epoch = request.epoch if request.pre_vote else request.epoch - 1
    if log_end.offset < 0 or not 0 <= log_end.epoch <= highest_log_epoch:
        return ErrorCode.INVALID_REQUEST
    if request.epoch < state.epoch:
        return ErrorCode.FENCED_LEADER_EPOCH
    # A candidate with our own id is another process with our configuration, or our own request at a wrong address.
    candidate_id = request.candidate.node_id
    is_another = candidate_id >= 0 and candidate_id != state.config.node_id
    is_valid = is_another and can_be_adopted(request.epoch, ours=state.epoch)
    return ErrorCode.NONE if is_valid else ErrorCode.INVALID_REQUEST


def _fetch_error(state: State, request: FetchRequest) -> ErrorCode:
    if request.max_wait_ms < 0 or request.fetch_offset < 0 or not 0 <= request.last_fetched_epoch <= request.epoch:
        return ErrorCode.INVALID_REQUEST
    if request.epoch < state.epoch:
        return ErrorCode.FENCED_LEADER_EPOCH
    if request.epoch > state.epoch:
        return ErrorCode.UNKNOWN_LEADER_EPOCH
    return ErrorCode.NONE
