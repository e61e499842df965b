"""What is true of a node's state between two events. A node that breaks one of these must stop.

`RaftCore.handle` checks them after every event, in production too. So each check costs a few comparisons, whatever the
length of the log and the number of waiting requests. What depends on the role alone is checked when the role was
replaced, and what only a move can change, after a move.
"""

from __future__ import annotations

from typing import assert_never

from raft.core.config import CoreConfig
from raft.core.epochs import LAST_EPOCH
from raft.core.roles import Candidate, Follower, Leader, Prospective, Resigned, Role, Unattached, election_state
from raft.core.state import State


def check_invariants(state: State, *, role_before: Role, moves_before: int) -> None:
    """Make sure that an event has left the state sound.

    Args:
        state: after the event.
        role_before: its role before the event.
        moves_before: its count of moves before the event.

    Raises:
        AssertionError: an invariant is broken; the message says which one, with the values.
    """
    role, log, high_watermark = state.role, state.log, state.high_watermark
    end_offset, durable_end, committed_end = log.end_offset, state.flushes.durable_end, state.known_committed
    assert durable_end <= end_offset, f"durable up to {durable_end}, log end {end_offset}"
    assert committed_end <= end_offset, f"committed up to {committed_end}, log end {end_offset}"
    snapshot_end = 0 if state.newest_snapshot is None else state.newest_snapshot.offset
    assert log.start_offset <= snapshot_end <= committed_end or not snapshot_end, (
        f"log start {log.start_offset}, newest snapshot at {snapshot_end}, committed up to {committed_end}"
    )
    if high_watermark is not None:
        assert high_watermark >= log.start_offset, f"high watermark {high_watermark}, log start {log.start_offset}"
        assert high_watermark <= committed_end, f"high watermark {high_watermark}, committed up to {committed_end}"
    if isinstance(role, Leader):
        start = role.epoch_start_offset
        assert start < end_offset, f"epoch {role.epoch} starts at {start}, log end {end_offset}"
        assert high_watermark is None or high_watermark > start, f"high watermark {high_watermark}, epoch start {start}"
        assert state.shutdown_deadline_ms is None, f"leader of epoch {role.epoch}, and a shutdown was requested"
        unmarked = state.transactions.unmarked_count
        assert not unmarked, f"leader of epoch {role.epoch}, and {unmarked} parts of committed writes have no marker"
    if role is not role_before:
        _check_role(role, state.config)
        if state.moves != moves_before:
            _check_move(state)


def _check_move(state: State) -> None:
    """Check what a move changes: the new state is stored, and the requests of the role before are gone."""
    role = state.role
    assert state.stored == election_state(role), f"{state.stored} is stored, the role is {role}"
    assert role.epoch <= LAST_EPOCH, f"epoch {role.epoch} is past the last one"
    assert state.log.last_epoch <= role.epoch, f"log of epoch {state.log.last_epoch}, role of epoch {role.epoch}"
    # A follower may know its leader from messages alone.
    unknown = state.requests.inflight_nodes - state.known_nodes - {state.leader_id}
    assert not unknown, f"requests are in flight to unknown nodes {sorted(unknown)}"
    if not isinstance(role, Leader):
        assert not state.appends, f"{len(state.appends)} appends wait, the role is {type(role).__name__}"
        assert not state.reads, f"{len(state.reads)} reads wait, the role is {type(role).__name__}"
    if not isinstance(role, Leader | Follower):
        assert not state.parked, f"{len(state.parked)} fetches wait, the role is {type(role).__name__}"


def _check_role(role: Role, config: CoreConfig) -> None:
    """Check a role by itself: this node can have it."""
    match role:
        case Follower() | Unattached():
            _check_led_by_another(role, config)
        case Prospective() | Candidate():
            _check_round(role, config)
        case Leader():
            _check_leads(role, config)
            assert role.voted_key == config.replica, f"leader of epoch {role.epoch} with a vote for {role.voted_key}"
        case Resigned():
            _check_leads(role, config)
            others = config.voters.others(config.node_id)
            assert role.unacknowledged.issubset(others), f"{sorted(role.unacknowledged)} are not all other voters"
        case _:
            assert_never(role)


def _check_led_by_another(role: Follower | Unattached, config: CoreConfig) -> None:
    """Check the deadline: a voter without a leader starts an election at its deadline, and an observer has none."""
    is_voter = config.is_voter
    assert role.leader_id != config.node_id, f"{type(role).__name__} in epoch {role.epoch}, whose leader is this node"
    if isinstance(role, Follower):
        deadline_ms = role.fetch_deadline_ms
        assert role.leader_endpoints, f"the address of leader {role.leader_id} is unknown"
    else:
        deadline_ms = role.election_deadline_ms
    assert (deadline_ms is not None) is is_voter, f"voter: {is_voter}, deadline: {deadline_ms}"


def _check_round(role: Prospective | Candidate, config: CoreConfig) -> None:
    """Check a nominee: it has voted for itself, and the votes so far do not decide the round."""
    tally = role.tally
    assert config.is_voter, f"{type(role).__name__}, but not a voter"
    assert config.node_id in tally.granted, f"no vote of this node in {tally}"
    assert not tally.is_won, f"{type(role).__name__}, but {tally} is won"
    if isinstance(role, Candidate):
        # A candidate that has lost waits for its election timeout (VOTE-19).
        assert role.voted_key == config.replica, f"candidate of epoch {role.epoch} with a vote for {role.voted_key}"
    else:
        assert not tally.is_lost, f"Prospective, but {tally} is lost"


def _check_leads(role: Leader | Resigned, config: CoreConfig) -> None:
    assert config.is_voter, f"{type(role).__name__}, but not a voter"
    assert role.leader_id == config.node_id, f"{type(role).__name__} in epoch {role.epoch} of leader {role.leader_id}"
