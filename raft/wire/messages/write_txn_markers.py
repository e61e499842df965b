"""WriteTxnMarkers: an operator aborts the transaction of a producer id (rule TXN-4)."""

from raft.codec import BOOL, INT8, INT16, INT32, INT64, STRING, Message, array, field, message, struct


@struct
class WritableTxnMarkerTopic(Message):
    """Partitions of one topic."""

    name: str = field(STRING)
    partition_indexes: tuple[int, ...] = field(array(INT32))


@struct
class WritableTxnMarker(Message):
    """The marker of one producer; `transaction_result` is true for COMMIT."""

    producer_id: int = field(INT64)
    producer_epoch: int = field(INT16)
    transaction_result: bool = field(BOOL)
    topics: tuple[WritableTxnMarkerTopic, ...] = field(array(WritableTxnMarkerTopic))
    coordinator_epoch: int = field(INT32)
    transaction_version: int = field(INT8, versions="2+", default=0, ignorable=True)


@message(api_key=27, versions="1-2", flexible="1+")
class WriteTxnMarkersRequest(Message):
    """Requests end markers."""

    markers: tuple[WritableTxnMarker, ...] = field(array(WritableTxnMarker))


@struct
class WritableTxnMarkerPartitionResult(Message):
    """The error of one partition."""

    partition_index: int = field(INT32)
    error_code: int = field(INT16)


@struct
class WritableTxnMarkerTopicResult(Message):
    """The errors of the partitions of one topic."""

    name: str = field(STRING)
    partitions: tuple[WritableTxnMarkerPartitionResult, ...] = field(array(WritableTxnMarkerPartitionResult))


@struct
class WritableTxnMarkerResult(Message):
    """The errors of one producer's marker."""

    producer_id: int = field(INT64)
    topics: tuple[WritableTxnMarkerTopicResult, ...] = field(array(WritableTxnMarkerTopicResult))


@message(api_key=27, versions="1-2", flexible="1+")
class WriteTxnMarkersResponse(Message):
    """Returns an error for each marker and partition."""

    markers: tuple[WritableTxnMarkerResult, ...] = field(array(WritableTxnMarkerResult))
