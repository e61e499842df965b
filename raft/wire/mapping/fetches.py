"""Fetch between wire and core. Replicas (id 0 and above) and clients (id -1) use different fields."""

from __future__ import annotations

from collections.abc import Iterable

from raft.core import messages as core
from raft.records.batches import read_good_prefix
from raft.transactions import AbortedTransaction
from raft.types import Epoch, LeaderAndEpoch, NodeId, Offset, OffsetAndEpoch
from raft.wire import apis
from raft.wire.mapping.elections import leader_and_epoch
from raft.wire.mapping.mapping import Mapping
from raft.wire.mapping.partition import (
    INDEX,
    TopicPartition,
    directory_uuid,
    epoch_or_none,
    node_or_none,
    offset_or_none,
    or_minus_one,
    replica_key,
    sole_partition,
)
from raft.wire.messages import fetch
from raft.wire.messages.fetch_snapshot import SnapshotId
from raft.wire.messages.nodes import BrokerEndpoint, LeaderIdAndEpoch

READ_COMMITTED = 1
"""Isolation level of a client that reads no open or aborted transactions."""

FIRST_BY_TOPIC_ID = 13
FIRST_OF_REPLICAS = 12
"""Older versions have no last fetched epoch, without which a diverging log is not detected (COMPAT-3)."""

_FIRST_WITH_ERROR = 7
_FIRST_WITH_REPLICA_STATE = 15
_FIRST_WITH_ENDPOINTS = 16
_NO_HIGH_WATERMARK_SENT = (1 << 63) - 1


def fetching_replica(message: fetch.FetchRequest, version: int) -> NodeId | None:
    """Return the replica that fetches; None for a client."""
    is_new = version >= _FIRST_WITH_REPLICA_STATE
    return node_or_none(message.replica_state.replica_id if is_new else message.replica_id)


