"""Bugs of elections: pre-votes, candidates, epochs and leadership."""

from __future__ import annotations

from dataclasses import replace

import pytest

from raft.core import CoreConfig, checks, elections, failover, machine, timers
from raft.core.checks import _vote_error
from raft.core.config import Draw
from raft.core.elections import _would_grant
from raft.core.log_view import LogView
from raft.core.messages import VoteRequest
from raft.core.moves import become_candidate, become_prospective
from raft.core.progress import QuorumProgress
from raft.core.roles import Follower, Leader, Prospective, Role
from raft.core.startup import starting_role
from raft.core.state import State
from raft.core.tally import Tally
from raft.errors import ErrorCode
from raft.types import ElectionState, Epoch
from tests.simulation.mutations.mutation import mutation


@mutation(breaks=("PREVOTE-9",), caught_by=("LeadershipIsStable",))
def follower_with_a_live_leader_grants_pre_vote(patch: pytest.MonkeyPatch) -> None:
    """A follower grants pre-votes although its leader responds to its fetches."""

    def would_grant(state: State, request: VoteRequest) -> bool:
        if isinstance(state.role, Follower):
            return request.candidate_log_end >= state.log.end
        return _would_grant(state, request)

    patch.setattr(elections, "_would_grant", would_grant)


@mutation(breaks=("ROLE-2", "PREVOTE-12"), caught_by=("LeadershipIsStable",))
def pre_vote_skipped(patch: pytest.MonkeyPatch) -> None:
    """A node whose fetch timeout expires raises its epoch without requesting pre-votes."""

    def become_candidate_at_once(state: State, *, now_ms: int, reason: str) -> None:
        become_prospective(state, now_ms=now_ms, reason=reason)
        if isinstance(state.role, Prospective):
            become_candidate(state, now_ms=now_ms, reason=reason)

    patch.setattr(timers, "become_prospective", become_candidate_at_once)


@mutation(breaks=("FAILOVER-1",), caught_by=("LeadershipIsStable",))
def pre_vote_skipped_when_connections_are_refused(patch: pytest.MonkeyPatch) -> None:
    """A follower whose connections are refused raises its epoch without pre-votes, though the leader is alive."""

    def become_candidate_at_once(state: State, *, now_ms: int, reason: str) -> None:
        become_prospective(state, now_ms=now_ms, reason=reason)
        if isinstance(state.role, Prospective):
            become_candidate(state, now_ms=now_ms, reason=reason)

    patch.setattr(failover, "become_prospective", become_candidate_at_once)


@mutation(breaks=("EPOCH-1",), caught_by=("ForeignRequestsAreRefused",))
def any_epoch_is_adopted(patch: pytest.MonkeyPatch) -> None:
    """A node adopts every higher epoch, however high."""

    def can_be_adopted(epoch: int, *, ours: Epoch) -> bool:
        return epoch >= ours

    for module in (checks, elections):
        patch.setattr(module, "can_be_adopted", can_be_adopted)


@mutation(breaks=("PREVOTE-6", "SCENARIO-6"), caught_by=("QuorumRecovers",))
def pre_vote_refused_while_a_leader_is_known(patch: pytest.MonkeyPatch) -> None:
    """A node refuses pre-votes as long as it knows a leader of its epoch, even a dead one, so no candidate wins."""

    def would_grant(state: State, request: VoteRequest) -> bool:
        return state.leader_id is None and _would_grant(state, request)

    patch.setattr(elections, "_would_grant", would_grant)


@mutation(breaks=("PREVOTE-4", "ERROR-7"), caught_by=("NoResponseHaltsPeers",))
def pre_vote_checked_as_a_standard_vote(patch: pytest.MonkeyPatch) -> None:
    """A pre-vote is checked by the rule of standard votes that the last epoch is below the epoch of the vote."""

    def error_of(state: State, request: VoteRequest) -> ErrorCode:
        return _vote_error(state, replace(request, pre_vote=False))

    patch.setattr(checks, "_vote_error", error_of)


