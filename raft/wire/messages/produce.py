"""Produce: a client appends record batches (rules CLIENT-6, CLIENT-8)."""

from raft.codec import INT16, INT32, INT64, RECORDS, STRING, UUID, Message, array, field, message, struct
from raft.types import ZERO_UUID, Uuid
from raft.wire.messages.nodes import BrokerEndpoint, LeaderIdAndEpoch


@struct
class ProduceRequestPartition(Message):
    """The record batches for one partition."""

    index: int = field(INT32)
    records: bytes | None = field(RECORDS, nullable="0+")


@struct
class ProduceRequestTopic(Message):
    """The partitions of a topic: by name up to version 12, by id from 13."""

    name: str = field(STRING, versions="0-12", default="", ignorable=True)
    topic_id: Uuid = field(UUID, versions="13+", default=ZERO_UUID, ignorable=True)
    partition_data: tuple[ProduceRequestPartition, ...] = field(array(ProduceRequestPartition))


@message(api_key=0, versions="3-13", flexible="9+")
class ProduceRequest(Message):
    """Requests to append batches. With `acks` 0 the client expects no response."""

    transactional_id: str | None = field(STRING, versions="3+", nullable="3+", default=None)
    acks: int = field(INT16)
    timeout_ms: int = field(INT32)
    topic_data: tuple[ProduceRequestTopic, ...] = field(array(ProduceRequestTopic))


@struct
class RecordError(Message):
    """A record because of which its batch was refused."""

    batch_index: int = field(INT32)
    batch_index_error_message: str | None = field(STRING, nullable="8+", default=None)


@struct
class ProduceResponsePartition(Message):
    """The offset of the first record, or the error."""

    index: int = field(INT32)
    error_code: int = field(INT16)
    base_offset: int = field(INT64)
    log_append_time_ms: int = field(INT64, versions="2+", default=-1, ignorable=True)
    log_start_offset: int = field(INT64, versions="5+", default=-1, ignorable=True)
    record_errors: tuple[RecordError, ...] = field(array(RecordError), versions="8+", default=(), ignorable=True)
    error_message: str | None = field(STRING, versions="8+", nullable="8+", default=None, ignorable=True)
    current_leader: LeaderIdAndEpoch = field(LeaderIdAndEpoch, versions="10+", tag=0, default=LeaderIdAndEpoch())


@struct
class ProduceResponseTopic(Message):
    """The partitions of a topic: by name up to version 12, by id from 13."""

    name: str = field(STRING, versions="0-12", default="", ignorable=True)
    topic_id: Uuid = field(UUID, versions="13+", default=ZERO_UUID, ignorable=True)
    partition_responses: tuple[ProduceResponsePartition, ...] = field(array(ProduceResponsePartition))


@message(api_key=0, versions="3-13", flexible="9+")
class ProduceResponse(Message):
    """Returns the offsets or the errors of the batches."""

    responses: tuple[ProduceResponseTopic, ...] = field(array(ProduceResponseTopic))
    throttle_time_ms: int = field(INT32, versions="1+", default=0, ignorable=True)
    node_endpoints: tuple[BrokerEndpoint, ...] = field(array(BrokerEndpoint), versions="10+", tag=0, default=())
