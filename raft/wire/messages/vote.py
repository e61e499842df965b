"""Vote: a candidate requests a vote, or a pre-vote (rules VOTE-*, PREVOTE-*)."""

from raft.codec import BOOL, INT16, INT32, INT64, STRING, UUID, Message, array, field, message, struct
from raft.types import ZERO_UUID, Uuid
from raft.wire.messages.nodes import NodeEndpoint


@struct
class VoteRequestPartition(Message):
    """The epoch and the log of the candidate. `last_offset` is its log end offset (VOTE-3)."""

    partition_index: int = field(INT32)
    replica_epoch: int = field(INT32)
    replica_id: int = field(INT32)
    replica_directory_id: Uuid = field(UUID, versions="1+", default=ZERO_UUID, ignorable=True)
    voter_directory_id: Uuid = field(UUID, versions="1+", default=ZERO_UUID, ignorable=True)
    last_offset_epoch: int = field(INT32)
    last_offset: int = field(INT64)
    pre_vote: bool = field(BOOL, versions="2+", default=False)


@struct
class VoteRequestTopic(Message):
    """The partitions of one topic."""

    topic_name: str = field(STRING)
    partitions: tuple[VoteRequestPartition, ...] = field(array(VoteRequestPartition))


@message(api_key=52, versions="0-2", flexible="0+")
class VoteRequest(Message):
    """Requests the vote of the voter `voter_id`."""

    cluster_id: str | None = field(STRING, nullable="0+", default=None)
    voter_id: int = field(INT32, versions="1+", default=-1, ignorable=True)
    topics: tuple[VoteRequestTopic, ...] = field(array(VoteRequestTopic))


@struct
class VoteResponsePartition(Message):
    """The vote, and the leader and epoch that the voter knows."""

    partition_index: int = field(INT32)
    error_code: int = field(INT16)
    leader_id: int = field(INT32)
    leader_epoch: int = field(INT32)
    vote_granted: bool = field(BOOL)


@struct
class VoteResponseTopic(Message):
    """The partitions of one topic."""

    topic_name: str = field(STRING)
    partitions: tuple[VoteResponsePartition, ...] = field(array(VoteResponsePartition))


@message(api_key=52, versions="0-2", flexible="0+")
class VoteResponse(Message):
    """Grants or refuses the vote."""

    error_code: int = field(INT16)
    topics: tuple[VoteResponseTopic, ...] = field(array(VoteResponseTopic))
    node_endpoints: tuple[NodeEndpoint, ...] = field(array(NodeEndpoint), versions="1+", tag=0, default=())
