"""DescribeQuorum: the progress of each replica, which only the leader knows (rules DESCRIBE-*)."""

from raft.codec import INT16, INT32, INT64, STRING, UUID, Message, array, field, message, struct
from raft.types import ZERO_UUID, Uuid
from raft.wire.messages.nodes import Listener

OWN_VIEW_PREFIX = "this node does not lead; its role: "
"""Begins the error message of a node that does not lead, and describes itself only; its role follows."""


@struct
class DescribeQuorumRequestPartition(Message):
    """A partition to describe."""

    partition_index: int = field(INT32)


@struct
class DescribeQuorumRequestTopic(Message):
    """The partitions of one topic."""

    topic_name: str = field(STRING)
    partitions: tuple[DescribeQuorumRequestPartition, ...] = field(array(DescribeQuorumRequestPartition))


@message(api_key=55, versions="0-2", flexible="0+")
class DescribeQuorumRequest(Message):
    """Requests the state of a quorum."""

    topics: tuple[DescribeQuorumRequestTopic, ...] = field(array(DescribeQuorumRequestTopic))


@struct
class ReplicaState(Message):
    """The log end offset of a replica, and when it last fetched; times are wall clock milliseconds, -1 for unknown."""

    replica_id: int = field(INT32)
    replica_directory_id: Uuid = field(UUID, versions="2+", default=ZERO_UUID)
    log_end_offset: int = field(INT64)
    last_fetch_timestamp: int = field(INT64, versions="1+", default=-1, ignorable=True)
    last_caught_up_timestamp: int = field(INT64, versions="1+", default=-1, ignorable=True)


@struct
class DescribeQuorumResponsePartition(Message):
    """The quorum of one partition."""

    partition_index: int = field(INT32)
    error_code: int = field(INT16)
    error_message: str | None = field(STRING, versions="2+", nullable="2+", default="", ignorable=True)
    leader_id: int = field(INT32)
    leader_epoch: int = field(INT32)
    high_watermark: int = field(INT64)
    current_voters: tuple[ReplicaState, ...] = field(array(ReplicaState))
    observers: tuple[ReplicaState, ...] = field(array(ReplicaState))


@struct
class DescribeQuorumResponseTopic(Message):
    """The partitions of one topic."""

    topic_name: str = field(STRING)
    partitions: tuple[DescribeQuorumResponsePartition, ...] = field(array(DescribeQuorumResponsePartition))


@struct
class DescribeQuorumNode(Message):
    """The endpoints of a voter."""

    node_id: int = field(INT32)
    listeners: tuple[Listener, ...] = field(array(Listener))


@message(api_key=55, versions="0-2", flexible="0+")
class DescribeQuorumResponse(Message):
    """Describes a quorum."""

    error_code: int = field(INT16)
    error_message: str | None = field(STRING, versions="2+", nullable="2+", default="", ignorable=True)
    topics: tuple[DescribeQuorumResponseTopic, ...] = field(array(DescribeQuorumResponseTopic))
    nodes: tuple[DescribeQuorumNode, ...] = field(array(DescribeQuorumNode), versions="2+", default=())
