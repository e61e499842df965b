"""Whether a caller may send a request.

Requests in a voter's name are Vote, BeginQuorumEpoch, EndQuorumEpoch, UpdateRaftVoter, and a Fetch or FetchSnapshot
with a voter's replica id. They decide which node leads and what is committed. So they are accepted only on the voters'
listener, and, with `raft.voters.verify.address`, only from the addresses of the voter that they name.
"""

from __future__ import annotations

from raft.codec import Message
from raft.core.messages import RequestRefused
from raft.errors import ErrorCode
from raft.runtime.caller import Caller
from raft.runtime.requests.context import Context
from raft.runtime.respond import Respond
from raft.types import NodeId
from raft.wire.mapping.fetches import fetching_replica
from raft.wire.mapping.replica_messages import response_to_wire
from raft.wire.messages.begin_quorum_epoch import BeginQuorumEpochRequest
from raft.wire.messages.end_quorum_epoch import EndQuorumEpochRequest
from raft.wire.messages.fetch import FetchRequest
from raft.wire.messages.fetch_snapshot import FetchSnapshotRequest, FetchSnapshotResponse
from raft.wire.messages.update_raft_voter import UpdateRaftVoterRequest, UpdateRaftVoterResponse
from raft.wire.messages.vote import VoteRequest


def is_allowed(context: Context, caller: Caller, message: Message, version: int, respond: Respond) -> bool:
    """Return whether to handle a request. If not, this function has sent a response or closed the connection."""
    names = _replicas_named(message, version)
    if names is None or (_is_fetch(message) and not names & set(context.config.voters)):
        return True
    if caller.for_clients is not None:
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
        # No error code is sent: a voter whose address is not resolved yet should retry, and not stop.
        respond.hang_up(f"{type(message).__name__} in the name of {_text(names)} came from another node's address")
        return False
    respond.mark_as_from_peer()
    return True


def _is_fetch(message: Message) -> bool:
    return isinstance(message, FetchRequest | FetchSnapshotRequest)


def _text(names: set[NodeId]) -> str:
    return "node " + ", ".join(map(str, sorted(names))) if names else "no node"


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