@mutation(breaks=("STATE-11", "STATE-15"), caught_by=("LeadershipEndsWithTheProcess",))
def restarted_leader_keeps_leading(patch: pytest.MonkeyPatch) -> None:
    """A node that led when it stopped is leader of the same epoch after a restart."""

    def start(
        config: CoreConfig, stored: ElectionState | None, log: LogView, *, draw: Draw, now_ms: int
    ) -> tuple[Role, str]:
        if stored is None or stored.leader_id != config.node_id:
            return starting_role(config, stored, log, draw=draw, now_ms=now_ms)
        progress = QuorumProgress(
            config.voters,
            config.node_id,
            check_quorum_ms=config.check_quorum_ms,
            begin_interval_ms=config.begin_interval_ms,
            now_ms=now_ms,
        )
        role = Leader(
            epoch=stored.epoch,
            leader_id=config.node_id,
            voted_key=stored.voted_key,
            epoch_start_offset=log.end_offset,
            progress=progress,
        )
        return role, "it led before"

    patch.setattr(machine, "starting_role", start)


@mutation(breaks=("STATE-14", "ROLE-4"), caught_by=("EpochNeverFalls",))
def epoch_without_leader_or_vote_forgotten_on_restart(patch: pytest.MonkeyPatch) -> None:
    """A restarted node that stored neither a leader nor a vote takes the last epoch of its log as its epoch."""

    def start(
        config: CoreConfig, stored: ElectionState | None, log: LogView, *, draw: Draw, now_ms: int
    ) -> tuple[Role, str]:
        if stored is not None and stored.leader_id is None and stored.voted_key is None:
            stored = ElectionState(epoch=log.last_epoch)
        return starting_role(config, stored, log, draw=draw, now_ms=now_ms)

    patch.setattr(machine, "starting_role", start)


@mutation(breaks=("STATE-5",), caught_by=("RoleIsStored", "StoredBeforeSent"))
def followed_leader_not_stored(patch: pytest.MonkeyPatch) -> None:
    """A follower does not store its leader on the disk."""
    store = State.store_election_state

    def store_unless_follower(state: State) -> None:
        if not isinstance(state.role, Follower):
            store(state)

    patch.setattr(State, "store_election_state", store_unless_follower)


@mutation(breaks=("ROLE-10", "VOTE-6"), caught_by=("StoredBeforeSent", "RoleIsStored"))
def adopted_epoch_not_stored(patch: pytest.MonkeyPatch) -> None:
    """A higher epoch without a leader and a vote is not stored on the disk."""
    store = State.store_election_state

    def store_if_leader_or_vote(state: State) -> None:
        if state.leader_id is not None or state.role.voted_key is not None:
            store(state)

    patch.setattr(State, "store_election_state", store_if_leader_or_vote)


@mutation(breaks=("ROLE-7", "PREVOTE-22"), caught_by=("ObserversOnlyFollow",))
def observer_becomes_candidate(patch: pytest.MonkeyPatch) -> None:
    """An observer that knows no leader requests votes."""
    patch.setattr(CoreConfig, "is_voter", property(lambda _config: True))


@mutation(breaks=("CLUSTERID-2",), caught_by=("ForeignRequestsAreRefused",))
def cluster_id_not_checked(patch: pytest.MonkeyPatch) -> None:
    """Requests of other clusters are handled like those of this one."""
    for module in ("raft.core.elections", "raft.core.fetches"):
        patch.setattr(f"{module}.cluster_refusal", lambda _state, _cluster_id: None)


@mutation(breaks=("VOTE-12", "VOTE-18"), caught_by=("ElectedByMajority", "OneLeaderPerEpoch"))
def refused_vote_counted_as_granted(patch: pytest.MonkeyPatch) -> None:
    """A candidate counts every response as a granted vote."""
    with_vote = Tally.with_vote
    patch.setattr(Tally, "with_vote", lambda tally, voter, *, granted: with_vote(tally, voter, granted=True))
