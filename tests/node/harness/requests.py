"""Requests of clients for our partition, and its part of their responses."""

from __future__ import annotations

from raft.types import Uuid
from raft.wire.messages import fetch, list_offsets, offset_for_leader_epoch, produce
from tests.node.harness.properties import TOPIC

TOPIC_ID = Uuid("AAAAAAAAAAAAAAAAAAAAAQ")
OTHER_TOPIC_ID = Uuid("AAAAAAAAAAAAAAAAAAAAAg")


def produce_request(
    records: bytes | None,
    *,
    acks: int = -1,
    timeout_ms: int = 5_000,
    topic: str = TOPIC,
    topic_id: Uuid = TOPIC_ID,
    partition: int = 0,
    transactional_id: str | None = None,
) -> produce.ProduceRequest:
    """Append these bytes."""
    part = produce.ProduceRequestPartition(index=partition, records=records)
    return produce.ProduceRequest(
        transactional_id=transactional_id,
        acks=acks,
        timeout_ms=timeout_ms,
        topic_data=(produce.ProduceRequestTopic(name=topic, topic_id=topic_id, partition_data=(part,)),),
    )


def produced(response: produce.ProduceResponse) -> produce.ProduceResponsePartition:
    """The response for the only batch."""
    ((partition,),) = (topic.partition_responses for topic in response.responses)
    return partition


def fetch_request(
    offset: int,
    *,
    epoch: int = -1,
    last_fetched_epoch: int = -1,
    max_wait_ms: int = 0,
    min_bytes: int = 1,
    max_bytes: int = 1 << 20,
    topic: str = TOPIC,
    topic_id: Uuid = TOPIC_ID,
    partition: int = 0,
    cluster_id: str | None = None,
) -> fetch.FetchRequest:
    """Read as a client from an offset on."""
    part = fetch.FetchRequestPartition(
        partition=partition,
        current_leader_epoch=epoch,
        fetch_offset=offset,
        last_fetched_epoch=last_fetched_epoch,
        partition_max_bytes=max_bytes,
    )
    return fetch.FetchRequest(
        cluster_id=cluster_id,
        max_wait_ms=max_wait_ms,
        min_bytes=min_bytes,
        max_bytes=max_bytes,
        topics=(fetch.FetchRequestTopic(topic=topic, topic_id=topic_id, partitions=(part,)),),
    )


def fetched(response: fetch.FetchResponse) -> fetch.FetchResponsePartition:
    """The response for the only partition."""
    ((partition,),) = (topic.partitions for topic in response.responses)
    return partition


def list_offsets_request(
    timestamp: int,
    *,
    epoch: int = -1,
    topic: str = TOPIC,
    partition: int = 0,
    is_linearizable: bool = False,
    timeout_ms: int = 0,
) -> list_offsets.ListOffsetsRequest:
    """Find an offset by its timestamp, or a special one."""
    part = list_offsets.ListOffsetsRequestPartition(
        partition_index=partition, current_leader_epoch=epoch, timestamp=timestamp
    )
    return list_offsets.ListOffsetsRequest(
        replica_id=-1,
        topics=(list_offsets.ListOffsetsRequestTopic(name=topic, partitions=(part,)),),
        is_linearizable=is_linearizable,
        timeout_ms=timeout_ms,
    )


def listed(response: list_offsets.ListOffsetsResponse) -> list_offsets.ListOffsetsResponsePartition:
    """The one offset."""
    ((partition,),) = (topic.partitions for topic in response.topics)
    return partition


def epoch_end_request(
    leader_epoch: int,
    *,
    epoch: int = -1,
    topic: str = TOPIC,
    partition: int = 0,
    plan: offset_for_leader_epoch.BatchPlanRequest = offset_for_leader_epoch.BatchPlanRequest(),  # noqa: B008 - frozen
) -> offset_for_leader_epoch.OffsetForLeaderEpochRequest:
    """Find the end of an epoch."""
    part = offset_for_leader_epoch.OffsetForLeaderEpochRequestPartition(
        partition=partition, current_leader_epoch=epoch, leader_epoch=leader_epoch, batch_plan_request=plan
    )
    return offset_for_leader_epoch.OffsetForLeaderEpochRequest(
        replica_id=-1,
        topics=(offset_for_leader_epoch.OffsetForLeaderEpochRequestTopic(topic=topic, partitions=(part,)),),
    )


def epoch_end(
    response: offset_for_leader_epoch.OffsetForLeaderEpochResponse,
) -> offset_for_leader_epoch.OffsetForLeaderEpochResponsePartition:
    """The one end."""
    ((partition,),) = (topic.partitions for topic in response.topics)
    return partition
