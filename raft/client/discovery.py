"""What one server says of its quorum: which cluster it is, and who leads.

This project's nodes answer Metadata, as brokers do, about the one topic they hold. Apache Kafka's controllers answer
neither Metadata nor Produce, and its brokers do not hold the metadata log: so both are asked in the way of Kafka's own
tools, DescribeCluster and DescribeQuorum, and only the controllers are fetched from. A node of this project that
observes an Apache Kafka cluster names one of its controllers as leader.

Source: KIP-919; Kafka KafkaAdminClient.describeMetadataQuorum, ControllerApis.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from raft.client.steps import Ask, Operation
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

API_VERSIONS_REQUEST = ApiVersionsRequest(client_software_name="kraft-spark", client_software_version="0.1.0")
KAFKAS_TOPIC = "__cluster_metadata"
_KAFKAS_TOPIC_ID = Uuid("AAAAAAAAAAAAAAAAAAAAAQ")
_NO_LEADER = "knows no leader"


class Dialect(Enum):
    """Whose quorum it is, and so what its leader can be asked."""

    OURS = "nodes of this project"
    KAFKAS = "controllers of Apache Kafka"


@dataclass(frozen=True, slots=True, kw_only=True)
class Topic:
    """The topic that holds the log."""

    name: str
    topic_id: Uuid


@dataclass(frozen=True, slots=True, kw_only=True)
class Leader:
    """Whom to ask, for what, and how; `dialect` is None while the node itself was not asked for its versions."""

    node_id: NodeId
    epoch: Epoch
    endpoint: Endpoint
    topic: Topic
    dialect: Dialect | None = Dialect.OURS


@dataclass(frozen=True, slots=True, kw_only=True)
class Sighting:
    """What one server said.

    Fields:
        now_ms: the driver's clock afterwards.
        cluster_id: None when it did not come to that.
        leader: None when it knows none.
        trouble: why there is no leader, in words.
        servers: the nodes it knows.
    """

    now_ms: int
    cluster_id: str | None = None
    leader: Leader | None = None
    trouble: str = _NO_LEADER
    servers: tuple[Endpoint, ...] = ()


def look(
    server: Endpoint,
    *,
    topic: str | None,
    timeout_ms: int,
    found_topic: str | None = None,
    silent: Endpoint | None = None,
) -> Operation[Sighting]:
    """Ask one server who leads.

    Args:
        server: whom to ask.
        topic: that must be the log's; None takes the only one that the quorum hosts.
        timeout_ms: for each question.
        found_topic: the topic of the leader that was found before; None before the first.
        silent: a node that is not asked anything, as a request to it is in flight.

    Raises:
        ConfigError: it hosts another topic.
    """
    outcome = yield Ask(endpoint=server, request=API_VERSIONS_REQUEST, timeout_ms=timeout_ms)
    versions = outcome.response
    if not isinstance(versions, ApiVersionsResponse):
        return Sighting(now_ms=outcome.now_ms, trouble=outcome.failure or "no answer")
    if dialect_of(versions) is Dialect.OURS:
        return (yield from _look_at_node(server, topic=topic, timeout_ms=timeout_ms))
    if found_topic not in (None, KAFKAS_TOPIC):
        # A voter beside our nodes, such as a TestRaftServer: it lists APIs that it fails to answer.
        return Sighting(
            now_ms=outcome.now_ms, trouble=f"is a server of Apache Kafka, which tells nothing of {found_topic}"
        )
    is_broker = any(api.api_key == METADATA.key for api in versions.api_keys)
    return (yield from _look_at_kafka(server, topic=topic, is_broker=is_broker, timeout_ms=timeout_ms, silent=silent))


def dialect_of(versions: ApiVersionsResponse) -> Dialect:
    """Whose node answers so."""
    is_ours = any(feature.name == FEATURE_NAME for feature in versions.supported_features)
    return Dialect.OURS if is_ours else Dialect.KAFKAS


def _look_at_node(server: Endpoint, *, topic: str | None, timeout_ms: int) -> Operation[Sighting]:
    outcome = yield Ask(endpoint=server, request=MetadataRequest(topics=None), timeout_ms=timeout_ms)
    answer = outcome.response
    if not isinstance(answer, MetadataResponse):
        return Sighting(now_ms=outcome.now_ms, trouble=outcome.failure or "no answer")
    nodes = {broker.node_id: Endpoint(broker.host, broker.port) for broker in answer.brokers}
    hosted = _topic_in(answer, topic)
    partition = hosted.partitions[0] if hosted.partitions else None
    leader = None
    if partition is not None and partition.leader_id in nodes:
        endpoint = nodes[partition.leader_id]
        leader = Leader(
            node_id=NodeId(partition.leader_id),
            epoch=Epoch(partition.leader_epoch),
            endpoint=endpoint,
            topic=Topic(name=hosted.name or "", topic_id=hosted.topic_id),
            # A node that does not lead may be an observer of an Apache Kafka cluster: the leader is a controller then.
            dialect=Dialect.OURS if endpoint == server else None,
        )
    return Sighting(now_ms=outcome.now_ms, cluster_id=answer.cluster_id, leader=leader, servers=tuple(nodes.values()))


def _topic_in(answer: MetadataResponse, wanted: str | None) -> MetadataResponseTopic:
    topics = {topic.name or "": topic for topic in answer.topics if wanted in (None, topic.name)}
    if len(topics) != 1:
        hosted = ", ".join(sorted(topic.name or "?" for topic in answer.topics)) or "none"
        raise ConfigError(
            f"topic {wanted} is not there; topics are: {hosted}"
            if wanted
            else f"one topic is expected, as a KRaft quorum has; topics are: {hosted}"
        )
    return next(iter(topics.values()))


def _look_at_kafka(
    server: Endpoint, *, topic: str | None, is_broker: bool, timeout_ms: int, silent: Endpoint | None
) -> Operation[Sighting]:
    if topic not in (None, KAFKAS_TOPIC):
        raise ConfigError(f"topic {topic} is not there; the one of an Apache Kafka cluster's quorum is {KAFKAS_TOPIC}")
    request = DescribeClusterRequest(
        include_cluster_authorized_operations=False,
        endpoint_type=BROKER_ENDPOINTS if is_broker else CONTROLLER_ENDPOINTS,
    )
    outcome = yield Ask(endpoint=server, request=request, timeout_ms=timeout_ms)
    cluster = outcome.response
    if not isinstance(cluster, DescribeClusterResponse):
        return Sighting(now_ms=outcome.now_ms, trouble=outcome.failure or "no answer")
    if cluster.error_code:
        return Sighting(now_ms=outcome.now_ms, trouble=error_name(cluster.error_code))
    nodes = {node.broker_id: Endpoint(node.host, node.port) for node in cluster.brokers}
    # A broker hands DescribeQuorum on to whoever leads; of the controllers only the leader answers it.
    describer = server if is_broker else nodes.get(cluster.controller_id)
    if describer is None or describer == silent:
        return Sighting(now_ms=outcome.now_ms, cluster_id=cluster.cluster_id, servers=tuple(nodes.values()))
    outcome = yield Ask(endpoint=describer, request=_DESCRIBE_QUORUM, timeout_ms=timeout_ms)
    leader, trouble = None, outcome.failure or "no answer"
    if isinstance(outcome.response, DescribeQuorumResponse):
        leader, trouble = _leader_in(outcome.response)
    return Sighting(
        now_ms=outcome.now_ms,
        cluster_id=cluster.cluster_id,
        leader=leader,
        trouble=trouble,
        servers=tuple(nodes.values()),
    )


_DESCRIBE_QUORUM = DescribeQuorumRequest(
    topics=(
        DescribeQuorumRequestTopic(
            topic_name=KAFKAS_TOPIC, partitions=(DescribeQuorumRequestPartition(partition_index=0),)
        ),
    )
)


def _leader_in(answer: DescribeQuorumResponse) -> tuple[Leader | None, str]:
    """The leader that a quorum's description names, or what is wrong."""
    partitions = [partition for topic in answer.topics for partition in topic.partitions]
    error = answer.error_code or (partitions[0].error_code if partitions else ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
    if error:
        return None, error_name(error)
    partition = partitions[0]
    leaders = [node for node in answer.nodes if node.node_id == partition.leader_id]
    listeners = leaders[0].listeners if leaders else ()
    if not listeners:
        return None, "does not say where the leader listens, which Kafka does from version 3.9 on"
    return Leader(
        node_id=NodeId(partition.leader_id),
        epoch=Epoch(partition.leader_epoch),
        endpoint=Endpoint(listeners[0].host, listeners[0].port),
        topic=Topic(name=KAFKAS_TOPIC, topic_id=_KAFKAS_TOPIC_ID),
        dialect=Dialect.KAFKAS,
    ), ""
