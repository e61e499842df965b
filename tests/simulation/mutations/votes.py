"""Bugs of votes."""

from __future__ import annotations

from dataclasses import replace

import pytest

from raft.core import CoreConfig, elections, machine, state
from raft.core.config import Draw
from raft.core.elections import _grant
from raft.core.log_view import LogView
from raft.core.messages import VoteRequest
from raft.core.roles import Follower, Prospective, Role, Unattached, known_leader
from raft.core.startup import starting_role
from raft.core.state import State
from raft.core.tally import Tally
from raft.types import ElectionState, NodeId
from tests.simulation.mutations.mutation import mutation


@mutation(breaks=("STATE-14", "VOTE-8"), caught_by=("OneVotePerEpoch",))
def vote_forgotten_on_restart(patch: pytest.MonkeyPatch) -> None:
    """A restarted node has forgotten its stored vote."""

    def start(
        config: CoreConfig, stored: ElectionState | None, log: LogView, *, draw: Draw, now_ms: int
    ) -> tuple[Role, str]:
        forgotten = None if stored is None else replace(stored, voted_key=None)
        return starting_role(config, forgotten, log, draw=draw, now_ms=now_ms)

    patch.setattr(machine, "starting_role", start)


@mutation(breaks=("ROLE-5",), caught_by=("OneVotePerEpoch",))
def vote_cleared_when_following_a_leader(patch: pytest.MonkeyPatch) -> None:
    """A node that follows a leader in the epoch in which it voted clears its vote (Kafka, pull request 17807)."""
    move_to = State.move_to

    def forget_and_move_to(state: State, role: Role, reason: str) -> None:
        move_to(state, replace(role, voted_key=None) if isinstance(role, Follower) else role, reason)

    patch.setattr(State, "move_to", forget_and_move_to)
    _leave_moves_unchecked(patch)


@mutation(breaks=("VOTE-8",), caught_by=("OneVotePerEpoch",))
def second_vote_in_an_epoch(patch: pytest.MonkeyPatch) -> None:
    """A node grants its vote although it has voted for another candidate in this epoch."""

    def grant(state: State, request: VoteRequest, now_ms: int) -> bool:
        role, is_up_to_date = state.role, request.candidate_log_end >= state.log.end
        if isinstance(role, Unattached | Prospective) and role.leader_id is None and is_up_to_date:
            state.role = replace(role, voted_key=None)
        return _grant(state, request, now_ms)

    patch.setattr(elections, "_grant", grant)


@mutation(breaks=("VOTE-10",), caught_by=("LeadersAreComplete",))
def vote_granted_without_comparing_logs(patch: pytest.MonkeyPatch) -> None:
    """A node grants its vote without comparing the candidate's log with its own."""
    patch.setattr(elections, "_is_up_to_date", lambda _state, _request: True)


@mutation(breaks=("VOTE-2",), caught_by=("LeadersAreComplete",))
def logs_compared_by_length_first(patch: pytest.MonkeyPatch) -> None:
    """Logs are compared by their end offsets first, and by their last epochs second."""

    def is_up_to_date(state: State, request: VoteRequest) -> bool:
        theirs, ours = request.candidate_log_end, state.log.end
        return (theirs.offset, theirs.epoch) >= (ours.offset, ours.epoch)

    patch.setattr(elections, "_is_up_to_date", is_up_to_date)


@mutation(breaks=("VOTE-18",), caught_by=("ElectedByMajority",))
def half_is_a_majority(patch: pytest.MonkeyPatch) -> None:
    """With an even number of voters, half of the votes elect a leader."""
    patch.setattr(Tally, "majority", property(lambda tally: (len(tally.voters) + 1) // 2))


@mutation(breaks=("STATE-5", "VOTE-11"), caught_by=("StoredBeforeSent",))
def vote_not_stored(patch: pytest.MonkeyPatch) -> None:
    """A granted vote is not stored on the disk."""
    store = State.store_election_state

    def store_but_votes(state: State) -> None:
        if not isinstance(state.role, Unattached) or state.role.voted_key is None:
            store(state)

    patch.setattr(State, "store_election_state", store_but_votes)


@mutation(breaks=("GEN-12",), caught_by=("NoNodeHalts",))
def voter_names_its_candidate_as_leader(patch: pytest.MonkeyPatch) -> None:
    """A voter names the candidate that it voted for as the leader, though it has not won."""

    def leader_or_candidate(state: State) -> NodeId | None:
        known, voted_key = known_leader(state.role), state.role.voted_key
        if known is None and isinstance(state.role, Unattached) and voted_key is not None:
            return voted_key.node_id
        return known

    patch.setattr(State, "leader_id", property(leader_or_candidate))


def _leave_moves_unchecked(patch: pytest.MonkeyPatch) -> None:
    """Disable the core's own check of moves, which would find such bugs before the invariants do."""
    patch.setattr(state, "check_move", lambda _old, _new: None)
