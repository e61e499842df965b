"""Short names for effects, with plain numbers, so that a list of them is easy to read."""

from __future__ import annotations

from collections.abc import Iterable

from raft.core.effects import (
    AppendBatches,
    AppendLeaderChange,
    ControlBatch,
    FlushLog,
    Halt,
    HaltCause,
    ReadRange,
    RoleChanged,
    SendRequest,
    SendResponse,
    StoreElectionState,
    TruncateLog,
)
from raft.core.messages import ClientResponse, OutgoingRequest, Response
from raft.core.roles import Role
from raft.transactions import AbortedTransaction
from raft.types import Batch, ElectionState, Endpoint, Epoch, NodeId, Offset, ReplicaKey
from tests.core.wording import REQUEST_ID, US, endpoint, maybe_key, maybe_node


def stores(*, epoch: int, leader: int | None = None, voted: int | ReplicaKey | None = None) -> StoreElectionState:
    """The node writes its quorum-state file."""
    return StoreElectionState(
        state=ElectionState(epoch=Epoch(epoch), leader_id=maybe_node(leader), voted_key=maybe_key(voted))
    )


def becomes(new: Role, *, was: Role, reason: str) -> RoleChanged:
    """The node changes its role."""
    return RoleChanged(old=was, new=new, reason=reason)


def replies(
    response: Response | ClientResponse, *, read: ReadRange | None = None, to: int = REQUEST_ID
) -> SendResponse:
    """The node responds to the request."""
    return SendResponse(request_id=to, response=response, read=read)


def reads(start: int, end: int, *, max_bytes: int = 1 << 20) -> ReadRange:
    """The response holds these records."""
    return ReadRange(start_offset=Offset(start), end_offset=Offset(end), max_bytes=max_bytes)


def sends(request: OutgoingRequest, *, to: int, number: int = 0, at: Endpoint | None = None) -> SendRequest:
    """The node sends a request to another; `number` counts from 0 within a test."""
    return SendRequest(number=number, node_id=NodeId(to), endpoint=at or endpoint(to), request=request)


def halts(cause: HaltCause, reason: str) -> Halt:
    """The node stops."""
    return Halt(cause=cause, reason=reason)


def appends(*batches: Batch | ControlBatch, aborted: tuple[AbortedTransaction, ...] = ()) -> AppendBatches:
    """The node appends these batches."""
    return AppendBatches(batches=batches, aborted=aborted)


def truncates(end_offset: int) -> TruncateLog:
    """The node removes every record from there on."""
    return TruncateLog(end_offset=Offset(end_offset))


def flushes(end_offset: int, *, number: int = 0) -> FlushLog:
    """The node orders its log to disk; `number` counts from 0 within a test."""
    return FlushLog(number=number, end_offset=Offset(end_offset))


def opens_epoch(
    epoch: int, *, at: int, granted_by: Iterable[int], voters: Iterable[int] = (1, 2, 3)
) -> AppendLeaderChange:
    """The node appends the control batch that begins its epoch."""
    return AppendLeaderChange(
        base_offset=Offset(at),
        epoch=Epoch(epoch),
        leader_id=NodeId(US),
        voters=tuple(NodeId(voter) for voter in voters),
        granting_voters=tuple(NodeId(voter) for voter in granted_by),
    )
