"""The responses to requests that are refused. The error code of a refusal is that of Kafka's brokers and controllers.

Source: Kafka's KafkaApis and ControllerApis.
"""

from __future__ import annotations

from raft.codec import Message
from raft.errors import ErrorCode
from raft.wire.messages.describe_quorum import DescribeQuorumRequest, DescribeQuorumResponse
from raft.wire.messages.describe_transactions import (
    DescribedPartition,
    DescribedTopic,
    DescribedTransaction,
    DescribeProducersRequest,
    DescribeProducersResponse,
    DescribeTransactionsRequest,
    DescribeTransactionsResponse,
    ListTransactionsRequest,
    ListTransactionsResponse,
)
from raft.wire.messages.fetch import FetchRequest, FetchResponse, FetchResponsePartition, FetchResponseTopic
from raft.wire.messages.find_coordinator import (
    Coordinator,
    FindCoordinatorRequest,
    FindCoordinatorResponse,
)
from raft.wire.messages.init_producer_id import InitProducerIdRequest, InitProducerIdResponse
from raft.wire.messages.list_offsets import (
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsResponsePartition,
    ListOffsetsResponseTopic,
)
from raft.wire.messages.offset_for_leader_epoch import (
    OffsetForLeaderEpochRequest,
    OffsetForLeaderEpochResponse,
    OffsetForLeaderEpochResponsePartition,
    OffsetForLeaderEpochResponseTopic,
)
from raft.wire.messages.produce import (
    ProduceRequest,
    ProduceResponse,
    ProduceResponsePartition,
    ProduceResponseTopic,
)
from raft.wire.messages.transactions import (
    AddPartitionsToTxnPartitionResult,
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnResponse,
    AddPartitionsToTxnTopicResult,
    EndTxnRequest,
    EndTxnResponse,
)
from raft.wire.messages.write_txn_markers import (
    WritableTxnMarkerPartitionResult,
    WritableTxnMarkerResult,
    WritableTxnMarkerTopicResult,
    WriteTxnMarkersRequest,
    WriteTxnMarkersResponse,
)

_TOPIC = ErrorCode.TOPIC_AUTHORIZATION_FAILED
_CLUSTER = ErrorCode.CLUSTER_AUTHORIZATION_FAILED
_TRANSACTIONAL_ID = ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED
_FIRST_WITH_SEVERAL_KEYS = 4


def refusal(message: Message, version: int) -> Message | None:
    """Return the response to a request that the caller may not send; None if the caller expects none.

    Args:
        message: a request for which `operation_of` (`authorization.py`) names an operation.
        version: of the request.
    """
    match message:
        case ProduceRequest():
            return _of_produce(message)
        case FetchRequest():
            return _of_fetch(message)
        case ListOffsetsRequest():
            return refused_list_offsets(message, _TOPIC)
        case OffsetForLeaderEpochRequest():
            return _of_end_offsets(message)
        case InitProducerIdRequest():
            error = _CLUSTER if message.transactional_id is None else _TRANSACTIONAL_ID
            return InitProducerIdResponse(error_code=error, producer_epoch=-1)
        case AddPartitionsToTxnRequest():
            return _of_add_partitions(message)
        case EndTxnRequest():
            return EndTxnResponse(error_code=_TRANSACTIONAL_ID)
        case WriteTxnMarkersRequest():
            return _of_markers(message)
        case FindCoordinatorRequest():
            return _of_find_coordinator(message, version)
        case DescribeQuorumRequest():
            return DescribeQuorumResponse(error_code=_CLUSTER, topics=())
        case DescribeProducersRequest():
            return _of_describe_producers(message)
        case DescribeTransactionsRequest():
            return DescribeTransactionsResponse(
                transaction_states=tuple(
                    DescribedTransaction(error_code=_TRANSACTIONAL_ID, transactional_id=name)
                    for name in message.transactional_ids
                )
            )
        case ListTransactionsRequest():
            return ListTransactionsResponse(error_code=_CLUSTER)
        case _:
            raise AssertionError(f"{type(message).__name__} needs no operation")


