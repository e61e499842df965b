"""Requests of clients, one or more of each API. They would change the log, or tell what is in it.

All that they name is true: the epoch, the ends of the log, the producers and their open transactions.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from raft.codec import Message
from raft.core import RaftCore
from raft.records.batch import build_batch
from raft.records.record import Record
from raft.types import NodeId
from raft.wire.apis import api_of
from raft.wire.messages.api_versions import ApiVersionsRequest
from raft.wire.messages.describe_cluster import DescribeClusterRequest
from raft.wire.messages.describe_quorum import (
    DescribeQuorumRequest,
    DescribeQuorumRequestPartition,
    DescribeQuorumRequestTopic,
)
from raft.wire.messages.describe_transactions import (
    DescribeProducersRequest,
    DescribeProducersTopic,
    DescribeTransactionsRequest,
    ListTransactionsRequest,
)
from raft.wire.messages.fetch import FetchRequest, FetchRequestPartition, FetchRequestTopic
from raft.wire.messages.find_coordinator import TRANSACTION, FindCoordinatorRequest
from raft.wire.messages.init_producer_id import InitProducerIdRequest
from raft.wire.messages.join_group import JoinGroupRequest
from raft.wire.messages.list_offsets import (
    EARLIEST_TIMESTAMP,
    LATEST_TIMESTAMP,
    ListOffsetsRequest,
    ListOffsetsRequestPartition,
    ListOffsetsRequestTopic,
)
from raft.wire.messages.metadata import MetadataRequest, MetadataRequestTopic
from raft.wire.messages.offset_for_leader_epoch import (
    BatchPlanRequest,
    OffsetForLeaderEpochRequest,
    OffsetForLeaderEpochRequestPartition,
    OffsetForLeaderEpochRequestTopic,
)
from raft.wire.messages.produce import ProduceRequest, ProduceRequestPartition, ProduceRequestTopic
from raft.wire.messages.transactions import AddPartitionsToTxnRequest, AddPartitionsToTxnTopic, EndTxnRequest
from raft.wire.messages.write_txn_markers import WritableTxnMarker, WritableTxnMarkerTopic, WriteTxnMarkersRequest
from raft.writers import WriteKey
from tests.simulation.dice import Dice
from tests.simulation.starting import TOPIC, TOPIC_ID
from tests.simulation.watched import WALL_CLOCK_MS

INTRUDER = b"written by an intruder"
"""Is in each record that an intruder sends."""

_TRANSACTIONAL_ID = "transactions 0"
"""Of the first transactional producer."""

_TIMEOUT_MS = 500
_MAX_BYTES = 1 << 20
_PRODUCER_IDS = 1 << 61
_PRODUCE_VERSIONS = (12, 13)
_FETCH_VERSIONS = (12, 13, 17)
_INIT_VERSION = 4

Draft = tuple[Message, int]
"""A request, and its version."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Insight:
    """What an intruder knows of the quorum.

    Fields:
        core: the leader's core, or that of another node.
        voters, nodes: the voters, and all nodes.
        dice: its random numbers.
    """

    core: RaftCore
    voters: tuple[NodeId, ...]
    nodes: tuple[NodeId, ...]
    dice: Dice

    @property
    def transaction(self) -> tuple[int, int]:
        """Producer id and epoch of an open transaction, or of none."""
        opened = list(self.core.transactions.transactions.values())
        if not opened:
            return self.dice.draw(_PRODUCER_IDS), 0
        transaction = self.dice.pick(opened)
        return transaction.producer_id, transaction.producer_epoch

    @property
    def producer(self) -> tuple[str, int, int]:
        """Transactional id, producer id and epoch of a producer of Kafka."""
        producers = list(self.core.transactions.producers.values())
        if not producers:
            return _TRANSACTIONAL_ID, self.dice.draw(_PRODUCER_IDS), 0
        producer = self.dice.pick(producers)
        return producer.name, producer.producer_id, producer.producer_epoch


