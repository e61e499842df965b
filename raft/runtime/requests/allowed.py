"""Whether a caller may make a request.

Requests in a voter's name are Vote, BeginQuorumEpoch, EndQuorumEpoch, UpdateRaftVoter, and a Fetch or FetchSnapshot
with a voter's replica id. They decide who leads and what is committed, so they are taken only on the voters' listener,
and, with `raft.voters.verify.address`, only from the addresses of the voter that they name.

Authentication, once there is any, has its say here too.
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
    """Return whether to go on with a request; if not, it has its answer, or its connection is closed."""
    names = _voters_named(message, version)
    if names is None or (_is_fetch(message) and not names & set(context.config.voters)):
        return True
    if caller.for_clients is not None:
        context.refusals.report(
            "node %s: %s in the name of %s is refused on the listener for clients",
            context.node_id,
            type(message).__name__,
            _words(names),
            latest=f"from {caller}",
        )
        respond(_refusal(context, message, version))
        return False
    addresses = context.voter_addresses
    if addresses is not None and not all(addresses.has(name, caller.address) for name in names):
        # Not an error code: a voter whose address is not known yet should try again, and not stop.
        respond.hang_up(f"{type(message).__name__} in the name of {_words(names)} from an address that is not its own")
        return False
    respond.is_from_peer()
    return True


def _is_fetch(message: Message) -> bool:
    return isinstance(message, FetchRequest | FetchSnapshotRequest)


def _words(names: set[NodeId]) -> str:
    return "node " + ", ".join(map(str, sorted(names))) if names else "no node"


def _voters_named(message: Message, version: int) -> set[NodeId] | None:
    """In whose names a request is; None for what anyone may ask."""
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
