"""Vote, BeginQuorumEpoch and EndQuorumEpoch between wire and core."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol

from raft.core import messages as core
from raft.types import Endpoint, Epoch, LeaderAndEpoch, NodeId, Offset, OffsetAndEpoch, ReplicaKey
from raft.wire import apis
from raft.wire.mapping.mapping import Mapping
from raft.wire.mapping.partition import (
    INDEX,
    TopicPartition,
    addressee,
    directory_uuid,
    node_or_none,
    only_partition,
    or_minus_one,
    replica_key,
    sole_partition,
)
from raft.wire.messages import begin_quorum_epoch as begin
from raft.wire.messages import end_quorum_epoch as end
from raft.wire.messages import vote
from raft.wire.messages.nodes import Listener, NodeEndpoint

_FIRST_WITH_ENDPOINTS = 1
_NO_VOTER = ReplicaKey(NodeId(-1))


class VoteMapping(Mapping[vote.VoteRequest, vote.VoteResponse, core.VoteRequest, core.VoteResponse]):
    """Vote between wire and core."""

    api = apis.VOTE
    core_requests = (core.VoteRequest,)

    def request_to_wire(self, request: core.VoteRequest, ours: TopicPartition, _version: int) -> vote.VoteRequest:
        """Write a Vote request. A version without pre-votes cannot be encoded with one (COMPAT-2)."""
        voter = request.voter or _NO_VOTER
        partition = vote.VoteRequestPartition(
            partition_index=INDEX,
            replica_epoch=request.epoch,
            replica_id=request.candidate.node_id,
            replica_directory_id=directory_uuid(request.candidate),
            voter_directory_id=directory_uuid(voter),
            last_offset_epoch=request.candidate_log_end.epoch,
            last_offset=request.candidate_log_end.offset,
            pre_vote=request.pre_vote,
        )
        topic = vote.VoteRequestTopic(topic_name=ours.topic_name, partitions=(partition,))
        return vote.VoteRequest(cluster_id=request.cluster_id, voter_id=voter.node_id, topics=(topic,))

    def request_from_wire(
        self, message: vote.VoteRequest, ours: TopicPartition, _version: int
    ) -> core.VoteRequest | core.UnknownPartitionRequest:
        """Read a Vote request."""
        partition = only_partition(message.topics, ours)
        if partition is None:
            return core.UnknownPartitionRequest(cluster_id=message.cluster_id)
        return core.VoteRequest(
            cluster_id=message.cluster_id,
            epoch=Epoch(partition.replica_epoch),
            candidate=replica_key(partition.replica_id, partition.replica_directory_id),
            candidate_log_end=OffsetAndEpoch(
                epoch=Epoch(partition.last_offset_epoch), offset=Offset(partition.last_offset)
            ),
            pre_vote=partition.pre_vote,
            voter=addressee(message.voter_id, partition.voter_directory_id),
        )

    def response_to_wire(
        self, response: core.VoteResponse, ours: TopicPartition, version: int, _records: bytes = b""
    ) -> vote.VoteResponse:
        """Write a Vote response."""
        partition = vote.VoteResponsePartition(
            partition_index=INDEX,
            error_code=response.error,
            leader_id=or_minus_one(response.leader.leader_id),
            leader_epoch=response.leader.epoch,
            vote_granted=response.vote_granted,
        )
        topic = vote.VoteResponseTopic(topic_name=ours.topic_name, partitions=(partition,))
        return vote.VoteResponse(
            error_code=0, topics=(topic,), node_endpoints=_node_endpoints(response.leader, version)
        )

    def response_from_wire(self, message: vote.VoteResponse) -> core.VoteResponse | core.RequestRefused:
        """Read a Vote response."""
        if message.error_code:
            return core.RequestRefused(error=message.error_code)
        partition = sole_partition(message.topics)
        return core.VoteResponse(
            error=partition.error_code,
            leader=leader_and_epoch(partition.leader_id, partition.leader_epoch, message.node_endpoints),
            vote_granted=partition.vote_granted,
        )


class BeginQuorumEpochMapping(
    Mapping[
        begin.BeginQuorumEpochRequest,
        begin.BeginQuorumEpochResponse,
        core.BeginQuorumEpochRequest,
        core.BeginQuorumEpochResponse,
    ]
):
    """BeginQuorumEpoch between wire and core."""

    api = apis.BEGIN_QUORUM_EPOCH
    core_requests = (core.BeginQuorumEpochRequest,)

    def request_to_wire(
        self, request: core.BeginQuorumEpochRequest, ours: TopicPartition, _version: int
    ) -> begin.BeginQuorumEpochRequest:
        """Write a BeginQuorumEpoch request."""
        voter = request.voter or _NO_VOTER
        partition = begin.BeginQuorumEpochRequestPartition(
            partition_index=INDEX,
            voter_directory_id=directory_uuid(voter),
            leader_id=or_minus_one(request.leader.leader_id),
            leader_epoch=request.epoch,
        )
        return begin.BeginQuorumEpochRequest(
            cluster_id=request.cluster_id,
            voter_id=voter.node_id,
            topics=(begin.BeginQuorumEpochRequestTopic(topic_name=ours.topic_name, partitions=(partition,)),),
            leader_endpoints=_listeners(request.leader.endpoints),
        )

    def request_from_wire(
        self, message: begin.BeginQuorumEpochRequest, ours: TopicPartition, _version: int
    ) -> core.BeginQuorumEpochRequest | core.UnknownPartitionRequest:
        """Read a BeginQuorumEpoch request."""
        partition = only_partition(message.topics, ours)
        if partition is None:
            return core.UnknownPartitionRequest(cluster_id=message.cluster_id)
        return core.BeginQuorumEpochRequest(
            cluster_id=message.cluster_id,
            leader=LeaderAndEpoch(
                epoch=Epoch(partition.leader_epoch),
                leader_id=node_or_none(partition.leader_id),
                endpoints=_endpoints_of_listeners(message.leader_endpoints),
            ),
            voter=addressee(message.voter_id, partition.voter_directory_id),
        )

    def response_to_wire(
        self, response: core.BeginQuorumEpochResponse, ours: TopicPartition, version: int, _records: bytes = b""
    ) -> begin.BeginQuorumEpochResponse:
        """Write a BeginQuorumEpoch response."""
        partition = begin.BeginQuorumEpochResponsePartition(
            partition_index=INDEX,
            error_code=response.error,
            leader_id=or_minus_one(response.leader.leader_id),
            leader_epoch=response.leader.epoch,
        )
        topic = begin.BeginQuorumEpochResponseTopic(topic_name=ours.topic_name, partitions=(partition,))
        return begin.BeginQuorumEpochResponse(
            error_code=0, topics=(topic,), node_endpoints=_node_endpoints(response.leader, version)
        )

    def response_from_wire(
        self, message: begin.BeginQuorumEpochResponse
    ) -> core.BeginQuorumEpochResponse | core.RequestRefused:
        """Read a BeginQuorumEpoch response."""
        if message.error_code:
            return core.RequestRefused(error=message.error_code)
        partition = sole_partition(message.topics)
        return core.BeginQuorumEpochResponse(
            error=partition.error_code,
            leader=leader_and_epoch(partition.leader_id, partition.leader_epoch, message.node_endpoints),
        )


class EndQuorumEpochMapping(
    Mapping[
        end.EndQuorumEpochRequest, end.EndQuorumEpochResponse, core.EndQuorumEpochRequest, core.EndQuorumEpochResponse
    ]
):
    """EndQuorumEpoch between wire and core."""

    api = apis.END_QUORUM_EPOCH
    core_requests = (core.EndQuorumEpochRequest,)

    def request_to_wire(
        self, request: core.EndQuorumEpochRequest, ours: TopicPartition, _version: int
    ) -> end.EndQuorumEpochRequest:
        """Write an EndQuorumEpoch request, with the successors in the lists of both versions (END-3)."""
        partition = end.EndQuorumEpochRequestPartition(
            partition_index=INDEX,
            leader_id=or_minus_one(request.leader.leader_id),
            leader_epoch=request.epoch,
            preferred_successors=tuple(successor.node_id for successor in request.preferred_successors),
            preferred_candidates=tuple(
                end.PreferredCandidate(candidate_id=successor.node_id, candidate_directory_id=directory_uuid(successor))
                for successor in request.preferred_successors
            ),
        )
        return end.EndQuorumEpochRequest(
            cluster_id=request.cluster_id,
            topics=(end.EndQuorumEpochRequestTopic(topic_name=ours.topic_name, partitions=(partition,)),),
            leader_endpoints=_listeners(request.leader.endpoints),
        )

    def request_from_wire(
        self, message: end.EndQuorumEpochRequest, ours: TopicPartition, _version: int
    ) -> core.EndQuorumEpochRequest | core.UnknownPartitionRequest:
        """Read an EndQuorumEpoch request. The successors are in one of two lists."""
        partition = only_partition(message.topics, ours)
        if partition is None:
            return core.UnknownPartitionRequest(cluster_id=message.cluster_id)
        candidates = [
            replica_key(candidate.candidate_id, candidate.candidate_directory_id)
            for candidate in partition.preferred_candidates
        ]
        successors = [ReplicaKey(NodeId(successor)) for successor in partition.preferred_successors]
        return core.EndQuorumEpochRequest(
            cluster_id=message.cluster_id,
            leader=LeaderAndEpoch(
                epoch=Epoch(partition.leader_epoch),
                leader_id=node_or_none(partition.leader_id),
                endpoints=_endpoints_of_listeners(message.leader_endpoints),
            ),
            preferred_successors=tuple(candidates or successors),
        )

    def response_to_wire(
        self, response: core.EndQuorumEpochResponse, ours: TopicPartition, version: int, _records: bytes = b""
    ) -> end.EndQuorumEpochResponse:
        """Write an EndQuorumEpoch response."""
        partition = end.EndQuorumEpochResponsePartition(
            partition_index=INDEX,
            error_code=response.error,
            leader_id=or_minus_one(response.leader.leader_id),
            leader_epoch=response.leader.epoch,
        )
        topic = end.EndQuorumEpochResponseTopic(topic_name=ours.topic_name, partitions=(partition,))
        return end.EndQuorumEpochResponse(
            error_code=0, topics=(topic,), node_endpoints=_node_endpoints(response.leader, version)
        )

    def response_from_wire(
        self, message: end.EndQuorumEpochResponse
    ) -> core.EndQuorumEpochResponse | core.RequestRefused:
        """Read an EndQuorumEpoch response."""
        if message.error_code:
            return core.RequestRefused(error=message.error_code)
        partition = sole_partition(message.topics)
        return core.EndQuorumEpochResponse(
            error=partition.error_code,
            leader=leader_and_epoch(partition.leader_id, partition.leader_epoch, message.node_endpoints),
        )


class _Node(Protocol):
    """The endpoint of a node in any message."""

    @property
    def node_id(self) -> int: ...
    @property
    def host(self) -> str: ...
    @property
    def port(self) -> int: ...


def endpoints_of(nodes: Iterable[_Node], node_id: int) -> tuple[Endpoint, ...]:
    """Return the endpoints of one of these nodes."""
    return tuple(Endpoint(node.host, node.port) for node in nodes if node.node_id == node_id)


def leader_and_epoch(leader_id: int, epoch: int, nodes: Iterable[_Node]) -> LeaderAndEpoch:
    """Read the leader that a response names."""
    return LeaderAndEpoch(
        epoch=Epoch(epoch), leader_id=node_or_none(leader_id), endpoints=endpoints_of(nodes, leader_id)
    )


def _node_endpoints(leader: LeaderAndEpoch, version: int) -> tuple[NodeEndpoint, ...]:
    """Write the endpoints of the leader, in versions that have a field for them."""
    if leader.leader_id is None or version < _FIRST_WITH_ENDPOINTS:
        return ()
    return tuple(
        NodeEndpoint(node_id=leader.leader_id, host=endpoint.host, port=endpoint.port)
        for endpoint in leader.endpoints[:1]
    )


def _listeners(endpoints: Iterable[Endpoint]) -> tuple[Listener, ...]:
    return tuple(Listener(name=endpoint.name, host=endpoint.host, port=endpoint.port) for endpoint in endpoints)


def _endpoints_of_listeners(listeners: Iterable[Listener]) -> tuple[Endpoint, ...]:
    return tuple(Endpoint(listener.host, listener.port, listener.name) for listener in listeners)


VOTE = VoteMapping()
BEGIN_QUORUM_EPOCH = BeginQuorumEpochMapping()
END_QUORUM_EPOCH = EndQuorumEpochMapping()