def produce(insight: Insight) -> Draft:
    """Append a record: plain, with the key of a query, or in a transaction; perhaps without a response."""
    dice = insight.dice
    match dice.draw(3):
        case 0:
            transactional_id, (producer_id, epoch), sequence = None, (dice.draw(_PRODUCER_IDS), 0), 0
        case 1:
            key = WriteKey("query 0", dice.draw(1 << 20))
            transactional_id, (producer_id, epoch), sequence = None, (key.producer_id, key.producer_epoch), 0
        case _:
            transactional_id, producer_id, epoch = insight.producer
            sequence = 0
    value = INTRUDER
    records = build_batch(
        [Record(key=b"key 0", value=value, timestamp_ms=WALL_CLOCK_MS)],
        producer_id=producer_id,
        producer_epoch=epoch,
        base_sequence=sequence,
        is_transactional=transactional_id is not None,
    )
    partition = ProduceRequestPartition(index=0, records=records)
    request = ProduceRequest(
        transactional_id=transactional_id,
        acks=dice.pick((-1, 1, 0)),
        timeout_ms=_TIMEOUT_MS,
        topic_data=(ProduceRequestTopic(name=TOPIC, topic_id=TOPIC_ID, partition_data=(partition,)),),
    )
    return request, dice.pick(_PRODUCE_VERSIONS)


def fetch(insight: Insight) -> Draft:
    """Fetch from the start of the log."""
    dice = insight.dice
    partition = FetchRequestPartition(
        partition=0, fetch_offset=insight.core.log.start.offset, partition_max_bytes=_MAX_BYTES
    )
    request = FetchRequest(
        max_wait_ms=0,
        min_bytes=0,
        max_bytes=_MAX_BYTES,
        isolation_level=dice.draw(2),
        topics=(FetchRequestTopic(topic=TOPIC, topic_id=TOPIC_ID, partitions=(partition,)),),
    )
    return request, dice.pick(_FETCH_VERSIONS)


def list_offsets(insight: Insight) -> Draft:
    """Ask where the log begins or ends, or for a time."""
    dice = insight.dice
    timestamp = dice.pick((EARLIEST_TIMESTAMP, LATEST_TIMESTAMP, WALL_CLOCK_MS))
    partition = ListOffsetsRequestPartition(partition_index=0, timestamp=timestamp)
    return _newest(
        ListOffsetsRequest(
            replica_id=dice.pick((-1, *insight.voters)),
            topics=(ListOffsetsRequestTopic(name=TOPIC, partitions=(partition,)),),
            is_linearizable=dice.draw(2) == 1,
        )
    )


def offset_for_leader_epoch(insight: Insight) -> Draft:
    """Ask where an epoch ends, or for the plan of a batch."""
    wants_plan = insight.dice.draw(2)
    partition = OffsetForLeaderEpochRequestPartition(
        partition=0,
        leader_epoch=insight.core.epoch,
        batch_plan_request=BatchPlanRequest(start_offset=0) if wants_plan else BatchPlanRequest(),
    )
    topic = OffsetForLeaderEpochRequestTopic(topic=TOPIC, partitions=(partition,))
    return _newest(OffsetForLeaderEpochRequest(topics=(topic,)))


def init_producer_id(insight: Insight) -> Draft:
    """Get a producer id, or fence a producer."""
    name, _, _ = insight.producer
    transactional_id = name if insight.dice.draw(2) else None
    request = InitProducerIdRequest(transactional_id=transactional_id, transaction_timeout_ms=_TIMEOUT_MS)
    return request, _INIT_VERSION


def add_partitions_to_txn(insight: Insight) -> Draft:
    """Begin a transaction."""
    name, producer_id, epoch = insight.producer
    topic = AddPartitionsToTxnTopic(name=TOPIC, partitions=(0,))
    return _newest(
        AddPartitionsToTxnRequest(transactional_id=name, producer_id=producer_id, producer_epoch=epoch, topics=(topic,))
    )


