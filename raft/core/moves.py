"""The moves between roles: what each role starts with, and what it keeps of the one before."""

from __future__ import annotations

from dataclasses import replace
from typing import assert_never

from raft.core.appender import Appender
from raft.core.effects import AppendLeaderChange, HaltCause
from raft.core.progress import QuorumProgress
from raft.core.roles import Candidate, Follower, Leader, Prospective, Resigned, Unattached
from raft.core.state import State
from raft.core.tally import Tally
from raft.core.transactions import take_over_transactions
from raft.core.unfit_voters import begin_round
from raft.types import Epoch, LeaderAndEpoch, NodeId, Offset


def become_unattached(state: State, epoch: Epoch, *, leader_id: NodeId | None, now_ms: int, reason: str) -> None:
    """Become Unattached: no leader to fetch from is known, in this epoch or a higher one.

    If the node had an election timeout already, its remaining time is kept; otherwise it is drawn anew (TIMER-3). A
    Prospective that lost its pre-votes waits for a new timeout and fetches meanwhile (PREVOTE-14).

    Args:
        state: of the node.
        epoch: the present one or a higher one.
        leader_id: the leader of that epoch, if known: its address is not.
        now_ms: the present time.
        reason: for the log.
    """
    old = state.role
    same_epoch = epoch == old.epoch
    match old:
        case _ if not state.config.is_voter:
            deadline_ms = None
        case Unattached() | Candidate() | Resigned():
            deadline_ms = old.election_deadline_ms
        case Prospective() if not same_epoch:
            deadline_ms = old.election_deadline_ms
        case Prospective() | Leader() | Follower():
            deadline_ms = state.fresh_election_deadline_ms(now_ms)
        case _:
            assert_never(old)
    state.move_to(
        Unattached(
            epoch=epoch,
            leader_id=leader_id,
            voted_key=old.voted_key if same_epoch else None,
            election_deadline_ms=deadline_ms,
        ),
        reason,
    )


def become_prospective(state: State, *, now_ms: int, reason: str) -> None:
    """Start a round of pre-votes in the present epoch; the only voter wins it at once."""
    old = state.role
    assert not isinstance(old, Leader | Resigned), "a leader resigns and leaves its epoch first"
    begin_round(state)
    state.move_to(
        Prospective(
            epoch=old.epoch,
            leader_id=state.leader_id,
            leader_endpoints=state.leader_endpoints,
            voted_key=old.voted_key,
            election_deadline_ms=state.fresh_election_deadline_ms(now_ms),
            tally=Tally.opened_by(state.config.node_id, state.config.voters),
        ),
        reason,
    )
    settle_election(state, now_ms)


def become_candidate(state: State, *, now_ms: int, reason: str) -> None:
    """Raise the epoch and vote for itself; both are on disk before any vote is requested (VOTE-1)."""
    state.move_to(
        Candidate(
            epoch=Epoch(state.epoch + 1),
            voted_key=state.config.replica,
            election_deadline_ms=state.fresh_election_deadline_ms(now_ms),
            tally=Tally.opened_by(state.config.node_id, state.config.voters),
        ),
        reason,
    )
    settle_election(state, now_ms)


def become_leader(state: State, *, now_ms: int) -> None:
    """Lead the epoch: store that first, then append the LeaderChange record, then announce it (VOTE-20)."""
    won = state.role
    assert isinstance(won, Candidate), "only a candidate becomes leader"
    assert won.tally.is_won, "only with a majority"
    config = state.config
    progress = QuorumProgress(
        config.voters,
        config.node_id,
        check_quorum_ms=config.check_quorum_ms,
        begin_interval_ms=config.begin_interval_ms,
        now_ms=now_ms,
    )
    start_offset = state.log.end_offset
    state.rounds_aside = 0
    state.high_watermark = None  # Unknown until a majority has a record of this epoch (HW-4).
    state.move_to(
        Leader(
            epoch=won.epoch,
            leader_id=config.node_id,
            voted_key=won.voted_key,
            epoch_start_offset=start_offset,
            progress=progress,
        ),
        f"won with votes of {sorted(won.tally.granted)}",
    )
    state.log.extend(won.epoch, Offset(start_offset + 1))
    state.emit(
        AppendLeaderChange(
            base_offset=start_offset,
            epoch=won.epoch,
            leader_id=config.node_id,
            voters=config.voters.ids,
            granting_voters=tuple(sorted(won.tally.granted)),
        )
    )
    appender = Appender(state)
    take_over_transactions(state, appender, now_ms)
    if not appender.order():
        state.order_flush()


