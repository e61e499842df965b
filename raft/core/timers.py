"""Deadlines: what a node does when time has passed (rules, section 4)."""

from __future__ import annotations

from typing import assert_never

from raft.core.commits import end_overdue_appends
from raft.core.effects import Disconnect, ShutdownFinished
from raft.core.fetches import end_overdue_fetches
from raft.core.held_writes import update_write_hold
from raft.core.moves import become_prospective, become_resigned, become_unattached, leave_prospective
from raft.core.read_index import end_overdue_reads
from raft.core.roles import Candidate, Follower, Leader, Prospective, Resigned, Role, Unattached
from raft.core.state import State
from raft.core.transactions import abort_overdue_transactions
from raft.core.unfit_voters import reason_to_resign
from raft.types import Epoch


def handle_deadlines(state: State, now_ms: int) -> None:
    """Do everything that is due by now."""
    for overdue in state.requests.take_overdue(now_ms):
        state.emit(Disconnect(node_id=overdue.node_id))
    state.requests.remove_expired_backoffs(now_ms)
    state.disk_room.look(now_ms)
    left: set[type[Role]] = set()
    # One move may make the next one due at once. With timeouts of 0 they would never end, so each role is left once.
    while type(state.role) not in left:
        left.add(type(state.role))
        _move_on_time(state, now_ms)
    if isinstance(state.role, Leader):
        state.role.progress.forget_silent_observers(now_ms)
    abort_overdue_transactions(state, now_ms)
    update_write_hold(state, now_ms)
    end_overdue_fetches(state, now_ms)
    end_overdue_appends(state, now_ms)
    end_overdue_reads(state, now_ms)


def next_deadline_ms(state: State) -> int | None:
    """Return when `handle_deadlines` or `send_requests` may have something to do; None for never."""
    deadlines = state.requests.deadlines_ms()
    waiting = (state.parked, state.appends, state.reads)
    waiting_ms = (requests.earliest_deadline_ms for requests in waiting)
    for deadline_ms in (*_role_deadlines_ms(state), *waiting_ms, state.shutdown_deadline_ms):
        if deadline_ms is not None:
            deadlines.append(deadline_ms)
    return min(deadlines, default=None)


def _role_deadlines_ms(state: State) -> tuple[int | None, ...]:
    if isinstance(state.role, Leader):
        progress = state.role.progress
        begin_deadline_ms = progress.begin_deadline_ms if progress.voters else None
        transactions_ms = state.role.timeouts.earliest_deadline_ms
        return (progress.check_quorum_deadline_ms, begin_deadline_ms, progress.observer_deadline_ms, transactions_ms)
    if state.is_shutting_down:
        return ()  # A node that shuts down takes no part in elections.
    match state.role:
        case Follower(fetch_deadline_ms=deadline_ms):
            return (deadline_ms,)
        case Unattached() | Prospective() | Candidate() | Resigned() as role:
            return (role.election_deadline_ms,)
        case _:
            assert_never(state.role)


def _move_on_time(state: State, now_ms: int) -> None:
    """Make the move for which the present role's deadline is set, if that has passed."""
    role = state.role
    if isinstance(role, Leader):
        # Its own deadline, that of check quorum, was handled before the event.
        if state.is_shutting_down and not state.config.is_only_voter:
            become_resigned(state, now_ms=now_ms, reason="shutdown")
        else:
            _hand_over(state, now_ms)
        return
    is_due = any(deadline_ms is not None and deadline_ms <= now_ms for deadline_ms in _role_deadlines_ms(state))
    if not is_due:
        return
    match role:
        case Unattached():
            become_prospective(state, now_ms=now_ms, reason="election timeout without a leader")
        case Prospective():
            leave_prospective(state, now_ms=now_ms, reason="election timeout without enough pre-votes")
        case Candidate():
            become_prospective(state, now_ms=now_ms, reason="election timeout without enough votes")
        case Resigned():
            # In the next epoch no node, this one included, can take it for the leader again (ROLE-9).
            epoch = Epoch(role.epoch + 1)
            become_unattached(state, epoch, leader_id=None, now_ms=now_ms, reason="election timeout after it resigned")
        case Follower():
            become_prospective(state, now_ms=now_ms, reason="fetch timeout expired")
        case _:
            assert_never(role)


def _hand_over(state: State, now_ms: int) -> None:
    """Resign if this leader should not lead, and another voter can be elected (LOG-28, LOG-30).

    There is no deadline for this, because a full disk is measured each second, and each voter fetches soon.
    """
    reason = reason_to_resign(state, now_ms)
    if reason is not None:
        become_resigned(state, now_ms=now_ms, reason=reason)


def check_quorum(state: State, now_ms: int) -> None:
    """Resign if this node leads and no majority has fetched within the check-quorum timeout.

    This is checked before each event: a leader whose process was suspended must not respond to any request as a leader
    after another one may have been elected (FETCH-17).
    """
    if not isinstance(state.role, Leader):
        return
    expiry_ms = state.role.progress.check_quorum_deadline_ms
    if expiry_ms is not None and expiry_ms <= now_ms:
        become_resigned(state, now_ms=now_ms, reason="no majority has fetched within the check-quorum timeout")


def finish_shutdown(state: State, now_ms: int) -> None:
    """End the shutdown once another node leads, none can be elected, or the timeout is over (END-14, END-15).

    All waiting requests get their responses before.
    """
    if state.shutdown_deadline_ms is None:
        return
    config = state.config
    another_leads = state.leader_id not in (None, config.node_id)
    handed_over = another_leads or not config.is_voter or config.is_only_voter
    if handed_over or _is_no_majority_left(state) or state.shutdown_deadline_ms <= now_ms:
        state.fail_appends()
        state.fail_reads()
        state.fail_parked()
        state.emit(ShutdownFinished(handed_over=handed_over))
        state.is_stopped = True


def _is_no_majority_left(state: State) -> bool:
    """Whether so many voters have stopped that the others cannot elect a leader: the whole quorum is being stopped."""
    voters = state.config.voters
    reachable = [voter for voter in voters.others(state.config.node_id) if voter not in state.unreachable]
    return bool(state.unreachable) and len(reachable) < voters.majority
