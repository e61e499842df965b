"""EndQuorumEpoch: a leader resigns and names the voters that should succeed it (rules END-*)."""

from raft.codec import INT16, INT32, STRING, UUID, Message, array, field, message, struct
from raft.types import Uuid
from raft.wire.messages.nodes import Listener, NodeEndpoint


@struct
class PreferredCandidate(Message):
    """A voter that may succeed the leader."""

    candidate_id: int = field(INT32)
    candidate_directory_id: Uuid = field(UUID)


@struct
class EndQuorumEpochRequestPartition(Message):
    """The epoch that ends. The successors, best first, are in one of two lists: version 0 has ids only."""

    partition_index: int = field(INT32)
    leader_id: int = field(INT32)
    leader_epoch: int = field(INT32)
    preferred_successors: tuple[int, ...] = field(array(INT32), versions="0", default=(), ignorable=True)
    preferred_candidates: tuple[PreferredCandidate, ...] = field(
        array(PreferredCandidate), versions="1+", default=(), ignorable=True
    )


@struct
class EndQuorumEpochRequestTopic(Message):
    """The partitions of one topic."""

    topic_name: str = field(STRING)
    partitions: tuple[EndQuorumEpochRequestPartition, ...] = field(array(EndQuorumEpochRequestPartition))


@message(api_key=54, versions="0-1", flexible="1+")
class EndQuorumEpochRequest(Message):
    """Announces to a voter that its leader resigns."""

    cluster_id: str | None = field(STRING, nullable="0+", default=None)
    topics: tuple[EndQuorumEpochRequestTopic, ...] = field(array(EndQuorumEpochRequestTopic))
    leader_endpoints: tuple[Listener, ...] = field(array(Listener), versions="1+", default=(), ignorable=True)


@struct
class EndQuorumEpochResponsePartition(Message):
    """The leader and epoch that the voter knows."""

    partition_index: int = field(INT32)
    error_code: int = field(INT16)
    leader_id: int = field(INT32)
    leader_epoch: int = field(INT32)


@struct
class EndQuorumEpochResponseTopic(Message):
    """The partitions of one topic."""

    topic_name: str = field(STRING)
    partitions: tuple[EndQuorumEpochResponsePartition, ...] = field(array(EndQuorumEpochResponsePartition))


@message(api_key=54, versions="0-1", flexible="1+")
class EndQuorumEpochResponse(Message):
    """Acknowledges the resignation."""

    error_code: int = field(INT16)
    topics: tuple[EndQuorumEpochResponseTopic, ...] = field(array(EndQuorumEpochResponseTopic))
    node_endpoints: tuple[NodeEndpoint, ...] = field(array(NodeEndpoint), versions="1+", tag=0, default=())
