"""Linearizable reads: a leader says where its log ends only after a majority has confirmed that it leads (rules READ).

A fetch of a voter confirms the leader for a read if the voter has sent it after the read was requested. The time at
which it is received does not tell that: a leader that was suspended may find old fetches in its sockets. So each
response to a fetch has the number of the newest read, its `read_round`, and the runtime returns that number with the
next fetch on the same connection. A voter sends its next fetch there only after it has received the response.

Source: Ongaro, "Consensus", 6.4; etcd/raft ReadOnlySafe.
"""

from __future__ import annotations

from itertools import takewhile

from raft.core.events import ReadIndexRequested
from raft.core.parking import PendingAppend, PendingRead
from raft.core.roles import Leader
from raft.core.state import State
from raft.errors import ErrorCode
from raft.types import NodeId


def on_read_index(state: State, event: ReadIndexRequested, now_ms: int) -> None:
    """Begin a read: respond once a majority has confirmed this leader, which takes one round of fetches."""
    if not isinstance(state.role, Leader):
        state.respond_to_append(event.request_id, ErrorCode.NOT_LEADER_OR_FOLLOWER)
        return
    if state.high_watermark is None:
        # The log may have committed records past any offset that this leader could name (CLIENT-4).
        state.respond_to_append(event.request_id, ErrorCode.OFFSET_NOT_AVAILABLE)
        return
    _begin(state, state.role, event.request_id, now_ms + event.timeout_ms)


def respond_when_confirmed(state: State, response: PendingAppend) -> None:
    """Send a response that says what is not in the log, once a majority has confirmed this leader (TXN-11).

    A leader that was replaced, and does not know that yet, does not have what its successor has appended.
    """
    assert isinstance(state.role, Leader), "only a leader says what its log has"
    _begin(state, state.role, response.request_id, response.deadline_ms, then=response)


def wait_for_commit(state: State, response: PendingAppend) -> None:
    """Send a response once everything below its `end_offset` is committed."""
    if state.high_watermark is not None and response.end_offset <= state.high_watermark:
        state.respond_to_append(
            response.request_id, response.error, response.base_offset, response.message, response.producer
        )
    else:
        state.appends.add(response)


def _begin(state: State, role: Leader, request_id: int, deadline_ms: int, *, then: PendingAppend | None = None) -> None:
    state.read_round += 1
    state.reads.add(PendingRead(request_id=request_id, read_round=state.read_round, deadline_ms=deadline_ms, then=then))
    _respond_to_confirmed(state, role)


def is_confirmation_needed(state: State, read_round: int) -> bool:
    """Whether a read waits that a fetch with this round does not confirm; the voter has to fetch again."""
    return bool(state.reads) and read_round < state.read_round


def voter_confirmed(state: State, voter: NodeId, read_round: int) -> None:
    """Note that a voter has sent a valid fetch after the response with this round; respond to the reads up to it."""
    role = state.role
    assert isinstance(role, Leader), "only a leader is confirmed"
    if not state.reads:
        return
    role.progress.voter_confirmed(voter, read_round)
    _respond_to_confirmed(state, role)


def end_overdue_reads(state: State, now_ms: int) -> None:
    """Respond with REQUEST_TIMED_OUT to the reads whose timeout is over."""
    for read in state.reads.take_overdue(now_ms):
        state.respond_to_append(read.request_id, ErrorCode.REQUEST_TIMED_OUT)


def _respond_to_confirmed(state: State, role: Leader) -> None:
    confirmed_round = role.progress.confirmed_round(otherwise=state.read_round)
    # They are in the order of their rounds, and there may be many: each is looked at once.
    for read in list(takewhile(lambda read: read.read_round <= confirmed_round, state.reads)):
        state.reads.take(read.request_id)
        if read.then is None:
            state.respond_to_append(read.request_id, ErrorCode.NONE)
        else:
            wait_for_commit(state, read.then)