class FetchMapping(
    Mapping[fetch.FetchRequest, fetch.FetchResponse, core.FetchRequest | core.RepairFetchRequest, core.FetchResponse]
):
    """Fetch between wire and core, as replicas send it."""

    api = apis.FETCH
    core_requests = (core.FetchRequest, core.RepairFetchRequest)

    def request_to_wire(
        self, request: core.FetchRequest | core.RepairFetchRequest, ours: TopicPartition, version: int
    ) -> fetch.FetchRequest:
        """Write a Fetch request of this node, with the fields that Kafka's replicas set."""
        if isinstance(request, core.RepairFetchRequest):
            return _repair_request(request, ours)
        partition = fetch.FetchRequestPartition(
            partition=INDEX,
            current_leader_epoch=request.epoch,
            fetch_offset=request.fetch_offset,
            last_fetched_epoch=request.last_fetched_epoch,
            partition_max_bytes=0,
            replica_directory_id=directory_uuid(request.replica),
            high_watermark=or_minus_one(request.high_watermark),
            is_damaged=request.is_damaged,
        )
        topic = fetch.FetchRequestTopic(topic=ours.topic_name, topic_id=ours.topic_id, partitions=(partition,))
        has_state = version >= _FIRST_WITH_REPLICA_STATE
        replica_id = request.replica.node_id
        return fetch.FetchRequest(
            cluster_id=request.cluster_id,
            replica_id=-1 if has_state else replica_id,
            replica_state=fetch.FetchReplicaState(replica_id=replica_id if has_state else -1),
            max_wait_ms=request.max_wait_ms,
            min_bytes=0,
            max_bytes=request.max_bytes,
            topics=(topic,),
        )

    def request_from_wire(
        self, message: fetch.FetchRequest, ours: TopicPartition, version: int
    ) -> core.FetchRequest | core.UnknownPartitionRequest:
        """Read the Fetch request of a replica."""
        replica_id = fetching_replica(message, version)
        assert replica_id is not None, "the Fetch of a client is read by client_fetch_from_wire"
        partition = _our_partition(message, version, ours) if version >= FIRST_OF_REPLICAS else None
        if partition is None:
            return core.UnknownPartitionRequest(cluster_id=message.cluster_id)
        return core.FetchRequest(
            cluster_id=message.cluster_id,
            replica=replica_key(replica_id, partition.replica_directory_id),
            epoch=Epoch(partition.current_leader_epoch),
            fetch_offset=Offset(partition.fetch_offset),
            last_fetched_epoch=Epoch(partition.last_fetched_epoch),
            max_wait_ms=message.max_wait_ms,
            max_bytes=message.max_bytes,
            high_watermark=offset_or_none(partition.high_watermark),
            wants_high_watermark=partition.high_watermark != _NO_HIGH_WATERMARK_SENT,
            is_damaged=partition.is_damaged,
        )

    def response_to_wire(
        self, response: core.FetchResponse, ours: TopicPartition, version: int, records: bytes = b""
    ) -> fetch.FetchResponse:
        """Write the response to a Fetch of our partition alone."""
        topic = fetch.FetchResponseTopic(
            topic=ours.topic_name,
            topic_id=ours.topic_id,
            partitions=(fetch_partition_to_wire(response, records, version),),
        )
        return fetch.FetchResponse(responses=(topic,), node_endpoints=fetch_endpoints_to_wire(response.leader, version))

    def response_from_wire(self, message: fetch.FetchResponse) -> core.FetchResponse | core.RequestRefused:
        """Read the response to a Fetch of this node, with the intact batches before the first damaged one (FETCH-24).

        Raises:
            DecodeError: the response does not have exactly one partition.
        """
        if message.error_code:
            return core.RequestRefused(error=message.error_code)
        partition = sole_partition(message.responses)
        leader = partition.current_leader
        good = read_good_prefix(partition.records or b"")
        return core.FetchResponse(
            error=partition.error_code,
            leader=leader_and_epoch(leader.leader_id, leader.leader_epoch, message.node_endpoints),
            high_watermark=offset_or_none(partition.high_watermark),
            log_start_offset=Offset(max(partition.log_start_offset, 0)),
            diverging=_epoch_end(partition.diverging_epoch),
            snapshot=_snapshot(partition.snapshot_id),
            batches=good.batches,
            damage=None if good.damage is None else str(good.damage),
            compacted_end=offset_or_none(partition.compacted_end),
        )

    def refusal_to_wire(self, request: fetch.FetchRequest, error: int, version: int) -> fetch.FetchResponse:
        """Refuse a whole Fetch. Versions without a top-level error have the error in each partition."""
        if version >= _FIRST_WITH_ERROR:
            return fetch.FetchResponse(error_code=error, responses=())
        return fetch.FetchResponse(
            responses=tuple(
                fetch.FetchResponseTopic(
                    topic=topic.topic,
                    partitions=tuple(
                        fetch.FetchResponsePartition(
                            partition_index=partition.partition, error_code=error, high_watermark=-1, records=b""
                        )
                        for partition in topic.partitions
                    ),
                )
                for topic in request.topics
            )
        )


def _repair_request(request: core.RepairFetchRequest, ours: TopicPartition) -> fetch.FetchRequest:
    """Write a request of this node for records that are damaged here: a Fetch like that of a client."""
    partition = fetch.FetchRequestPartition(
        partition=INDEX,
        current_leader_epoch=request.epoch,
        fetch_offset=request.damaged.start_offset,
        last_fetched_epoch=request.last_fetched_epoch,
        partition_max_bytes=request.max_bytes,
    )
    topic = fetch.FetchRequestTopic(topic=ours.topic_name, topic_id=ours.topic_id, partitions=(partition,))
    return fetch.FetchRequest(
        cluster_id=request.cluster_id, max_wait_ms=0, min_bytes=0, max_bytes=request.max_bytes, topics=(topic,)
    )


def _our_partition(
    message: fetch.FetchRequest, version: int, ours: TopicPartition
) -> fetch.FetchRequestPartition | None:
    if len(message.topics) != 1 or len(message.topics[0].partitions) != 1:
        return None
    (topic,) = message.topics
    (partition,) = topic.partitions
    is_ours = is_our_topic(topic, version, ours) and partition.partition == INDEX
    return partition if is_ours else None


