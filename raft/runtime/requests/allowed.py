"""Whether a caller may send a request.

Requests in a voter's name are Vote, BeginQuorumEpoch, EndQuorumEpoch, UpdateRaftVoter, and a Fetch or FetchSnapshot
with a voter's replica id. They decide which node leads and what is committed. So they are accepted only on the voters'
listener, with `raft.voters.verify.address` only from the addresses of the voter that they name, and with rules (see
`raft.security.rules`) only from the principal of that voter. The rules also say who may send the other requests.
"""

from __future__ import annotations

from raft.codec import Message
from raft.core.messages import RequestRefused
from raft.errors import ErrorCode
from raft.runtime.caller import Caller
from raft.runtime.drop_cause import DropCause
from raft.runtime.requests.authorization import is_authorized
from raft.runtime.requests.context import Context
from raft.runtime.requests.refusals import refusal
from raft.runtime.respond import Respond
from raft.security.operations import Operation
from raft.types import NodeId
from raft.wire.mapping.fetches import fetching_replica
from raft.wire.mapping.replica_messages import response_to_wire
from raft.wire.messages.begin_quorum_epoch import BeginQuorumEpochRequest
from raft.wire.messages.end_quorum_epoch import EndQuorumEpochRequest
from raft.wire.messages.fetch import FetchRequest
from raft.wire.messages.fetch_snapshot import FetchSnapshotRequest, FetchSnapshotResponse
from raft.wire.messages.update_raft_voter import UpdateRaftVoterRequest, UpdateRaftVoterResponse
from raft.wire.messages.vote import VoteRequest

_SHOWN_NAMES = 3


def is_allowed(context: Context, caller: Caller, message: Message, version: int, respond: Respond) -> bool:
    """Return whether to handle a request. If not, this function has sent a response or closed the connection."""
    names = _replicas_named(message, version)
    if names is None:
        if is_authorized(context, caller, message):
            return True
        respond(refusal(message, version))
        return False
    if not _may_be(context, caller, message, names):
        respond(_refusal(context, message, version))
        return False
    if _is_fetch(message) and not names & set(context.config.voters):
        return True
    if caller.for_clients is not None:
        context.unauthorized[Operation.PEER] += 1
        context.refusals.report(
            "node %s: refused %s in the name of %s on a listener for clients",
            context.node_id,
            type(message).__name__,
            _text(names),
            latest=f"address={caller}",
        )
        respond(_refusal(context, message, version))
        return False
    addresses = context.voter_addresses
    if addresses is not None and not all(addresses.has(name, caller.address) for name in names):
        # No error code is sent: a voter whose address is not resolved yet should retry soon, and a majority of error
        # codes would stop it (ERROR-6).
        respond.hang_up(
            f"{type(message).__name__} in the name of {_text(names)} came from another node's address",
            DropCause.WRONG_ADDRESS,
        )
        return False
    respond.mark_as_from_peer()
    return True


def _may_be(context: Context, caller: Caller, message: Message, names: set[NodeId]) -> bool:
    """Return whether the rules allow a caller to speak as these replicas. If not, it is logged and counted."""
    if context.rules is None:
        return True
    rules, voters = context.rules(), context.config.voters
    # Nodes that are not voters only fetch. A Vote or an announcement of any node can change the leader.
    is_of_voter = not _is_fetch(message)
    if names and all(
        rules.allow_peer(caller.principal, name, is_voter=is_of_voter or name in voters) for name in names
    ):
        return True
    context.refuse(caller, Operation.PEER, f"{type(message).__name__} in the name of {_text(names)}")
    return False


def _is_fetch(message: Message) -> bool:
    return isinstance(message, FetchRequest | FetchSnapshotRequest)


def _text(names: set[NodeId]) -> str:
    if not names:
        return "no node"
    # A client may name a thousand nodes in one request, and others in the next one: the log must not grow by that.
    shown = ", ".join(map(str, sorted(names)[:_SHOWN_NAMES]))
    more = len(names) - _SHOWN_NAMES
    return f"node {shown} and {more} more" if more > 0 else f"node {shown}"


def _replicas_named(message: Message, version: int) -> set[NodeId] | None:
    """Return the replicas in whose name a request is; None for a request that any client may send."""
    match message:
        case VoteRequest():
            return {NodeId(each.replica_id) for topic in message.topics for each in topic.partitions}
        case BeginQuorumEpochRequest() | EndQuorumEpochRequest():
            return {NodeId(each.leader_id) for topic in message.topics for each in topic.partitions}
        case UpdateRaftVoterRequest():
            return {NodeId(message.voter_id)}
        case FetchRequest():
            replica = fetching_replica(message, version)
            return None if replica is None else {replica}
        case FetchSnapshotRequest():
            return {NodeId(message.replica_id)}
        case _:
            return None


def _refusal(context: Context, message: Message, version: int) -> Message:
    error = ErrorCode.CLUSTER_AUTHORIZATION_FAILED
    match message:
        case FetchSnapshotRequest():
            return FetchSnapshotResponse(error_code=error, topics=())
        case UpdateRaftVoterRequest():
            return UpdateRaftVoterResponse(error_code=error)
        case _:
            return response_to_wire(message, RequestRefused(error=error), b"", context.ours, version)
