"""Transactions of producers: partitions are added, and the transaction is committed or aborted (rules TXN).

Versions that only brokers send are left out.
"""

from raft.codec import BOOL, INT16, INT32, INT64, STRING, Message, array, field, message, struct


@struct
class AddPartitionsToTxnTopic(Message):
    """Partitions of one topic."""

    name: str = field(STRING)
    partitions: tuple[int, ...] = field(array(INT32))


@message(api_key=24, versions="0-3", flexible="3+")
class AddPartitionsToTxnRequest(Message):
    """Announces the partitions that a transaction will write to."""

    transactional_id: str = field(STRING)
    producer_id: int = field(INT64)
    producer_epoch: int = field(INT16)
    topics: tuple[AddPartitionsToTxnTopic, ...] = field(array(AddPartitionsToTxnTopic))


@struct
class AddPartitionsToTxnPartitionResult(Message):
    """The error of one partition."""

    partition_index: int = field(INT32)
    partition_error_code: int = field(INT16)


@struct
class AddPartitionsToTxnTopicResult(Message):
    """The errors of the partitions of one topic."""

    name: str = field(STRING)
    results_by_partition: tuple[AddPartitionsToTxnPartitionResult, ...] = field(
        array(AddPartitionsToTxnPartitionResult)
    )


@message(api_key=24, versions="0-3", flexible="3+")
class AddPartitionsToTxnResponse(Message):
    """Returns an error for each partition."""

    throttle_time_ms: int = field(INT32, default=0)
    results_by_topic: tuple[AddPartitionsToTxnTopicResult, ...] = field(array(AddPartitionsToTxnTopicResult))


@message(api_key=26, versions="0-5", flexible="3+")
class EndTxnRequest(Message):
    """Commits or aborts a transaction. From version 5 on, the producer goes on with another epoch (KIP-890)."""

    transactional_id: str = field(STRING)
    producer_id: int = field(INT64)
    producer_epoch: int = field(INT16)
    committed: bool = field(BOOL)


@message(api_key=26, versions="0-5", flexible="3+")
class EndTxnResponse(Message):
    """Returns the error, and the producer id and epoch of the next transaction."""

    throttle_time_ms: int = field(INT32, default=0)
    error_code: int = field(INT16)
    producer_id: int = field(INT64, versions="5+", default=-1, ignorable=True)
    producer_epoch: int = field(INT16, versions="5+", default=-1, ignorable=True)
