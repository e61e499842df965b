"""What operators ask about transactions: ListTransactions, DescribeTransactions, DescribeProducers (rule TXN-9)."""

from raft.codec import INT16, INT32, INT64, STRING, Message, array, field, message, struct


@message(api_key=66, versions="0-1", flexible="0+")
class ListTransactionsRequest(Message):
    """Requests the transactional ids that this node coordinates; empty filters mean all."""

    state_filters: tuple[str, ...] = field(array(STRING))
    producer_id_filters: tuple[int, ...] = field(array(INT64))
    duration_filter: int = field(INT64, versions="1+", default=-1)


@struct
class ListedTransaction(Message):
    """A transactional id, its producer, and the state of its transaction."""

    transactional_id: str = field(STRING)
    producer_id: int = field(INT64)
    transaction_state: str = field(STRING)


@message(api_key=66, versions="0-1", flexible="0+")
class ListTransactionsResponse(Message):
    """Lists transactional ids."""

    throttle_time_ms: int = field(INT32, default=0)
    error_code: int = field(INT16)
    unknown_state_filters: tuple[str, ...] = field(array(STRING), default=())
    transaction_states: tuple[ListedTransaction, ...] = field(array(ListedTransaction), default=())


@message(api_key=65, versions="0", flexible="0+")
class DescribeTransactionsRequest(Message):
    """Requests details of transactional ids."""

    transactional_ids: tuple[str, ...] = field(array(STRING))


@struct
class DescribedTransactionTopic(Message):
    """Partitions of one topic that the open transaction has written to."""

    topic: str = field(STRING)
    partitions: tuple[int, ...] = field(array(INT32))


@struct
class DescribedTransaction(Message):
    """One transactional id; the start time is -1 if no transaction is open."""

    error_code: int = field(INT16)
    transactional_id: str = field(STRING)
    transaction_state: str = field(STRING, default="")
    transaction_timeout_ms: int = field(INT32, default=0)
    transaction_start_time_ms: int = field(INT64, default=-1)
    producer_id: int = field(INT64, default=-1)
    producer_epoch: int = field(INT16, default=-1)
    topics: tuple[DescribedTransactionTopic, ...] = field(array(DescribedTransactionTopic), default=())


@message(api_key=65, versions="0", flexible="0+")
class DescribeTransactionsResponse(Message):
    """Describes transactional ids."""

    throttle_time_ms: int = field(INT32, default=0, ignorable=True)
    transaction_states: tuple[DescribedTransaction, ...] = field(array(DescribedTransaction))


@struct
class DescribeProducersTopic(Message):
    """Partitions of one topic."""

    name: str = field(STRING)
    partition_indexes: tuple[int, ...] = field(array(INT32))


@message(api_key=61, versions="0", flexible="0+")
class DescribeProducersRequest(Message):
    """Requests the producers of partitions."""

    topics: tuple[DescribeProducersTopic, ...] = field(array(DescribeProducersTopic))


@struct
class ProducerState(Message):
    """A producer and its open transaction; the start offset is -1 if none is open."""

    producer_id: int = field(INT64)
    producer_epoch: int = field(INT32)
    last_sequence: int = field(INT32, default=-1)
    last_timestamp: int = field(INT64, default=-1)
    coordinator_epoch: int = field(INT32, default=-1)
    current_txn_start_offset: int = field(INT64, default=-1)


@struct
class DescribedPartition(Message):
    """The producers of one partition, or the error."""

    partition_index: int = field(INT32)
    error_code: int = field(INT16)
    error_message: str | None = field(STRING, nullable="0+", default=None, ignorable=True)
    active_producers: tuple[ProducerState, ...] = field(array(ProducerState), default=())


@struct
class DescribedTopic(Message):
    """The partitions of one topic."""

    name: str = field(STRING)
    partitions: tuple[DescribedPartition, ...] = field(array(DescribedPartition))


@message(api_key=61, versions="0", flexible="0+")
class DescribeProducersResponse(Message):
    """Describes producers."""

    throttle_time_ms: int = field(INT32, default=0, ignorable=True)
    topics: tuple[DescribedTopic, ...] = field(array(DescribedTopic))
