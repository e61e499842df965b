"""ListOffsets: the first, the last, or the offset at a timestamp (rules CLIENT-4, CLIENT-5).

This project's clients add a tagged field to the request, by which the last offset becomes linearizable (rule READ-1).
Apache Kafka's programs skip a tag that they do not know, and never send it.
"""

from raft.codec import BOOL, INT8, INT16, INT32, INT64, STRING, Message, array, field, message, struct

LATEST_TIMESTAMP = -1
"""Requests the end offset of the readable records."""

EARLIEST_TIMESTAMP = -2
"""Requests the first offset."""

LINEARIZABLE_TAG = 10_000
"""The tag of our field, far above those of Apache Kafka, which begin at 0."""


@struct
class ListOffsetsRequestPartition(Message):
    """The time, in milliseconds or one of the special values, of the requested offset."""

    partition_index: int = field(INT32)
    current_leader_epoch: int = field(INT32, versions="4+", default=-1, ignorable=True)
    timestamp: int = field(INT64)


@struct
class ListOffsetsRequestTopic(Message):
    """The partitions of one topic."""

    name: str = field(STRING)
    partitions: tuple[ListOffsetsRequestPartition, ...] = field(array(ListOffsetsRequestPartition))


@message(api_key=2, versions="1-11", flexible="6+")
class ListOffsetsRequest(Message):
    """Requests offsets; `replica_id` is -1 for a client."""

    replica_id: int = field(INT32)
    isolation_level: int = field(INT8, versions="2+", default=0)
    topics: tuple[ListOffsetsRequestTopic, ...] = field(array(ListOffsetsRequestTopic))
    timeout_ms: int = field(INT32, versions="10+", default=0, ignorable=True)
    is_linearizable: bool = field(BOOL, versions="6+", tag=LINEARIZABLE_TAG, default=False, ignorable=True)


@struct
class ListOffsetsResponsePartition(Message):
    """The offset, and the time and epoch of the record there."""

    partition_index: int = field(INT32)
    error_code: int = field(INT16)
    timestamp: int = field(INT64, default=-1)
    offset: int = field(INT64, default=-1)
    leader_epoch: int = field(INT32, versions="4+", default=-1)


@struct
class ListOffsetsResponseTopic(Message):
    """The partitions of one topic."""

    name: str = field(STRING)
    partitions: tuple[ListOffsetsResponsePartition, ...] = field(array(ListOffsetsResponsePartition))


@message(api_key=2, versions="1-11", flexible="6+")
class ListOffsetsResponse(Message):
    """Returns the offsets."""

    throttle_time_ms: int = field(INT32, versions="2+", default=0, ignorable=True)
    topics: tuple[ListOffsetsResponseTopic, ...] = field(array(ListOffsetsResponseTopic))