def end_txn(insight: Insight) -> Draft:
    """Commit or abort the transaction of a producer."""
    name, producer_id, epoch = insight.producer
    request = EndTxnRequest(
        transactional_id=name, producer_id=producer_id, producer_epoch=epoch, committed=insight.dice.draw(2) == 0
    )
    return _newest(request)


def write_txn_markers(insight: Insight) -> Draft:
    """Commit or abort an open transaction."""
    producer_id, epoch = insight.transaction
    marker = WritableTxnMarker(
        producer_id=producer_id,
        producer_epoch=epoch,
        transaction_result=insight.dice.draw(2) == 0,
        topics=(WritableTxnMarkerTopic(name=TOPIC, partition_indexes=(0,)),),
        coordinator_epoch=insight.core.epoch,
    )
    return _newest(WriteTxnMarkersRequest(markers=(marker,)))


def find_coordinator(insight: Insight) -> Draft:
    """Ask for the coordinator of transactions."""
    name, version = insight.producer[0], insight.dice.pick((3, 6))
    if version < 4:
        return FindCoordinatorRequest(key=name, key_type=TRANSACTION), version
    return FindCoordinatorRequest(key_type=TRANSACTION, coordinator_keys=(name,)), version


def describe_quorum(_insight: Insight) -> Draft:
    """Ask for the state of the quorum."""
    partition = DescribeQuorumRequestPartition(partition_index=0)
    topic = DescribeQuorumRequestTopic(topic_name=TOPIC, partitions=(partition,))
    return _newest(DescribeQuorumRequest(topics=(topic,)))


def describe_producers(_insight: Insight) -> Draft:
    """Ask for the producers."""
    topic = DescribeProducersTopic(name=TOPIC, partition_indexes=(0,))
    return _newest(DescribeProducersRequest(topics=(topic,)))


def describe_transactions(insight: Insight) -> Draft:
    """Ask for the transaction of a producer."""
    return _newest(DescribeTransactionsRequest(transactional_ids=(insight.producer[0],)))


def list_transactions(_insight: Insight) -> Draft:
    """Ask for all transactional ids."""
    return _newest(ListTransactionsRequest(state_filters=(), producer_id_filters=()))


def metadata(insight: Insight) -> Draft:
    """Ask for the topic: by its name or its id, or as one of all topics."""
    by_name, by_id = MetadataRequestTopic(name=TOPIC), MetadataRequestTopic(topic_id=TOPIC_ID, name=None)
    return _newest(MetadataRequest(topics=insight.dice.pick((None, (by_name,), (by_id,)))))


def describe_cluster(_insight: Insight) -> Draft:
    """Ask for the nodes."""
    return _newest(DescribeClusterRequest(include_cluster_authorized_operations=False))


def join_group(_insight: Insight) -> Draft:
    """Join a group."""
    return _newest(
        JoinGroupRequest(group_id="group", session_timeout_ms=1, member_id="", protocol_type="", protocols=())
    )


def api_versions(_insight: Insight) -> Draft:
    """Ask for the versions."""
    return _newest(ApiVersionsRequest())


HARMLESS: tuple[Callable[[Insight], Draft], ...] = (
    fetch,
    list_offsets,
    offset_for_leader_epoch,
    find_coordinator,
    describe_quorum,
    describe_producers,
    describe_transactions,
    list_transactions,
    metadata,
    describe_cluster,
    join_group,
    api_versions,
)
"""Requests that change nothing if they are served."""

HARMFUL: tuple[Callable[[Insight], Draft], ...] = (
    produce,
    init_producer_id,
    add_partitions_to_txn,
    end_txn,
    write_txn_markers,
)


def _newest(request: Message) -> Draft:
    return request, api_of(request).versions.highest
