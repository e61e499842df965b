"""Metadata: clients find the topics and the leader with it."""

from raft.codec import BOOL, INT16, INT32, STRING, UUID, Message, array, field, message, struct
from raft.types import ZERO_UUID, Uuid

UNKNOWN_OPERATIONS = -(1 << 31)
"""The bit field of authorized operations if none were requested."""


@struct
class MetadataRequestTopic(Message):
    """A topic, by name or, from version 12, by id."""

    topic_id: Uuid = field(UUID, versions="10+", default=ZERO_UUID, ignorable=True)
    name: str | None = field(STRING, nullable="10+")


@message(api_key=3, versions="0-13", flexible="9+")
class MetadataRequest(Message):
    """Requests topics: null for all, an empty list for the nodes only. In version 0 an empty list requests all."""

    topics: tuple[MetadataRequestTopic, ...] | None = field(array(MetadataRequestTopic), nullable="1+")
    allow_auto_topic_creation: bool = field(BOOL, versions="4+", default=True)
    include_cluster_authorized_operations: bool = field(BOOL, versions="8-10", default=False)
    include_topic_authorized_operations: bool = field(BOOL, versions="8+", default=False)


@struct
class MetadataResponseBroker(Message):
    """The endpoint of a node."""

    node_id: int = field(INT32)
    host: str = field(STRING)
    port: int = field(INT32)
    rack: str | None = field(STRING, versions="1+", nullable="1+", default=None, ignorable=True)


@struct
class MetadataResponsePartition(Message):
    """The leader and the replicas of a partition."""

    error_code: int = field(INT16)
    partition_index: int = field(INT32)
    leader_id: int = field(INT32)
    leader_epoch: int = field(INT32, versions="7+", default=-1, ignorable=True)
    replica_nodes: tuple[int, ...] = field(array(INT32))
    isr_nodes: tuple[int, ...] = field(array(INT32))
    offline_replicas: tuple[int, ...] = field(array(INT32), versions="5+", default=(), ignorable=True)


@struct
class MetadataResponseTopic(Message):
    """A topic. If it does not exist, only the name or the id is set by which it was requested."""

    error_code: int = field(INT16)
    name: str | None = field(STRING, nullable="12+")
    topic_id: Uuid = field(UUID, versions="10+", default=ZERO_UUID, ignorable=True)
    is_internal: bool = field(BOOL, versions="1+", default=False, ignorable=True)
    partitions: tuple[MetadataResponsePartition, ...] = field(array(MetadataResponsePartition))
    topic_authorized_operations: int = field(INT32, versions="8+", default=UNKNOWN_OPERATIONS)


@message(api_key=3, versions="0-13", flexible="9+")
class MetadataResponse(Message):
    """Describes nodes and topics."""

    throttle_time_ms: int = field(INT32, versions="3+", default=0, ignorable=True)
    brokers: tuple[MetadataResponseBroker, ...] = field(array(MetadataResponseBroker))
    cluster_id: str | None = field(STRING, versions="2+", nullable="2+", default=None, ignorable=True)
    controller_id: int = field(INT32, versions="1+", default=-1, ignorable=True)
    topics: tuple[MetadataResponseTopic, ...] = field(array(MetadataResponseTopic))
    cluster_authorized_operations: int = field(INT32, versions="8-10", default=UNKNOWN_OPERATIONS)
    error_code: int = field(INT16, versions="13+", default=0, ignorable=True)
