"""UpdateRaftVoter: a Java voter reports its endpoints and versions to each new leader (COMPAT-7)."""

from __future__ import annotations

from raft.errors import ErrorCode
from raft.runtime.request import Request
from raft.runtime.requests.context import Context
from raft.wire.mapping.partition import or_minus_one
from raft.wire.messages.update_raft_voter import CurrentLeader, UpdateRaftVoterRequest, UpdateRaftVoterResponse


def update_raft_voter(context: Context, request: Request[UpdateRaftVoterRequest]) -> UpdateRaftVoterResponse:
    """Handle UpdateRaftVoter. The voter set is static, so nothing is stored; error 0 stops the voter's retries."""
    leader_id, endpoints = context.serving_leader, context.engine.core.leader_endpoints
    error = ErrorCode.NONE
    if request.message.cluster_id not in (None, context.cluster_id):
        error = ErrorCode.INCONSISTENT_CLUSTER_ID
    elif leader_id != context.node_id:
        error = ErrorCode.NOT_LEADER_OR_FOLLOWER
    return UpdateRaftVoterResponse(
        error_code=error,
        current_leader=CurrentLeader(
            leader_id=or_minus_one(leader_id),
            leader_epoch=context.epoch,
            host=endpoints[0].host if endpoints else "",
            port=endpoints[0].port if endpoints else 0,
        ),
    )
