"""OffsetForLeaderEpoch: where an epoch ends, by which a client recognises a log that was replaced."""

from raft.codec import INT16, INT32, INT64, STRING, Message, array, field, message, struct


@struct
class OffsetForLeaderEpochRequestPartition(Message):
    """The epoch whose end is asked for."""

    partition: int = field(INT32)
    current_leader_epoch: int = field(INT32, versions="2+", default=-1, ignorable=True)
    leader_epoch: int = field(INT32)


@struct
class OffsetForLeaderEpochRequestTopic(Message):
    """The partitions of one topic."""

    topic: str = field(STRING)
    partitions: tuple[OffsetForLeaderEpochRequestPartition, ...] = field(array(OffsetForLeaderEpochRequestPartition))


@message(api_key=23, versions="2-4", flexible="4+")
class OffsetForLeaderEpochRequest(Message):
    """Asks where epochs end; `replica_id` is -1 for a client, and -2 for one that may see uncommitted offsets."""

    replica_id: int = field(INT32, versions="3+", default=-2, ignorable=True)
    topics: tuple[OffsetForLeaderEpochRequestTopic, ...] = field(array(OffsetForLeaderEpochRequestTopic))


@struct
class OffsetForLeaderEpochResponsePartition(Message):
    """The newest epoch up to the one asked for, and the offset after its last record; -1 for unknown."""

    error_code: int = field(INT16)
    partition: int = field(INT32)
    leader_epoch: int = field(INT32, versions="1+", default=-1, ignorable=True)
    end_offset: int = field(INT64, default=-1)


@struct
class OffsetForLeaderEpochResponseTopic(Message):
    """The partitions of one topic."""

    topic: str = field(STRING)
    partitions: tuple[OffsetForLeaderEpochResponsePartition, ...] = field(array(OffsetForLeaderEpochResponsePartition))


@message(api_key=23, versions="2-4", flexible="4+")
class OffsetForLeaderEpochResponse(Message):
    """Says where epochs end."""

    throttle_time_ms: int = field(INT32, versions="2+", default=0, ignorable=True)
    topics: tuple[OffsetForLeaderEpochResponseTopic, ...] = field(array(OffsetForLeaderEpochResponseTopic))