def _of_produce(request: ProduceRequest) -> Message | None:
    if request.acks == 0:
        return None
    return ProduceResponse(
        responses=tuple(
            ProduceResponseTopic(
                name=topic.name,
                topic_id=topic.topic_id,
                partition_responses=tuple(
                    ProduceResponsePartition(index=partition.index, error_code=_TOPIC, base_offset=-1)
                    for partition in topic.partition_data
                ),
            )
            for topic in request.topic_data
        )
    )


def _of_fetch(request: FetchRequest) -> Message:
    return FetchResponse(
        responses=tuple(
            FetchResponseTopic(
                topic=topic.topic,
                topic_id=topic.topic_id,
                partitions=tuple(
                    FetchResponsePartition(
                        partition_index=partition.partition,
                        error_code=_TOPIC,
                        high_watermark=-1,
                        aborted_transactions=None,
                        records=b"",
                    )
                    for partition in topic.partitions
                ),
            )
            for topic in request.topics
        )
    )


def refused_list_offsets(request: ListOffsetsRequest, error: int) -> ListOffsetsResponse:
    """Return the response with an error in each partition."""
    return ListOffsetsResponse(
        topics=tuple(
            ListOffsetsResponseTopic(
                name=topic.name,
                partitions=tuple(
                    ListOffsetsResponsePartition(partition_index=partition.partition_index, error_code=error)
                    for partition in topic.partitions
                ),
            )
            for topic in request.topics
        )
    )


def _of_end_offsets(request: OffsetForLeaderEpochRequest) -> Message:
    return OffsetForLeaderEpochResponse(
        topics=tuple(
            OffsetForLeaderEpochResponseTopic(
                topic=topic.topic,
                partitions=tuple(
                    OffsetForLeaderEpochResponsePartition(partition=partition.partition, error_code=_TOPIC)
                    for partition in topic.partitions
                ),
            )
            for topic in request.topics
        )
    )


def _of_add_partitions(request: AddPartitionsToTxnRequest) -> Message:
    return AddPartitionsToTxnResponse(
        results_by_topic=tuple(
            AddPartitionsToTxnTopicResult(
                name=topic.name,
                results_by_partition=tuple(
                    AddPartitionsToTxnPartitionResult(partition_index=partition, partition_error_code=_TRANSACTIONAL_ID)
                    for partition in topic.partitions
                ),
            )
            for topic in request.topics
        )
    )


def _of_markers(request: WriteTxnMarkersRequest) -> Message:
    return WriteTxnMarkersResponse(
        markers=tuple(
            WritableTxnMarkerResult(
                producer_id=marker.producer_id,
                topics=tuple(
                    WritableTxnMarkerTopicResult(
                        name=topic.name,
                        partitions=tuple(
                            WritableTxnMarkerPartitionResult(partition_index=partition, error_code=_CLUSTER)
                            for partition in topic.partition_indexes
                        ),
                    )
                    for topic in marker.topics
                ),
            )
            for marker in request.markers
        )
    )


def _of_find_coordinator(request: FindCoordinatorRequest, version: int) -> Message:
    if version < _FIRST_WITH_SEVERAL_KEYS:
        return FindCoordinatorResponse(error_code=_TRANSACTIONAL_ID, error_message=None, node_id=-1, port=-1)
    return FindCoordinatorResponse(
        coordinators=tuple(
            Coordinator(key=key, node_id=-1, host="", port=-1, error_code=_TRANSACTIONAL_ID, error_message=None)
            for key in dict.fromkeys(request.coordinator_keys)
        )
    )


def _of_describe_producers(request: DescribeProducersRequest) -> Message:
    return DescribeProducersResponse(
        topics=tuple(
            DescribedTopic(
                name=topic.name,
                partitions=tuple(
                    DescribedPartition(partition_index=partition, error_code=_TOPIC)
                    for partition in topic.partition_indexes
                ),
            )
            for topic in request.topics
        )
    )
