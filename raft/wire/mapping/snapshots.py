"""FetchSnapshot between wire and core: requests and their responses."""

from __future__ import annotations

from raft.core import messages as core
from raft.errors import ErrorCode
from raft.types import Epoch, Offset, OffsetAndEpoch
from raft.wire import apis
from raft.wire.mapping.elections import leader_and_epoch
from raft.wire.mapping.mapping import Mapping
from raft.wire.mapping.partition import INDEX, TopicPartition, directory_uuid, or_minus_one, replica_key, sole_partition
from raft.wire.messages.fetch_snapshot import (
    FetchSnapshotRequest,
    FetchSnapshotRequestPartition,
    FetchSnapshotRequestTopic,
    FetchSnapshotResponse,
    FetchSnapshotResponsePartition,
    FetchSnapshotResponseTopic,
    SnapshotId,
)
from raft.wire.messages.nodes import LeaderIdAndEpoch


class FetchSnapshotMapping(
    Mapping[FetchSnapshotRequest, FetchSnapshotResponse, core.FetchSnapshotRequest, core.FetchSnapshotResponse]
):
    """FetchSnapshot between wire and core."""

    api = apis.FETCH_SNAPSHOT
    core_requests = (core.FetchSnapshotRequest,)

    def request_to_wire(
        self, request: core.FetchSnapshotRequest, ours: TopicPartition, _version: int
    ) -> FetchSnapshotRequest:
        """Write a request of this node for a piece of a snapshot."""
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

    def request_from_wire(
        self, message: FetchSnapshotRequest, _ours: TopicPartition, _version: int
    ) -> core.FetchSnapshotRequest | core.UnknownPartitionRequest:
        """Read the request of a replica for a piece of a snapshot; its topic was compared with ours before."""
        partitions = [partition for topic in message.topics for partition in topic.partitions]
        if len(message.topics) != 1 or len(partitions) != 1:
            return core.UnknownPartitionRequest(cluster_id=message.cluster_id)
        (partition,) = partitions
        return core.FetchSnapshotRequest(
            cluster_id=message.cluster_id,
            replica=replica_key(message.replica_id, partition.replica_directory_id),
            epoch=Epoch(partition.current_leader_epoch),
            snapshot=OffsetAndEpoch(
                offset=Offset(partition.snapshot_id.end_offset), epoch=Epoch(partition.snapshot_id.epoch)
            ),
            position=partition.position,
            max_bytes=message.max_bytes,
        )

    def response_to_wire(
        self, response: core.FetchSnapshotResponse, ours: TopicPartition, _version: int, _records: bytes = b""
    ) -> FetchSnapshotResponse:
        """Write a piece of a snapshot, or an error in its place."""
        leader = response.leader
        partition = FetchSnapshotResponsePartition(
            index=ours.index,
            error_code=response.error,
            snapshot_id=SnapshotId(end_offset=response.snapshot.offset, epoch=response.snapshot.epoch),
            current_leader=LeaderIdAndEpoch(leader_id=or_minus_one(leader.leader_id), leader_epoch=leader.epoch),
            size=response.size_bytes,
            position=response.position,
            unaligned_records=response.piece,
        )
        return FetchSnapshotResponse(
            error_code=ErrorCode.NONE,
            topics=(FetchSnapshotResponseTopic(name=ours.topic_name, partitions=(partition,)),),
        )

    def response_from_wire(self, message: FetchSnapshotResponse) -> core.FetchSnapshotResponse | core.RequestRefused:
        """Read a piece of a snapshot.

        Raises:
            DecodeError: the response does not have exactly one partition.
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


FETCH_SNAPSHOT = FetchSnapshotMapping()
