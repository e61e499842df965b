"""FetchSnapshot between wire and core. Our nodes make no snapshots, so they only send it."""

from __future__ import annotations

from raft.core import messages as core
from raft.types import Epoch, Offset, OffsetAndEpoch
from raft.wire.mapping.elections import leader_and_epoch
from raft.wire.mapping.partition import INDEX, TopicPartition, directory_uuid, sole_partition
from raft.wire.messages.fetch_snapshot import (
    FetchSnapshotRequest,
    FetchSnapshotRequestPartition,
    FetchSnapshotRequestTopic,
    FetchSnapshotResponse,
    SnapshotId,
)


def snapshot_request_to_wire(request: core.FetchSnapshotRequest, ours: TopicPartition) -> FetchSnapshotRequest:
    """Write our request for a piece of a snapshot."""
    partition = FetchSnapshotRequestPartition(
        partition=INDEX,
        current_leader_epoch=request.epoch,
        snapshot_id=SnapshotId(end_offset=request.snapshot.offset, epoch=request.snapshot.epoch),
        position=request.position,
        replica_directory_id=directory_uuid(request.replica),
    )
    return FetchSnapshotRequest(
        cluster_id=request.cluster_id,
        replica_id=request.replica.node_id,
        max_bytes=request.max_bytes,
        topics=(FetchSnapshotRequestTopic(name=ours.topic_name, partitions=(partition,)),),
    )


def snapshot_response_from_wire(message: FetchSnapshotResponse) -> core.FetchSnapshotResponse | core.RequestRefused:
    """Read a piece of a snapshot.

    Raises:
        DecodeError: it is not about one partition.
    """
    if message.error_code:
        return core.RequestRefused(error=message.error_code)
    partition = sole_partition(message.topics)
    leader = partition.current_leader
    return core.FetchSnapshotResponse(
        error=partition.error_code,
        leader=leader_and_epoch(leader.leader_id, leader.leader_epoch, message.node_endpoints),
        snapshot=OffsetAndEpoch(
            offset=Offset(partition.snapshot_id.end_offset), epoch=Epoch(partition.snapshot_id.epoch)
        ),
        size_bytes=partition.size,
        position=partition.position,
        piece=partition.unaligned_records or b"",
    )
