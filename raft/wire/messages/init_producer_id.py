"""InitProducerId: an idempotent producer requests a producer id (rule CLIENT-7)."""

from raft.codec import BOOL, INT16, INT32, INT64, STRING, Message, field, message


@message(api_key=22, versions="0-6", flexible="2+")
class InitProducerIdRequest(Message):
    """Requests a producer id; with `transactional_id` the one that belongs to it."""

    transactional_id: str | None = field(STRING, nullable="0+")
    transaction_timeout_ms: int = field(INT32)
    producer_id: int = field(INT64, versions="3+", default=-1)
    producer_epoch: int = field(INT16, versions="3+", default=-1)
    enable_2pc: bool = field(BOOL, versions="6+", default=False)
    keep_prepared_txn: bool = field(BOOL, versions="6+", default=False)


@message(api_key=22, versions="0-6", flexible="2+")
class InitProducerIdResponse(Message):
    """Returns the producer id."""

    throttle_time_ms: int = field(INT32, default=0)
    error_code: int = field(INT16)
    producer_id: int = field(INT64, default=-1)
    producer_epoch: int = field(INT16)
    ongoing_txn_producer_id: int = field(INT64, versions="6+", default=-1)
    ongoing_txn_producer_epoch: int = field(INT16, versions="6+", default=-1)
