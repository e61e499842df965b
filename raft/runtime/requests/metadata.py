"""Metadata and DescribeCluster: the nodes, the leader, and the topic of the quorum."""

from __future__ import annotations

from raft.errors import ErrorCode
from raft.runtime.request import Request
from raft.runtime.requests.context import Context
from raft.security.operations import Operation
from raft.types import ZERO_UUID, NodeId
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


def metadata(context: Context, request: Request[MetadataRequest]) -> MetadataResponse:
    """Handle Metadata. Topics null requests all topics, an empty list none; in version 0 an empty list requests all."""
    caller, version = request.caller, request.version
    asked = request.message.topics
    wants_all = asked is None or (version == 0 and not asked)
    is_visible = context.may(caller, Operation.DESCRIBE)
    topics: tuple[MetadataResponseTopic, ...]
    if not is_visible and (wants_all or asked):
        context.refuse(caller, Operation.DESCRIBE, "MetadataRequest")
    if wants_all:
        topics = (_our_topic(context),) if is_visible else ()
    elif is_visible:
        topics = tuple(_topic(context, topic, version) for topic in asked or ())
    else:
        topics = tuple(_invisible_topic(topic, version) for topic in asked or ())
    return MetadataResponse(
        brokers=tuple(
            MetadataResponseBroker(
                node_id=node_id, host=endpoint.host, port=endpoint.port, rack=_rack_of(context, node_id)
            )
            for node_id, endpoint in sorted(context.nodes(caller).items())
        ),
        cluster_id=context.cluster_id,
        controller_id=or_minus_one(context.serving_leader),
        topics=topics,
    )


def _topic(context: Context, requested: MetadataRequestTopic, version: int) -> MetadataResponseTopic:
    by_our_id = requested.name is None and requested.topic_id == context.ours.topic_id and version >= _FIRST_BY_TOPIC_ID
    if requested.name == context.ours.topic_name or by_our_id:
        return _our_topic(context)
    if requested.name is None:
        # Versions 10 and 11 can request a topic by id, but not respond without a name. Kafka refuses this too.
        by_id = version >= _FIRST_BY_TOPIC_ID
        return MetadataResponseTopic(
            error_code=ErrorCode.UNKNOWN_TOPIC_ID if by_id else ErrorCode.INVALID_REQUEST,
            name=None if by_id else "",
            topic_id=requested.topic_id,
            partitions=(),
        )
    return MetadataResponseTopic(
        error_code=ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, name=requested.name, topic_id=ZERO_UUID, partitions=()
    )


def _invisible_topic(requested: MetadataRequestTopic, version: int) -> MetadataResponseTopic:
    return MetadataResponseTopic(
        error_code=ErrorCode.TOPIC_AUTHORIZATION_FAILED,
        name="" if requested.name is None and version < _FIRST_BY_TOPIC_ID else requested.name,
        topic_id=ZERO_UUID if requested.name is not None else requested.topic_id,
        partitions=(),
    )


def _rack_of(context: Context, node_id: NodeId) -> str | None:
    """Return the rack of this node; None for other nodes, whose racks it does not know."""
    return context.config.rack if node_id == context.node_id else None


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


def describe_cluster(context: Context, request: Request[DescribeClusterRequest]) -> DescribeClusterResponse:
    """Handle DescribeCluster: each node is listed as broker and as controller, and the leader is the controller."""
    return DescribeClusterResponse(
        error_code=ErrorCode.NONE,
        endpoint_type=request.message.endpoint_type,
        cluster_id=context.cluster_id,
        controller_id=or_minus_one(context.serving_leader),
        brokers=tuple(
            DescribeClusterBroker(
                broker_id=node_id, host=endpoint.host, port=endpoint.port, rack=_rack_of(context, node_id)
            )
            for node_id, endpoint in sorted(context.nodes(request.caller).items())
        ),
    )
