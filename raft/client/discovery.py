"""What one server knows about its quorum: which cluster it belongs to, and which node leads.

The nodes of this project serve Metadata about the one topic that they host, as brokers do. Apache Kafka's controllers
serve neither Metadata nor Produce, and its brokers do not host the metadata log. Both are asked as Kafka's own tools
ask them, by DescribeCluster and DescribeQuorum, and records are fetched from controllers only. A node of this project
that observes an Apache Kafka cluster names one of its controllers as the leader.

Source: KIP-919; Kafka KafkaAdminClient.describeMetadataQuorum, ControllerApis.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum

from raft.client.failures import NEEDED_RULE, NO_RESPONSE
from raft.client.steps import Ask, Operation, Reply
from raft.errors import ConfigError, ErrorCode, error_name
from raft.types import Endpoint, Epoch, NodeId, Uuid
from raft.wire.apis import METADATA
from raft.wire.features import FEATURE_NAME
from raft.wire.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse
from raft.wire.messages.describe_cluster import (
    BROKER_ENDPOINTS,
    CONTROLLER_ENDPOINTS,
    DescribeClusterRequest,
    DescribeClusterResponse,
)
from raft.wire.messages.describe_quorum import (
    DescribeQuorumRequest,
    DescribeQuorumRequestPartition,
    DescribeQuorumRequestTopic,
    DescribeQuorumResponse,
)
from raft.wire.messages.metadata import MetadataRequest, MetadataResponse, MetadataResponseTopic

API_VERSIONS_REQUEST = ApiVersionsRequest()
"""Not sent: `raft.client.exchange` responds with what the node said when the connection was opened."""

KAFKA_TOPIC = "__cluster_metadata"
_KAFKA_TOPIC_ID = Uuid("AAAAAAAAAAAAAAAAAAAAAQ")


class Software(Enum):
    """What a node runs. It decides which APIs the node serves, and how."""

    KRAFT_SPARK = "this project"
    APACHE_KAFKA = "Apache Kafka"


@dataclass(frozen=True, slots=True, kw_only=True)
class Topic:
    """The topic that holds the log."""

    name: str
    topic_id: Uuid


@dataclass(frozen=True, slots=True, kw_only=True)
class LeaderNode:
    """The leader of an epoch.

    Fields:
        node_id, epoch, endpoint: the node, the epoch that it leads, and where it listens.
        topic: the topic of the log.
        software: what the node runs; None until it was asked for its versions.
    """

    node_id: NodeId
    epoch: Epoch
    endpoint: Endpoint
    topic: Topic
    software: Software | None = Software.KRAFT_SPARK


@dataclass(frozen=True, slots=True, kw_only=True)
class Lookup:
    """What one server said when it was asked for the leader.

    Fields:
        now_ms: the driver's clock afterwards.
        cluster_id: the cluster that it belongs to; None if it did not say.
        leader: the leader; None if it named none.
        failure: why it named none, in words.
        is_connected: whether a connection to it could be opened.
        servers: where the nodes of the quorum are, as far as it knows.
        is_ours: whether it is a node of this project.
        rack: its own rack; None if it has none, or did not say.
    """

    now_ms: int
    cluster_id: str | None = None
    leader: LeaderNode | None = None
    failure: str = "knows no leader"
    is_connected: bool = True
    servers: tuple[Endpoint, ...] = ()
    is_ours: bool = False
    rack: str | None = None


def look_up_leader(
    server: Endpoint,
    *,
    topic: str | None,
    timeout_ms: int,
    found_topic: str | None = None,
    busy: Endpoint | None = None,
) -> Operation[Lookup]:
    """Ask one server for the leader.

    Args:
        server: the server.
        topic: the topic that the quorum must host; None for the only one that it hosts.
        timeout_ms: how long each response may take.
        found_topic: the topic of the leader that was found before; None before the first.
        busy: a node with a request in flight, so that no other can be sent to it; None for no node.

    Raises:
        ConfigError: the quorum hosts another topic.
    """
    outcome = yield Ask(endpoint=server, request=API_VERSIONS_REQUEST, timeout_ms=timeout_ms)
    versions = outcome.response
    if not isinstance(versions, ApiVersionsResponse):
        return _failed(outcome)
    if software_of(versions) is Software.KRAFT_SPARK:
        return (yield from _ask_node(server, topic=topic, timeout_ms=timeout_ms))
    if found_topic not in (None, KAFKA_TOPIC):
        # A voter beside our nodes, such as a TestRaftServer: it lists APIs that it fails to serve.
        failure = f"is a server of Apache Kafka, which does not know topic {found_topic}"
        return Lookup(now_ms=outcome.now_ms, failure=failure)
    is_broker = any(api.api_key == METADATA.key for api in versions.api_keys)
    return (yield from _ask_kafka(server, topic=topic, is_broker=is_broker, timeout_ms=timeout_ms, busy=busy))


def software_of(versions: ApiVersionsResponse) -> Software:
    """What a node with this response to ApiVersions runs."""
    is_ours = any(feature.name == FEATURE_NAME for feature in versions.supported_features)
    return Software.KRAFT_SPARK if is_ours else Software.APACHE_KAFKA


def _failed(outcome: Reply) -> Lookup:
    return Lookup(now_ms=outcome.now_ms, failure=outcome.failure or NO_RESPONSE, is_connected=outcome.is_connected)


def _ask_node(server: Endpoint, *, topic: str | None, timeout_ms: int) -> Operation[Lookup]:
    outcome = yield Ask(
        endpoint=server, request=MetadataRequest(topics=None), timeout_ms=timeout_ms, may_be_unsupported=True
    )
    response = outcome.response
    if not isinstance(response, MetadataResponse):
        return _failed(outcome)
    nodes = {broker.node_id: Endpoint(broker.host, broker.port) for broker in response.brokers}
    hosted = _topic_in(response, topic)
    partition = hosted.partitions[0] if hosted.partitions else None
    leader = None
    if partition is not None and partition.leader_id in nodes:
        endpoint = nodes[partition.leader_id]
        leader = LeaderNode(
            node_id=NodeId(partition.leader_id),
            epoch=Epoch(partition.leader_epoch),
            endpoint=endpoint,
            topic=Topic(name=hosted.name or "", topic_id=hosted.topic_id),
            # A node that does not lead may observe an Apache Kafka cluster: then the leader is one of its controllers.
            software=Software.KRAFT_SPARK if endpoint == server else None,
        )
    return Lookup(
        now_ms=outcome.now_ms,
        cluster_id=response.cluster_id,
        leader=leader,
        servers=tuple(nodes.values()),
        is_ours=True,
        # A node knows only its own rack.
        rack=next((broker.rack for broker in response.brokers if broker.rack is not None), None),
    )


def _topic_in(response: MetadataResponse, expected: str | None) -> MetadataResponseTopic:
    topics = {topic.name or "": topic for topic in response.topics if expected in (None, topic.name)}
    if len(topics) != 1:
        if not response.topics:
            raise ConfigError(f"the nodes show this client no topic: {NEEDED_RULE}")
        hosted = ", ".join(sorted(topic.name or "?" for topic in response.topics))
        raise ConfigError(
            f"the quorum does not host topic {expected}; its topics: {hosted}"
            if expected
            else f"expected one topic, as a KRaft quorum has; topics: {hosted}"
        )
    return next(iter(topics.values()))


def _ask_kafka(
    server: Endpoint, *, topic: str | None, is_broker: bool, timeout_ms: int, busy: Endpoint | None
) -> Operation[Lookup]:
    if topic not in (None, KAFKA_TOPIC):
        raise ConfigError(f"an Apache Kafka cluster's quorum does not host topic {topic}; its topics: {KAFKA_TOPIC}")
    request = DescribeClusterRequest(
        include_cluster_authorized_operations=False,
        endpoint_type=BROKER_ENDPOINTS if is_broker else CONTROLLER_ENDPOINTS,
    )
    outcome = yield Ask(endpoint=server, request=request, timeout_ms=timeout_ms, may_be_unsupported=True)
    cluster = outcome.response
    if not isinstance(cluster, DescribeClusterResponse):
        return _failed(outcome)
    if cluster.error_code:
        return Lookup(now_ms=outcome.now_ms, failure=error_name(cluster.error_code))
    nodes = {node.broker_id: Endpoint(node.host, node.port) for node in cluster.brokers}
    # A broker forwards DescribeQuorum to the leader; of the controllers only the leader serves it.
    describer = server if is_broker else nodes.get(cluster.controller_id)
    if describer is None or describer == busy:
        return Lookup(now_ms=outcome.now_ms, cluster_id=cluster.cluster_id, servers=tuple(nodes.values()))
    outcome = yield Ask(endpoint=describer, request=_DESCRIBE_QUORUM, timeout_ms=timeout_ms, may_be_unsupported=True)
    leader, failure = None, outcome.failure or NO_RESPONSE
    if isinstance(outcome.response, DescribeQuorumResponse):
        # Controllers may have several listeners, and name each other by the one that was asked.
        leader, failure = _leader_in(outcome.response, known={} if is_broker else nodes)
    return Lookup(
        now_ms=outcome.now_ms,
        cluster_id=cluster.cluster_id,
        leader=leader,
        failure=failure,
        servers=tuple(nodes.values()),
    )


_DESCRIBE_QUORUM = DescribeQuorumRequest(
    topics=(
        DescribeQuorumRequestTopic(
            topic_name=KAFKA_TOPIC, partitions=(DescribeQuorumRequestPartition(partition_index=0),)
        ),
    )
)


def _leader_in(response: DescribeQuorumResponse, *, known: Mapping[int, Endpoint]) -> tuple[LeaderNode | None, str]:
    """Return the leader that the description of a quorum names, or why it names none.

    Args:
        response: the description.
        known: where some nodes listen for clients like this one.
    """
    partitions = [partition for topic in response.topics for partition in topic.partitions]
    error = response.error_code or (partitions[0].error_code if partitions else ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
    if error:
        return None, error_name(error)
    partition = partitions[0]
    leaders = [node for node in response.nodes if node.node_id == partition.leader_id]
    listeners = leaders[0].listeners if leaders else ()
    if not listeners:
        return None, "does not say where the leader listens, which Kafka does from version 3.9 on"
    return LeaderNode(
        node_id=NodeId(partition.leader_id),
        epoch=Epoch(partition.leader_epoch),
        endpoint=known.get(partition.leader_id, Endpoint(listeners[0].host, listeners[0].port)),
        topic=Topic(name=KAFKA_TOPIC, topic_id=_KAFKA_TOPIC_ID),
        software=Software.APACHE_KAFKA,
    ), ""
