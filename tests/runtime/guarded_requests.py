"""A request of each API of clients, what it needs, and the response that refuses it, as Kafka's brokers do.

Source: Kafka's KafkaApis and ControllerApis, and `getErrorResponse` of the requests.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache

from raft.codec import Message
from raft.errors import ErrorCode
from raft.security.operations import Operation
from raft.wire.apis import api_of
from raft.wire.messages import describe_transactions as described
from raft.wire.messages import fetch, find_coordinator, init_producer_id, list_offsets, produce, transactions
from raft.wire.messages import offset_for_leader_epoch as epochs
from raft.wire.messages import write_txn_markers as markers
from raft.wire.messages.api_versions import ApiVersionsRequest
from raft.wire.messages.describe_cluster import DescribeClusterRequest
from raft.wire.messages.describe_quorum import (
    DescribeQuorumRequest,
    DescribeQuorumRequestPartition,
    DescribeQuorumRequestTopic,
    DescribeQuorumResponse,
)
from raft.wire.messages.find_coordinator import GROUP, TRANSACTION
from raft.wire.messages.join_group import JoinGroupRequest
from tests.node.harness.batches import batch_of
from tests.node.harness.properties import TOPIC
from tests.node.harness.requests import (
    OTHER_TOPIC_ID,
    TOPIC_ID,
    epoch_end_request,
    fetch_request,
    list_offsets_request,
    produce_request,
)

_TOPIC = ErrorCode.TOPIC_AUTHORIZATION_FAILED
_CLUSTER = ErrorCode.CLUSTER_AUTHORIZATION_FAILED
_TRANSACTION = ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED


@dataclass(frozen=True, slots=True, kw_only=True)
class GuardedRequest:
    """One request.

    Fields:
        request: as a client sends it.
        version: of the request.
        first_version, last_version: the versions that can express it; None for those of its API.
        needs: the operation that the caller needs; None where every caller may send it.
        refusal: the response in `version` to a caller that may not send it; None if every caller may.
        note: tells requests of one API apart.
    """

    request: Message
    version: int
    first_version: int | None = None
    last_version: int | None = None
    needs: Operation | None = None
    refusal: Message | None = None
    note: str = ""

    @property
    def versions(self) -> Iterable[int]:
        """The versions that can express it."""
        of_api = api_of(self.request).versions
        first = of_api.lowest if self.first_version is None else self.first_version
        return range(first, (of_api.highest if self.last_version is None else self.last_version) + 1)

    def __str__(self) -> str:
        return f"{type(self.request).__name__}-v{self.version}{self.note}"


@cache
def guarded_requests() -> tuple[GuardedRequest, ...]:
    """Return the requests."""
    return (*_for_readers(), *_for_writers(), *_for_transactions(), *_for_observers(), *_for_everyone())


def _for_readers() -> tuple[GuardedRequest, ...]:
    refused = fetch.FetchResponsePartition(partition_index=0, error_code=_TOPIC, high_watermark=-1, records=b"")
    listed = list_offsets.ListOffsetsResponsePartition(partition_index=0, error_code=_TOPIC)
    ended = epochs.OffsetForLeaderEpochResponsePartition(partition=0, error_code=_TOPIC)
    return (
        GuardedRequest(
            request=fetch_request(0, topic_id=OTHER_TOPIC_ID),
            version=12,
            needs=Operation.READ,
            refusal=fetch.FetchResponse(responses=(fetch.FetchResponseTopic(topic=TOPIC, partitions=(refused,)),)),
        ),
        GuardedRequest(
            request=fetch_request(0, topic="other"),
            version=18,
            needs=Operation.READ,
            refusal=fetch.FetchResponse(
                responses=(fetch.FetchResponseTopic(topic_id=TOPIC_ID, partitions=(refused,)),)
            ),
        ),
        GuardedRequest(
            request=list_offsets_request(-1),
            version=7,
            needs=Operation.READ,
            refusal=list_offsets.ListOffsetsResponse(
                topics=(list_offsets.ListOffsetsResponseTopic(name=TOPIC, partitions=(listed,)),)
            ),
        ),
        GuardedRequest(
            request=epoch_end_request(0),
            version=4,
            needs=Operation.READ,
            refusal=epochs.OffsetForLeaderEpochResponse(
                topics=(epochs.OffsetForLeaderEpochResponseTopic(topic=TOPIC, partitions=(ended,)),)
            ),
        ),
    )


def _for_writers() -> tuple[GuardedRequest, ...]:
    refused = produce.ProduceResponsePartition(index=0, error_code=_TOPIC, base_offset=-1)
    no_producer = init_producer_id.InitProducerIdResponse(error_code=_CLUSTER, producer_epoch=-1)
    marker = markers.WritableTxnMarker(
        producer_id=5,
        producer_epoch=0,
        transaction_result=False,
        topics=(markers.WritableTxnMarkerTopic(name=TOPIC, partition_indexes=(0, 1)),),
        coordinator_epoch=0,
    )
    not_marked = tuple(
        markers.WritableTxnMarkerPartitionResult(partition_index=index, error_code=_CLUSTER) for index in (0, 1)
    )
    return (
        GuardedRequest(
            request=produce_request(batch_of(b"x")),
            version=9,
            needs=Operation.APPEND,
            refusal=produce.ProduceResponse(
                responses=(produce.ProduceResponseTopic(name=TOPIC, partition_responses=(refused,)),)
            ),
        ),
        GuardedRequest(
            request=produce_request(batch_of(b"x")),
            version=13,
            needs=Operation.APPEND,
            refusal=produce.ProduceResponse(
                responses=(produce.ProduceResponseTopic(topic_id=TOPIC_ID, partition_responses=(refused,)),)
            ),
        ),
        GuardedRequest(
            request=init_producer_id.InitProducerIdRequest(transactional_id=None, transaction_timeout_ms=1000),
            version=4,
            needs=Operation.APPEND,
            refusal=no_producer,
        ),
        GuardedRequest(
            request=markers.WriteTxnMarkersRequest(markers=(marker,)),
            version=1,
            needs=Operation.APPEND,
            refusal=markers.WriteTxnMarkersResponse(
                markers=(
                    markers.WritableTxnMarkerResult(
                        producer_id=5,
                        topics=(markers.WritableTxnMarkerTopicResult(name=TOPIC, partitions=not_marked),),
                    ),
                )
            ),
        ),
    )


def _for_transactions() -> tuple[GuardedRequest, ...]:
    request = init_producer_id.InitProducerIdRequest(transactional_id="id", transaction_timeout_ms=1000)
    topic = transactions.AddPartitionsToTxnTopic(name=TOPIC, partitions=(0,))
    result = transactions.AddPartitionsToTxnPartitionResult(partition_index=0, partition_error_code=_TRANSACTION)
    return (
        GuardedRequest(
            request=request,
            version=4,
            needs=Operation.APPEND,
            refusal=init_producer_id.InitProducerIdResponse(error_code=_TRANSACTION, producer_epoch=-1),
            note="-of a transaction",
        ),
        GuardedRequest(
            request=transactions.AddPartitionsToTxnRequest(
                transactional_id="id", producer_id=5, producer_epoch=0, topics=(topic,)
            ),
            version=3,
            needs=Operation.APPEND,
            refusal=transactions.AddPartitionsToTxnResponse(
                results_by_topic=(
                    transactions.AddPartitionsToTxnTopicResult(name=TOPIC, results_by_partition=(result,)),
                )
            ),
        ),
        GuardedRequest(
            request=transactions.EndTxnRequest(transactional_id="id", producer_id=5, producer_epoch=0, committed=True),
            version=3,
            needs=Operation.APPEND,
            refusal=transactions.EndTxnResponse(error_code=_TRANSACTION),
        ),
        GuardedRequest(
            request=find_coordinator.FindCoordinatorRequest(key="id", key_type=TRANSACTION),
            version=3,
            first_version=1,
            last_version=3,
            needs=Operation.APPEND,
            refusal=find_coordinator.FindCoordinatorResponse(
                error_code=_TRANSACTION, error_message=None, node_id=-1, port=-1
            ),
            note="-of a transaction",
        ),
        GuardedRequest(
            request=find_coordinator.FindCoordinatorRequest(coordinator_keys=("a", "b", "a"), key_type=TRANSACTION),
            version=4,
            first_version=4,
            needs=Operation.APPEND,
            refusal=find_coordinator.FindCoordinatorResponse(
                error_message="",
                coordinators=tuple(
                    find_coordinator.Coordinator(
                        key=key, node_id=-1, host="", port=-1, error_code=_TRANSACTION, error_message=None
                    )
                    for key in ("a", "b")
                ),
            ),
            note="-of transactions",
        ),
    )


def _for_observers() -> tuple[GuardedRequest, ...]:
    """Return what needs `describe`."""
    partition = DescribeQuorumRequestPartition(partition_index=0)
    topic = DescribeQuorumRequestTopic(topic_name=TOPIC, partitions=(partition,))
    refused = tuple(described.DescribedPartition(partition_index=index, error_code=_TOPIC) for index in (0, 1))
    return (
        GuardedRequest(
            request=DescribeQuorumRequest(topics=(topic,)),
            version=2,
            needs=Operation.DESCRIBE,
            refusal=DescribeQuorumResponse(error_code=_CLUSTER, topics=()),
        ),
        GuardedRequest(
            request=described.DescribeProducersRequest(
                topics=(described.DescribeProducersTopic(name=TOPIC, partition_indexes=(0, 1)),)
            ),
            version=0,
            needs=Operation.DESCRIBE,
            refusal=described.DescribeProducersResponse(
                topics=(described.DescribedTopic(name=TOPIC, partitions=refused),)
            ),
        ),
        GuardedRequest(
            request=described.DescribeTransactionsRequest(transactional_ids=("a", "b")),
            version=0,
            needs=Operation.DESCRIBE,
            refusal=described.DescribeTransactionsResponse(
                transaction_states=tuple(
                    described.DescribedTransaction(error_code=_TRANSACTION, transactional_id=name)
                    for name in ("a", "b")
                )
            ),
        ),
        GuardedRequest(
            request=described.ListTransactionsRequest(state_filters=(), producer_id_filters=()),
            version=1,
            needs=Operation.DESCRIBE,
            refusal=described.ListTransactionsResponse(error_code=_CLUSTER),
        ),
    )


def _for_everyone() -> tuple[GuardedRequest, ...]:
    return (
        GuardedRequest(request=ApiVersionsRequest(), version=4),
        GuardedRequest(request=DescribeClusterRequest(include_cluster_authorized_operations=False), version=1),
        GuardedRequest(request=find_coordinator.FindCoordinatorRequest(key="g", key_type=GROUP), version=3),
        GuardedRequest(
            request=JoinGroupRequest(
                group_id="g", session_timeout_ms=1, member_id="", protocol_type="consumer", protocols=()
            ),
            version=1,
        ),
    )