def become_resigned(state: State, *, now_ms: int, reason: str) -> None:
    """Resign as leader of this epoch, and tell the others in which order to start an election (END-1, END-3)."""
    leader = state.role
    assert isinstance(leader, Leader), "only a leader resigns"
    voters = state.config.voters
    state.move_to(
        Resigned(
            epoch=leader.epoch,
            leader_id=leader.leader_id,
            voted_key=leader.voted_key,
            election_deadline_ms=state.fresh_election_deadline_ms(now_ms),
            preferred_successors=tuple(voters.key(voter) for voter in leader.progress.successors()),
            unacknowledged=frozenset(voters.others(leader.leader_id)),
        ),
        reason,
    )


def become_follower(state: State, leader: LeaderAndEpoch, *, now_ms: int, reason: str) -> None:
    """Follow a leader whose address is known. That is on disk before the first fetch (STATE-5)."""
    assert leader.leader_id is not None, "only a known leader is followed"
    assert leader.endpoints, f"no address of leader {leader.leader_id} is known"
    is_voter = state.config.is_voter
    fetch_timeout_ms = state.config.drawn_fetch_timeout_ms(state.draw)
    state.move_to(
        Follower(
            epoch=leader.epoch,
            leader_id=leader.leader_id,
            leader_endpoints=leader.endpoints,
            voted_key=state.role.voted_key if leader.epoch == state.epoch else None,
            fetch_deadline_ms=now_ms + fetch_timeout_ms if is_voter else None,
            fetch_timeout_ms=fetch_timeout_ms,
        ),
        reason,
    )


def settle_election(state: State, now_ms: int) -> None:
    """Move on if the round is decided. A Candidate that has lost waits for its election timeout instead (VOTE-19)."""
    match state.role:
        case Prospective(tally=tally) if tally.is_won:
            become_candidate(state, now_ms=now_ms, reason=f"won pre-votes of {sorted(tally.granted)}")
        case Candidate(tally=tally) if tally.is_won:
            become_leader(state, now_ms=now_ms)
        case Prospective(tally=tally) if tally.is_lost:
            leave_prospective(state, now_ms=now_ms, reason=f"lost pre-votes, refused by {sorted(tally.refused)}")
        case _:
            pass


def leave_prospective(state: State, *, now_ms: int, reason: str) -> None:
    """Follow the former leader again if its address is known; otherwise become Unattached (PREVOTE-13)."""
    assert isinstance(state.role, Prospective), "only a prospective node can lose its pre-votes"
    leader = state.leader
    if leader.endpoints:
        become_follower(state, leader, now_ms=now_ms, reason=reason)
    else:
        become_unattached(state, leader.epoch, leader_id=leader.leader_id, now_ms=now_ms, reason=reason)


def adopt(state: State, leader: LeaderAndEpoch, *, now_ms: int, reason: str) -> None:
    """Adopt the epoch and leader that a message names (GEN-10), or halt if they contradict what is known (GEN-12)."""
    assert leader.epoch >= state.epoch, "messages of an earlier epoch are fenced before"
    problem = contradiction(state, leader)
    if problem:
        state.halt(HaltCause.CONTRADICTING_LEADER, problem)
    elif leader.leader_id not in (None, state.config.node_id):
        _adopt_leader(state, leader, now_ms=now_ms, reason=reason)
    elif leader.epoch > state.epoch:
        become_unattached(state, leader.epoch, leader_id=None, now_ms=now_ms, reason=reason)


def contradiction(state: State, leader: LeaderAndEpoch) -> str | None:
    """Return how a named leader contradicts what is known, because a node has broken a rule; None if it does not."""
    epoch, leader_id = leader.epoch, leader.leader_id
    if leader_id is None or epoch < state.epoch:
        return None
    leads_or_led = isinstance(state.role, Leader | Resigned) and epoch == state.epoch
    if leader_id == state.config.node_id and not leads_or_led:
        return f"a message names this node leader of epoch {epoch}, which it never led"
    if epoch == state.epoch and state.leader_id not in (None, leader_id):
        return f"two leaders in epoch {epoch}: {state.leader_id} is known, a message names {leader_id}"
    return None


def _adopt_leader(state: State, leader: LeaderAndEpoch, *, now_ms: int, reason: str) -> None:
    assert leader.leader_id is not None, "a message without a leader has none to adopt"
    endpoints = leader.endpoints or state.config.voters.endpoints(leader.leader_id)
    is_news = leader.epoch > state.epoch or state.leader_id is None
    if endpoints and (is_news or len(endpoints) > len(state.leader_endpoints)):
        become_follower(state, replace(leader, endpoints=endpoints), now_ms=now_ms, reason=reason)
    elif isinstance(state.role, Candidate) and leader.epoch == state.epoch:
        # A node without the leader's address is Unattached, and a Candidate cannot become that within its epoch. Its
        # election goes on; it is lost if that leader has a majority.
        state.report(
            f"a message names node {leader.leader_id} leader of epoch {leader.epoch}, "
            "but no address, and no voter has that id"
        )
    elif is_news:
        become_unattached(state, leader.epoch, leader_id=leader.leader_id, now_ms=now_ms, reason=reason)
