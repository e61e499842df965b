"""Requests for votes, and announcements of a leader (rules VOTE, PREVOTE, BEGIN, END)."""

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
from raft.core.moves import adopt, become_follower, contradiction
from raft.core.roles import Candidate, Follower, Leader, Prospective, Resigned, Unattached
from raft.core.state import State
from raft.core.tally import Tally
from raft.errors import ErrorCode
from raft.types import LeaderAndEpoch, ReplicaKey


def on_vote_request(state: State, request_id: int, request: VoteRequest, now_ms: int) -> None:
    """Grant or refuse a vote or a pre-vote. In both cases a higher epoch is adopted first (VOTE-6, PREVOTE-5)."""
    refusal = cluster_refusal(state, request.cluster_id)
    if refusal:
        state.respond(request_id, refusal)
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
    state.respond(request_id, VoteResponse(error=error, leader=state.leader, vote_granted=granted))


def on_begin_quorum_epoch(state: State, request_id: int, request: BeginQuorumEpochRequest, now_ms: int) -> None:
    """Follow a new leader. It does not extend the fetch timeout of a node that follows it already (BEGIN-8).

    A prospective node follows its leader again, because this shows that the leader is alive and leads (PREVOTE-24).
    """
    if _refuse_announcement(state, request_id, request):
        return
    error = partition_error(state, request)
    if error == ErrorCode.NONE:
        _adopt_announcement(state, request, now_ms)
        _follow_again(state, now_ms)
        if not _is_meant_for_us(state, request.voter):
            error = ErrorCode.INVALID_VOTER_KEY
    state.respond(request_id, BeginQuorumEpochResponse(error=error, leader=state.leader))


def on_end_quorum_epoch(state: State, request_id: int, request: EndQuorumEpochRequest, now_ms: int) -> None:
    """Start an election after this node's delay, because the leader has resigned (END-6, END-7).

    From now on this node grants pre-votes, so that the preferred successor can win (PREVOTE-23).
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
            # A response that is still in flight was sent before the leader resigned, and must not extend the timeout.
            state.requests.reset_all()
    state.respond(request_id, EndQuorumEpochResponse(error=error, leader=state.leader))


def successor_delay_ms(state: State, successors: tuple[ReplicaKey, ...]) -> int:
    """Return how long this node waits before it starts an election, so that better successors go first (END-8).

    The first successor does not wait. The last one waits for half of `election_backoff_max_ms`, each one before it for
    half of the next one's wait, and a node that is not listed for all of it. The list of a leader that has restarted is
    empty: then no node waits.

    Args:
        state: of this node.
        successors: the voters in the order in which the resigned leader prefers them.
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
    """Refuse an announcement of another cluster, and one that contradicts what is known; then also halt (GEN-12)."""
    refusal = cluster_refusal(state, request.cluster_id)
    if refusal:
        state.respond(request_id, refusal)
        return True
    is_possible = can_be_adopted(request.epoch, ours=state.epoch)
    problem = contradiction(state, request.leader) if is_possible else None
    if problem:
        state.respond(request_id, RequestRefused(error=ErrorCode.UNKNOWN_SERVER_ERROR))
        state.halt(HaltCause.CONTRADICTING_LEADER, problem)
        return True
    return False


def _adopt_announcement(state: State, request: BeginQuorumEpochRequest | EndQuorumEpochRequest, now_ms: int) -> None:
    verb = "leads" if isinstance(request, BeginQuorumEpochRequest) else "resigned from"
    reason = f"node {request.leader.leader_id} {verb} epoch {request.epoch}"
    adopt(state, request.leader, now_ms=now_ms, reason=reason)


def _follow_again(state: State, now_ms: int) -> None:
    """Return from Prospective to the leader that has announced itself, unless its address is unknown."""
    leader = state.leader
    if isinstance(state.role, Prospective) and leader.endpoints:
        become_follower(state, leader, now_ms=now_ms, reason=f"leader {leader.leader_id} announces itself again")


def _is_meant_for_us(state: State, addressee: ReplicaKey | None) -> bool:
    return addressee is None or addressee.matches(state.config.replica)


def _is_up_to_date(state: State, request: VoteRequest) -> bool:
    """Whether the candidate's log is at least as good as ours, by last epoch and then by log end offset (VOTE-2)."""
    return request.candidate_log_end >= state.log.end


def _would_grant(state: State, request: VoteRequest) -> bool:
    """Return whether this node would vote; that binds, stores and extends nothing (PREVOTE-3, 6, 8, 9)."""
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
    """Grant the only vote of this epoch; it is on disk before the response is sent (VOTE-7..11)."""
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
    # An observer may get this request, and may grant it, because the voter set that it knows may be outdated (VOTE-13).
    if isinstance(granted, Prospective):
        granted = replace(granted, tally=Tally.opened_by(state.config.node_id, state.config.voters))
    state.move_to(granted, f"voted for node {request.candidate.node_id}")
    return True
