"""Votes and announcements: how a node answers them (rules VOTE, PREVOTE, BEGIN, END)."""

from __future__ import annotations

from dataclasses import replace
from typing import assert_never

from raft.core.checks import cluster_refusal, partition_error
from raft.core.effects import HaltCause
from raft.core.epochs import can_be_adopted
from raft.core.messages import (
    BeginQuorumEpochRequest,
    BeginQuorumEpochResponse,
    EndQuorumEpochRequest,
    EndQuorumEpochResponse,
    RequestRefused,
    VoteRequest,
    VoteResponse,
)
from raft.core.moves import adopt, contradiction
from raft.core.roles import Candidate, Follower, Leader, Prospective, Resigned, Unattached
from raft.core.state import State
from raft.core.tally import Tally
from raft.errors import ErrorCode
from raft.types import LeaderAndEpoch, ReplicaKey


def on_vote_request(state: State, request_id: int, request: VoteRequest, now_ms: int) -> None:
    """Judge a vote or a pre-vote. A higher epoch is adopted first, granted or not (VOTE-6, PREVOTE-5)."""
    refusal = cluster_refusal(state, request.cluster_id)
    if refusal:
        state.reply(request_id, refusal)
        return
    error = partition_error(state, request)
    granted = False
    if error == ErrorCode.NONE:
        kind = "pre-vote" if request.pre_vote else "vote"
        reason = f"{kind} request of node {request.candidate.node_id} at epoch {request.epoch}"
        adopt(state, LeaderAndEpoch(epoch=request.epoch), now_ms=now_ms, reason=reason)
        if not _is_meant_for_us(state, request.voter):
            error = ErrorCode.INVALID_VOTER_KEY
        elif request.pre_vote:
            granted = _would_grant(state, request)
        else:
            granted = _grant(state, request, now_ms)
    response = VoteResponse(
        error=error,
        leader=state.leader,
        vote_granted=granted,
    )
    state.reply(request_id, response)


def on_begin_quorum_epoch(state: State, request_id: int, request: BeginQuorumEpochRequest, now_ms: int) -> None:
    """Hear of a leader and follow it. It does not reset the fetch timer of one who follows already (BEGIN-8)."""
    if _refuse_announcement(state, request_id, request):
        return
    error = partition_error(state, request)
    if error == ErrorCode.NONE:
        _adopt_announcement(state, request, now_ms)
        if not _is_meant_for_us(state, request.voter):
            error = ErrorCode.INVALID_VOTER_KEY
    state.reply(request_id, BeginQuorumEpochResponse(error=error, leader=state.leader))


def on_end_quorum_epoch(state: State, request_id: int, request: EndQuorumEpochRequest, now_ms: int) -> None:
    """Hear that the leader gives up: wait one's turn, then try (END-6, END-7).

    The leader is no longer alive for us, so its preferred successor gets our pre-vote (PREVOTE-23).
    """
    if _refuse_announcement(state, request_id, request):
        return
    error = partition_error(state, request)
    if error == ErrorCode.NONE:
        _adopt_announcement(state, request, now_ms)
        role = state.role
        if isinstance(role, Follower) and role.leader_id == request.leader.leader_id:
            turn_ms = now_ms + successor_delay_ms(state, request.preferred_successors)
            deadline_ms = turn_ms if role.fetch_deadline_ms is not None else None
            state.update_role(replace(role, fetch_deadline_ms=deadline_ms, has_fetched=False))
            # An answer still under way is from before the farewell: no sign of life.
            state.requests.reset_all()
    state.reply(request_id, EndQuorumEpochResponse(error=error, leader=state.leader))


def successor_delay_ms(state: State, successors: tuple[ReplicaKey, ...]) -> int:
    """How long this node lets others go first: nothing for the first successor, half as long again for each earlier
    one, the most for one not listed (END-8). An empty list, from a leader that restarted, means at once.
    """
    longest_ms = state.config.election_backoff_max_ms
    if not successors:
        return 0
    for position, successor in enumerate(successors):
        if successor.matches(state.config.replica):
            halvings = len(successors) - 1
            return min(longest_ms, (longest_ms >> halvings) << (position - 1)) if position else 0
    return longest_ms


def _refuse_announcement(
    state: State, request_id: int, request: BeginQuorumEpochRequest | EndQuorumEpochRequest
) -> bool:
    """Refuse what is not for us, and what cannot be true: then nothing is written and the node stops (GEN-12)."""
    refusal = cluster_refusal(state, request.cluster_id)
    if refusal:
        state.reply(request_id, refusal)
        return True
    is_possible = can_be_adopted(request.epoch, ours=state.epoch)
    problem = contradiction(state, request.leader) if is_possible else None
    if problem:
        state.reply(request_id, RequestRefused(error=ErrorCode.UNKNOWN_SERVER_ERROR))
        state.halt(HaltCause.CONTRADICTING_LEADER, problem)
        return True
    return False


def _adopt_announcement(state: State, request: BeginQuorumEpochRequest | EndQuorumEpochRequest, now_ms: int) -> None:
    verb = "leads" if isinstance(request, BeginQuorumEpochRequest) else "resigned from"
    reason = f"node {request.leader.leader_id} {verb} epoch {request.epoch}"
    adopt(state, request.leader, now_ms=now_ms, reason=reason)


def _is_meant_for_us(state: State, addressee: ReplicaKey | None) -> bool:
    return addressee is None or addressee.matches(state.config.replica)


def _is_up_to_date(state: State, request: VoteRequest) -> bool:
    """Epoch first, then length; as good as ours is enough (VOTE-2)."""
    return request.candidate_log_end >= state.log.end


def _would_grant(state: State, request: VoteRequest) -> bool:
    """Forecast a vote: binds nobody, is stored nowhere, resets no timer (PREVOTE-3, 6, 8, 9)."""
    match state.role:
        case Leader():
            return False
        case Follower(has_fetched=True):
            return False
        case Unattached() | Prospective() | Candidate() | Resigned() | Follower():
            return _is_up_to_date(state, request)
        case _:
            assert_never(state.role)


def _grant(state: State, request: VoteRequest, now_ms: int) -> bool:
    """Give the one vote of this epoch, on disk before the answer (VOTE-7..11)."""
    role = state.role
    if not isinstance(role, Unattached | Prospective):
        return False
    if role.voted_key is not None:
        return role.voted_key.matches(request.candidate)
    if role.leader_id is not None or not _is_up_to_date(state, request):
        return False
    granted = replace(role, voted_key=request.candidate)
    if state.config.is_voter:
        granted = replace(granted, election_deadline_ms=state.fresh_election_deadline_ms(now_ms))
    # An observer may be asked, and may grant: the voter set it knows may be an old one (VOTE-13). It has no timer.
    if isinstance(granted, Prospective):
        granted = replace(granted, tally=Tally.opened_by(state.config.node_id, state.config.voters))
    state.move_to(granted, f"voted for node {request.candidate.node_id}")
    return True
