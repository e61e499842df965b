"""Linearizable reads: a leader says where its log ends only after a majority has confirmed that it leads (rules READ).

A voter confirms the leader for a read by its response to a BeginQuorumEpoch that the leader sent after the read was
requested: at that time the voter was in the leader's epoch, and so had not voted in a later one. A fetch proves nothing
of that kind. When it was sent is not known to the leader: it may have waited in a socket, in front of a connection that
was being opened, or after another fetch.

Requests have numbers in the order in which they are sent, so a read remembers the number of the next one.

Source: Ongaro, "Consensus", 6.4; etcd/raft ReadOnlySafe.
"""

from __future__ import annotations

from itertools import takewhile

from raft.core.events import ReadIndexRequested
from raft.core.messages import ReadIndexResponse
from raft.core.roles import Leader
from raft.core.state import State
from raft.core.waiting_requests import PendingAppend, PendingRead
from raft.errors import ErrorCode
from raft.types import NodeId


def on_read_index(state: State, event: ReadIndexRequested, now_ms: int) -> None:
    """Begin a read: respond once a majority has confirmed this leader, which takes one round trip to the voters."""
    if not isinstance(state.role, Leader):
        state.respond(event.request_id, ReadIndexResponse(error=ErrorCode.NOT_LEADER_OR_FOLLOWER))
        return
    if state.high_watermark is None:
        # The log may have committed records past any offset that this leader could name (CLIENT-4).
        state.respond(event.request_id, ReadIndexResponse(error=ErrorCode.OFFSET_NOT_AVAILABLE))
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
    first_request = state.requests.next_number
    state.reads.add(PendingRead(request_id=request_id, first_request=first_request, deadline_ms=deadline_ms, then=then))
    _respond_to_confirmed(state, role)


def voter_confirmed(state: State, voter: NodeId, request: int) -> None:
    """Note that a voter has accepted the BeginQuorumEpoch of this number; respond to the reads that are confirmed."""
    role = state.role
    assert isinstance(role, Leader), "only a leader is confirmed"
    role.progress.voter_confirmed(voter, request)
    _respond_to_confirmed(state, role)


def end_overdue_reads(state: State, now_ms: int) -> None:
    """Respond with REQUEST_TIMED_OUT to the reads whose timeout is over."""
    for read in state.reads.take_overdue(now_ms):
        state.respond_to_read(read, ErrorCode.REQUEST_TIMED_OUT)


def _respond_to_confirmed(state: State, role: Leader) -> None:
    # The reads before a confirmed one are confirmed as well, and there may be many: each is looked at once.
    for read in list(takewhile(lambda read: role.progress.is_confirmed(read.first_request), state.reads)):
        state.reads.take(read.request_id)
        if read.then is None:
            state.respond(read.request_id, ReadIndexResponse())
        else:
            wait_for_commit(state, read.then)
