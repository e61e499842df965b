"""FetchSnapshot: a replica that is too far behind downloads a snapshot, piece by piece (rules FETCH-18, FETCH-23)."""

from raft.codec import INT16, INT32, INT64, RECORDS, STRING, UUID, Message, array, field, message, struct
from raft.types import ZERO_UUID, Uuid
from raft.wire.messages.nodes import LeaderIdAndEpoch, NodeEndpoint


@struct
class SnapshotId(Message):
    """The id of a snapshot: its end offset, exclusive, and the epoch of the record before that."""

    end_offset: int = field(INT64)
    epoch: int = field(INT32)


@struct
class FetchSnapshotRequestPartition(Message):
    """The snapshot, and the position of the piece in it."""

    partition: int = field(INT32)
    current_leader_epoch: int = field(INT32)
    snapshot_id: SnapshotId = field(SnapshotId)
    position: int = field(INT64)
    replica_directory_id: Uuid = field(UUID, versions="1+", tag=0, default=ZERO_UUID, ignorable=True)


@struct
class FetchSnapshotRequestTopic(Message):
    """The partitions of one topic."""

    name: str = field(STRING)
    partitions: tuple[FetchSnapshotRequestPartition, ...] = field(array(FetchSnapshotRequestPartition))


@message(api_key=59, versions="0-1", flexible="0+")
class FetchSnapshotRequest(Message):
    """Requests the next piece of a snapshot."""

    cluster_id: str | None = field(STRING, nullable="0+", tag=0, default=None)
    replica_id: int = field(INT32, default=-1)
    max_bytes: int = field(INT32, default=0x7FFF_FFFF)
    topics: tuple[FetchSnapshotRequestTopic, ...] = field(array(FetchSnapshotRequestTopic))


@struct
class FetchSnapshotResponsePartition(Message):
    """A piece of the snapshot, which may end within a record batch."""

    index: int = field(INT32)
    error_code: int = field(INT16)
    snapshot_id: SnapshotId = field(SnapshotId)
    current_leader: LeaderIdAndEpoch = field(
        LeaderIdAndEpoch, tag=0, default=LeaderIdAndEpoch(leader_id=0, leader_epoch=0)
    )
    size: int = field(INT64)
    position: int = field(INT64)
    unaligned_records: bytes = field(RECORDS)


@struct
class FetchSnapshotResponseTopic(Message):
    """The partitions of one topic."""

    name: str = field(STRING)
    partitions: tuple[FetchSnapshotResponsePartition, ...] = field(array(FetchSnapshotResponsePartition))


@message(api_key=59, versions="0-1", flexible="0+")
class FetchSnapshotResponse(Message):
    """Returns a piece of a snapshot."""

    throttle_time_ms: int = field(INT32, default=0)
    error_code: int = field(INT16)
    topics: tuple[FetchSnapshotResponseTopic, ...] = field(array(FetchSnapshotResponseTopic))
    node_endpoints: tuple[NodeEndpoint, ...] = field(array(NodeEndpoint), versions="1+", tag=0, default=())
