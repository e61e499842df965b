"""Requests between replicas and their responses, between wire and core: calls the mapping of each message."""

from __future__ import annotations

from typing import Any, assert_never

from raft.codec import Message
from raft.core import messages as core
from raft.errors import DecodeError
from raft.wire import apis
from raft.wire.apis import Api
from raft.wire.mapping import elections, fetches, snapshots
from raft.wire.mapping.partition import TopicPartition
from raft.wire.messages.begin_quorum_epoch import BeginQuorumEpochRequest, BeginQuorumEpochResponse
from raft.wire.messages.end_quorum_epoch import EndQuorumEpochRequest, EndQuorumEpochResponse
from raft.wire.messages.fetch import FetchRequest, FetchResponse
from raft.wire.messages.fetch_snapshot import FetchSnapshotRequest, FetchSnapshotResponse
from raft.wire.messages.vote import VoteRequest, VoteResponse


def api_of(request: core.OutgoingRequest) -> Api[Any, Any]:
    """Return the API of a request."""
    match request:
        case core.VoteRequest():
            return apis.VOTE
        case core.BeginQuorumEpochRequest():
            return apis.BEGIN_QUORUM_EPOCH
        case core.EndQuorumEpochRequest():
            return apis.END_QUORUM_EPOCH
        case core.FetchRequest() | core.RepairFetchRequest():
            return apis.FETCH
        case core.FetchSnapshotRequest():
            return apis.FETCH_SNAPSHOT
        case _:
            assert_never(request)


def request_to_wire(request: core.OutgoingRequest, ours: TopicPartition, version: int) -> Message:
    """Write a request of this node."""
    match request:
        case core.VoteRequest():
            return elections.vote_request_to_wire(request, ours)
        case core.BeginQuorumEpochRequest():
            return elections.begin_request_to_wire(request, ours)
        case core.EndQuorumEpochRequest():
            return elections.end_request_to_wire(request, ours)
        case core.FetchRequest():
            return fetches.fetch_request_to_wire(request, ours, version)
        case core.RepairFetchRequest():
            return fetches.repair_request_to_wire(request, ours)
        case core.FetchSnapshotRequest():
            return snapshots.snapshot_request_to_wire(request, ours)
        case _:
            assert_never(request)


def request_from_wire(message: Message, version: int, ours: TopicPartition) -> core.IncomingRequest:
    """Read a request from another replica."""
    match message:
        case VoteRequest():
            return elections.vote_request_from_wire(message, ours)
        case BeginQuorumEpochRequest():
            return elections.begin_request_from_wire(message, ours)
        case EndQuorumEpochRequest():
            return elections.end_request_from_wire(message, ours)
        case FetchRequest():
            return fetches.replica_fetch_from_wire(message, version, ours)
        case FetchSnapshotRequest():
            return snapshots.snapshot_request_from_wire(message)
        case _:
            raise AssertionError(f"{type(message).__name__} is not a request between replicas")


def response_to_wire(
    request: Message, response: core.Response, records: bytes, ours: TopicPartition, version: int
) -> Message:
    """Write the response to a request from another replica."""
    match response:
        case core.RequestRefused():
            return _refusal_to_wire(request, response.error, version)
        case core.VoteResponse():
            return elections.vote_response_to_wire(response, ours, version)
        case core.BeginQuorumEpochResponse():
            return elections.begin_response_to_wire(response, ours, version)
        case core.EndQuorumEpochResponse():
            return elections.end_response_to_wire(response, ours, version)
        case core.FetchResponse():
            return fetches.fetch_response_to_wire(response, records, ours, version)
        case core.FetchSnapshotResponse():
            raise AssertionError("the handler of FetchSnapshot writes its response")
        case _:
            assert_never(response)


def _refusal_to_wire(request: Message, error: int, version: int) -> Message:
    match request:
        case VoteRequest():
            return VoteResponse(error_code=error, topics=())
        case BeginQuorumEpochRequest():
            return BeginQuorumEpochResponse(error_code=error, topics=())
        case EndQuorumEpochRequest():
            return EndQuorumEpochResponse(error_code=error, topics=())
        case FetchRequest():
            return fetches.fetch_refusal_to_wire(request, error, version)
        case _:
            raise AssertionError(f"{type(request).__name__} is not a request between replicas")


def response_from_wire(message: Message) -> core.Response:
    """Read the response to a request of this node.

    Raises:
        DecodeError: it is not a response between replicas.
    """
    match message:
        case VoteResponse():
            return elections.vote_response_from_wire(message)
        case BeginQuorumEpochResponse():
            return elections.begin_response_from_wire(message)
        case EndQuorumEpochResponse():
            return elections.end_response_from_wire(message)
        case FetchResponse():
            return fetches.fetch_response_from_wire(message)
        case FetchSnapshotResponse():
            return snapshots.snapshot_response_from_wire(message)
        case _:
            raise DecodeError(f"received {type(message).__name__}, which is not a response between replicas")
