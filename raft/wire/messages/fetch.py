"""Fetch: records from the leader to replicas, and from any node to clients (rules FETCH-*, CLIENT-*).

A node of this project adds a tagged field to its response to a client: the end of the snapshot from which records may
come (rule READ-8). A replica whose log is damaged says so in its request (rule LOG-30). Apache Kafka's programs skip a
tag that they do not know, and never send it.
"""

from raft.codec import BOOL, INT8, INT16, INT32, INT64, RECORDS, STRING, UUID, Message, array, field, message, struct
from raft.types import ZERO_UUID, Uuid
from raft.wire.messages.fetch_snapshot import SnapshotId
from raft.wire.messages.nodes import BrokerEndpoint, LeaderIdAndEpoch

COMPACTED_END_TAG = 10_000
"""The tag of our field, far above those of Apache Kafka, which begin at 0."""

DAMAGED_TAG = 10_000
"""The tag of our field in requests."""


@struct
class FetchReplicaState(Message):
    """The replica that fetches; -1 for a client."""

    replica_id: int = field(INT32, default=-1)
    replica_epoch: int = field(INT64, default=-1)


@struct
class FetchRequestPartition(Message):
    """The fetch offset of one partition, and what the replica has before it."""

    partition: int = field(INT32)
    current_leader_epoch: int = field(INT32, versions="9+", default=-1, ignorable=True)
    fetch_offset: int = field(INT64)
    last_fetched_epoch: int = field(INT32, versions="12+", default=-1)
    log_start_offset: int = field(INT64, versions="5+", default=-1, ignorable=True)
    partition_max_bytes: int = field(INT32)
    replica_directory_id: Uuid = field(UUID, versions="17+", tag=0, default=ZERO_UUID, ignorable=True)
    high_watermark: int = field(INT64, versions="18+", tag=1, default=0x7FFF_FFFF_FFFF_FFFF, ignorable=True)
    is_damaged: bool = field(BOOL, versions="12+", tag=DAMAGED_TAG, default=False, ignorable=True)


@struct
class FetchRequestTopic(Message):
    """The partitions to fetch of a topic: by name up to version 12, by id from 13."""

    topic: str = field(STRING, versions="0-12", default="", ignorable=True)
    topic_id: Uuid = field(UUID, versions="13+", default=ZERO_UUID, ignorable=True)
    partitions: tuple[FetchRequestPartition, ...] = field(array(FetchRequestPartition))


@struct
class FetchForgottenTopic(Message):
    """Partitions to drop from an incremental fetch session."""

    topic: str = field(STRING, versions="7-12", default="", ignorable=True)
    topic_id: Uuid = field(UUID, versions="13+", default=ZERO_UUID, ignorable=True)
    partitions: tuple[int, ...] = field(array(INT32))


@message(api_key=1, versions="4-18", flexible="12+")
class FetchRequest(Message):
    """Requests records. `replica_id` is used up to version 14, `replica_state` from 15."""

    cluster_id: str | None = field(STRING, versions="12+", nullable="12+", tag=0, default=None, ignorable=True)
    replica_id: int = field(INT32, versions="0-14", default=-1)
    replica_state: FetchReplicaState = field(FetchReplicaState, versions="15+", tag=1, default=FetchReplicaState())
    max_wait_ms: int = field(INT32)
    min_bytes: int = field(INT32)
    max_bytes: int = field(INT32, versions="3+", default=0x7FFF_FFFF, ignorable=True)
    isolation_level: int = field(INT8, versions="4+", default=0, ignorable=True)
    session_id: int = field(INT32, versions="7+", default=0, ignorable=True)
    session_epoch: int = field(INT32, versions="7+", default=-1, ignorable=True)
    topics: tuple[FetchRequestTopic, ...] = field(array(FetchRequestTopic))
    forgotten_topics_data: tuple[FetchForgottenTopic, ...] = field(
        array(FetchForgottenTopic), versions="7+", default=()
    )
    rack_id: str = field(STRING, versions="11+", default="", ignorable=True)


@struct
class EpochEndOffset(Message):
    """The end offset of an epoch in the leader's log."""

    epoch: int = field(INT32, default=-1)
    end_offset: int = field(INT64, default=-1)


@struct
class AbortedTransaction(Message):
    """An aborted transaction, and the offset of its first record."""

    producer_id: int = field(INT64)
    first_offset: int = field(INT64)


@struct
class FetchResponsePartition(Message):
    """Records of one partition, or the error.

    Of `diverging_epoch` and `snapshot_id` at most one is set. The records are whole batches as in the log.
    """

    partition_index: int = field(INT32)
    error_code: int = field(INT16)
    high_watermark: int = field(INT64)
    last_stable_offset: int = field(INT64, versions="4+", default=-1, ignorable=True)
    log_start_offset: int = field(INT64, versions="5+", default=-1, ignorable=True)
    diverging_epoch: EpochEndOffset = field(EpochEndOffset, versions="12+", tag=0, default=EpochEndOffset())
    current_leader: LeaderIdAndEpoch = field(LeaderIdAndEpoch, versions="12+", tag=1, default=LeaderIdAndEpoch())
    snapshot_id: SnapshotId = field(SnapshotId, versions="12+", tag=2, default=SnapshotId(end_offset=-1, epoch=-1))
    aborted_transactions: tuple[AbortedTransaction, ...] | None = field(
        array(AbortedTransaction), versions="4+", nullable="4+", default=(), ignorable=True
    )
    preferred_read_replica: int = field(INT32, versions="11+", default=-1)
    records: bytes | None = field(RECORDS, nullable="0+")
    compacted_end: int = field(INT64, versions="12+", tag=COMPACTED_END_TAG, default=-1, ignorable=True)


@struct
class FetchResponseTopic(Message):
    """The partitions of a topic: by name up to version 12, by id from 13."""

    topic: str = field(STRING, versions="0-12", default="", ignorable=True)
    topic_id: Uuid = field(UUID, versions="13+", default=ZERO_UUID, ignorable=True)
    partitions: tuple[FetchResponsePartition, ...] = field(array(FetchResponsePartition))


@message(api_key=1, versions="4-18", flexible="12+")
class FetchResponse(Message):
    """Returns records."""

    throttle_time_ms: int = field(INT32, versions="1+", default=0, ignorable=True)
    error_code: int = field(INT16, versions="7+", default=0, ignorable=True)
    session_id: int = field(INT32, versions="7+", default=0)
    responses: tuple[FetchResponseTopic, ...] = field(array(FetchResponseTopic))
    node_endpoints: tuple[BrokerEndpoint, ...] = field(array(BrokerEndpoint), versions="16+", tag=0, default=())
