"""BeginQuorumEpoch: a new leader announces itself to the other voters (rules BEGIN-*)."""

from raft.codec import INT16, INT32, STRING, UUID, Message, array, field, message, struct
from raft.types import ZERO_UUID, Uuid
from raft.wire.messages.nodes import Listener, NodeEndpoint


@struct
class BeginQuorumEpochRequestPartition(Message):
    """The epoch that begins, and its leader."""

    partition_index: int = field(INT32)
    voter_directory_id: Uuid = field(UUID, versions="1+", default=ZERO_UUID, ignorable=True)
    leader_id: int = field(INT32)
    leader_epoch: int = field(INT32)


@struct
class BeginQuorumEpochRequestTopic(Message):
    """The partitions of one topic."""

    topic_name: str = field(STRING)
    partitions: tuple[BeginQuorumEpochRequestPartition, ...] = field(array(BeginQuorumEpochRequestPartition))


@message(api_key=53, versions="0-1", flexible="1+")
class BeginQuorumEpochRequest(Message):
    """Announces a new leader and its endpoints to the voter `voter_id`."""

    cluster_id: str | None = field(STRING, nullable="0+", default=None)
    voter_id: int = field(INT32, versions="1+", default=-1, ignorable=True)
    topics: tuple[BeginQuorumEpochRequestTopic, ...] = field(array(BeginQuorumEpochRequestTopic))
    leader_endpoints: tuple[Listener, ...] = field(array(Listener), versions="1+", default=(), ignorable=True)


@struct
class BeginQuorumEpochResponsePartition(Message):
    """The leader and epoch that the voter knows."""

    partition_index: int = field(INT32)
    error_code: int = field(INT16)
    leader_id: int = field(INT32)
    leader_epoch: int = field(INT32)


@struct
class BeginQuorumEpochResponseTopic(Message):
    """The partitions of one topic."""

    topic_name: str = field(STRING)
    partitions: tuple[BeginQuorumEpochResponsePartition, ...] = field(array(BeginQuorumEpochResponsePartition))


@message(api_key=53, versions="0-1", flexible="1+")
class BeginQuorumEpochResponse(Message):
    """Accepts or refuses the leader."""

    error_code: int = field(INT16)
    topics: tuple[BeginQuorumEpochResponseTopic, ...] = field(array(BeginQuorumEpochResponseTopic))
    node_endpoints: tuple[NodeEndpoint, ...] = field(array(NodeEndpoint), versions="1+", tag=0, default=())
