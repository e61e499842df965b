"""OffsetForLeaderEpoch: the end offset of an epoch, by which a client detects a log that was replaced.

This project's nodes and clients add a tagged field on both sides (rule CLIENT-15), from which a stream plans its next
batch with one request. Apache Kafka's programs skip a tag that they do not know, and never send it.
"""

from raft.codec import INT16, INT32, INT64, STRING, Message, array, field, message, struct

BATCH_PLAN_TAG = 10_000
"""The tag of our fields, far above those of Apache Kafka, which begin at 0."""


@struct
class BatchPlanRequest(Message):
    """The start of a batch, and how many records it may hold.

    `start_offset` is -1 where no plan is requested. `max_records` counts data records, -1 for any number; `end_offset`
    is the latest end allowed, -1 for any. `max_bytes` limits the size of the batches as they are stored, -1 for none.
    """

    start_offset: int = field(INT64, default=-1)
    max_records: int = field(INT64, default=-1)
    end_offset: int = field(INT64, default=-1)
    max_bytes: int = field(INT64, versions="4+", tag=0, default=-1, ignorable=True)


@struct
class LogPosition(Message):
    """A position between two records: the offset after it, and epoch and batch checksum of the record before it.

    -1 stands for unknown: the offset lies outside the committed log, or no record lies before it.
    """

    offset: int = field(INT64, default=-1)
    epoch: int = field(INT32, default=-1)
    checksum: int = field(INT64, default=-1)


@struct
class BatchPlan(Message):
    """The bounds of what can be read, and the start and the end of a batch; last stable offset -1 means no plan.

    `size_bytes` is the size of the batch if the request limits it; -1 otherwise.
    """

    log_start_offset: int = field(INT64, default=-1)
    last_stable_offset: int = field(INT64, default=-1)
    start: LogPosition = field(LogPosition, default=LogPosition())
    end: LogPosition = field(LogPosition, default=LogPosition())
    size_bytes: int = field(INT64, versions="4+", tag=0, default=-1, ignorable=True)


@struct
class OffsetForLeaderEpochRequestPartition(Message):
    """The epoch whose end offset is requested."""

    partition: int = field(INT32)
    current_leader_epoch: int = field(INT32, versions="2+", default=-1, ignorable=True)
    leader_epoch: int = field(INT32)
    batch_plan_request: BatchPlanRequest = field(
        BatchPlanRequest, versions="4+", tag=BATCH_PLAN_TAG, default=BatchPlanRequest(), ignorable=True
    )


@struct
class OffsetForLeaderEpochRequestTopic(Message):
    """The partitions of one topic."""

    topic: str = field(STRING)
    partitions: tuple[OffsetForLeaderEpochRequestPartition, ...] = field(array(OffsetForLeaderEpochRequestPartition))


@message(api_key=23, versions="2-4", flexible="4+")
class OffsetForLeaderEpochRequest(Message):
    """Requests the end offsets of epochs; `replica_id` is -1 for a client, -2 for one that reads uncommitted data."""

    replica_id: int = field(INT32, versions="3+", default=-2, ignorable=True)
    topics: tuple[OffsetForLeaderEpochRequestTopic, ...] = field(array(OffsetForLeaderEpochRequestTopic))


@struct
class OffsetForLeaderEpochResponsePartition(Message):
    """The newest epoch up to the requested one, and the offset after its last record; -1 for unknown."""

    error_code: int = field(INT16)
    partition: int = field(INT32)
    leader_epoch: int = field(INT32, versions="1+", default=-1, ignorable=True)
    end_offset: int = field(INT64, default=-1)
    batch_plan: BatchPlan = field(BatchPlan, versions="4+", tag=BATCH_PLAN_TAG, default=BatchPlan(), ignorable=True)


@struct
class OffsetForLeaderEpochResponseTopic(Message):
    """The partitions of one topic."""

    topic: str = field(STRING)
    partitions: tuple[OffsetForLeaderEpochResponsePartition, ...] = field(array(OffsetForLeaderEpochResponsePartition))


@message(api_key=23, versions="2-4", flexible="4+")
class OffsetForLeaderEpochResponse(Message):
    """Returns the end offsets of epochs."""

    throttle_time_ms: int = field(INT32, versions="2+", default=0, ignorable=True)
    topics: tuple[OffsetForLeaderEpochResponseTopic, ...] = field(array(OffsetForLeaderEpochResponseTopic))
