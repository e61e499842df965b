"""Metadata and DescribeCluster: which nodes there are, which of them leads, and the one topic."""

from __future__ import annotations

from raft.errors import ErrorCode
from raft.runtime.caller import Caller
from raft.runtime.requests.context import Context
from raft.types import ZERO_UUID
from raft.wire.mapping.partition import INDEX, or_minus_one
from raft.wire.messages.describe_cluster import (
    DescribeClusterBroker,
    DescribeClusterRequest,
    DescribeClusterResponse,
)
from raft.wire.messages.metadata import (
    MetadataRequest,
    MetadataRequestTopic,
    MetadataResponse,
    MetadataResponseBroker,
    MetadataResponsePartition,
    MetadataResponseTopic,
)

_FIRST_BY_TOPIC_ID = 12


def metadata(context: Context, caller: Caller, request: MetadataRequest, version: int) -> MetadataResponse:
    """Answer Metadata. Topics None asks for all, no topics for the nodes only; in version 0 that asks for all too."""
    wants_all = request.topics is None or (version == 0 and not request.topics)
    topics = (
        (_our_topic(context),)
        if wants_all
        else tuple(_topic(context, asked, version) for asked in request.topics or ())
    )
    return MetadataResponse(
        brokers=tuple(
            MetadataResponseBroker(node_id=node_id, host=endpoint.host, port=endpoint.port)
            for node_id, endpoint in sorted(context.nodes(caller).items())
        ),
        cluster_id=context.cluster_id,
        controller_id=or_minus_one(context.serving_leader),
        topics=topics,
    )


def _topic(context: Context, asked: MetadataRequestTopic, version: int) -> MetadataResponseTopic:
    by_our_id = asked.name is None and asked.topic_id == context.ours.topic_id and version >= _FIRST_BY_TOPIC_ID
    if asked.name == context.ours.topic_name or by_our_id:
        return _our_topic(context)
    if asked.name is None:
        # Versions 10 and 11 can ask by id alone, but not answer without a name; Kafka refuses it there too.
        by_id = version >= _FIRST_BY_TOPIC_ID
        return MetadataResponseTopic(
            error_code=ErrorCode.UNKNOWN_TOPIC_ID if by_id else ErrorCode.INVALID_REQUEST,
            name=None if by_id else "",
            topic_id=asked.topic_id,
            partitions=(),
        )
    return MetadataResponseTopic(
        error_code=ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, name=asked.name, topic_id=ZERO_UUID, partitions=()
    )


def _our_topic(context: Context) -> MetadataResponseTopic:
    leader_id = context.serving_leader
    replicas = tuple(sorted(context.config.voters)) or (context.node_id,)
    partition = MetadataResponsePartition(
        error_code=ErrorCode.NONE if leader_id is not None else ErrorCode.LEADER_NOT_AVAILABLE,
        partition_index=INDEX,
        leader_id=or_minus_one(leader_id),
        leader_epoch=context.epoch,
        replica_nodes=replicas,
        isr_nodes=replicas,
    )
    return MetadataResponseTopic(
        error_code=ErrorCode.NONE,
        name=context.ours.topic_name,
        topic_id=context.ours.topic_id,
        partitions=(partition,),
    )


def describe_cluster(context: Context, caller: Caller, request: DescribeClusterRequest) -> DescribeClusterResponse:
    """Answer DescribeCluster: each node is broker and controller alike, the controller is the leader."""
    return DescribeClusterResponse(
        error_code=ErrorCode.NONE,
        endpoint_type=request.endpoint_type,
        cluster_id=context.cluster_id,
        controller_id=or_minus_one(context.serving_leader),
        brokers=tuple(
            DescribeClusterBroker(broker_id=node_id, host=endpoint.host, port=endpoint.port)
            for node_id, endpoint in sorted(context.nodes(caller).items())
        ),
    )