def is_our_topic(topic: fetch.FetchRequestTopic, version: int, ours: TopicPartition) -> bool:
    """Return whether a topic in a request is the topic of our partition."""
    return topic.topic_id == ours.topic_id if version >= FIRST_BY_TOPIC_ID else topic.topic == ours.topic_name


def client_fetch_from_wire(
    message: fetch.FetchRequest, partition: fetch.FetchRequestPartition
) -> core.ClientFetchRequest:
    """Read the Fetch of a client for our partition."""
    return core.ClientFetchRequest(
        fetch_offset=Offset(partition.fetch_offset),
        max_wait_ms=max(message.max_wait_ms, 0),
        max_bytes=min(message.max_bytes, partition.partition_max_bytes),
        epoch=epoch_or_none(partition.current_leader_epoch),
        last_fetched_epoch=epoch_or_none(partition.last_fetched_epoch),
        read_committed=message.isolation_level == READ_COMMITTED,
    )


_NO_SNAPSHOT = SnapshotId(end_offset=-1, epoch=-1)


def fetch_partition_to_wire(
    response: core.FetchResponse,
    records: bytes,
    version: int,
    aborted: Iterable[AbortedTransaction] = (),
    compacted_end: Offset | None = None,
) -> fetch.FetchResponsePartition:
    """Write the response for our partition. Records are empty bytes, never null (FETCH-10).

    Args:
        response: of the core.
        records: whole batches.
        version: of the response.
        aborted: the aborted transactions among the records.
        compacted_end: end of the snapshot from which records may come; None if they are all of the log.
    """
    has_leader = version >= FIRST_OF_REPLICAS
    diverging = response.diverging if has_leader else None
    return fetch.FetchResponsePartition(
        partition_index=INDEX,
        error_code=response.error,
        high_watermark=or_minus_one(response.high_watermark),
        last_stable_offset=or_minus_one(response.last_stable_offset),
        log_start_offset=response.log_start_offset,
        diverging_epoch=fetch.EpochEndOffset(epoch=diverging.epoch, end_offset=diverging.offset)
        if diverging
        else fetch.EpochEndOffset(),
        snapshot_id=SnapshotId(end_offset=response.snapshot.offset, epoch=response.snapshot.epoch)
        if has_leader and response.snapshot
        else _NO_SNAPSHOT,
        current_leader=LeaderIdAndEpoch(
            leader_id=or_minus_one(response.leader.leader_id), leader_epoch=response.leader.epoch
        )
        if has_leader
        else LeaderIdAndEpoch(),
        aborted_transactions=tuple(
            fetch.AbortedTransaction(producer_id=each.producer_id, first_offset=each.first_offset)
            for each in sorted(aborted, key=lambda each: each.first_offset)
        ),
        records=records,
        compacted_end=or_minus_one(compacted_end),
    )


def fetch_endpoints_to_wire(leader: LeaderAndEpoch, version: int) -> tuple[BrokerEndpoint, ...]:
    """Write the endpoints of the leader, in versions that have a field for them."""
    if leader.leader_id is None or version < _FIRST_WITH_ENDPOINTS:
        return ()
    return tuple(
        BrokerEndpoint(node_id=leader.leader_id, host=endpoint.host, port=endpoint.port)
        for endpoint in leader.endpoints[:1]
    )


def _epoch_end(value: fetch.EpochEndOffset) -> OffsetAndEpoch | None:
    is_set = value.epoch >= 0 and value.end_offset >= 0
    return OffsetAndEpoch(epoch=Epoch(value.epoch), offset=Offset(value.end_offset)) if is_set else None


def _snapshot(value: SnapshotId) -> OffsetAndEpoch | None:
    is_set = value.epoch >= 0 and value.end_offset >= 0
    return OffsetAndEpoch(epoch=Epoch(value.epoch), offset=Offset(value.end_offset)) if is_set else None


FETCH = FetchMapping()
