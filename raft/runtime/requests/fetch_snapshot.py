"""FetchSnapshot: refused, because a node of this project writes no snapshots of its log (FETCH-18)."""

from __future__ import annotations

from raft.errors import ErrorCode
from raft.runtime.requests.context import Context
from raft.wire.mapping.partition import or_minus_one
from raft.wire.messages.fetch_snapshot import (
    FetchSnapshotRequest,
    FetchSnapshotRequestPartition,
    FetchSnapshotResponse,
    FetchSnapshotResponsePartition,
    FetchSnapshotResponseTopic,
)
from raft.wire.messages.nodes import LeaderIdAndEpoch


def fetch_snapshot(context: Context, request: FetchSnapshotRequest) -> FetchSnapshotResponse:
    """Handle FetchSnapshot: the checks of FETCH-18, then SNAPSHOT_NOT_FOUND."""
    if request.cluster_id not in (None, context.cluster_id):
        return FetchSnapshotResponse(error_code=ErrorCode.INCONSISTENT_CLUSTER_ID, topics=())
    if len(request.topics) != 1 or len(request.topics[0].partitions) != 1:
        return FetchSnapshotResponse(error_code=ErrorCode.INVALID_REQUEST, topics=())
    (topic,) = request.topics
    (partition,) = topic.partitions
    response = FetchSnapshotResponsePartition(
        index=partition.partition,
        error_code=_snapshot_error(context, topic.name, partition),
        snapshot_id=partition.snapshot_id,
        current_leader=LeaderIdAndEpoch(
            leader_id=or_minus_one(context.engine.core.leader_id), leader_epoch=context.epoch
        ),
        size=0,
        position=0,
        unaligned_records=b"",
    )
    return FetchSnapshotResponse(
        error_code=ErrorCode.NONE,
        topics=(FetchSnapshotResponseTopic(name=topic.name, partitions=(response,)),),
    )


def _snapshot_error(context: Context, topic: str, partition: FetchSnapshotRequestPartition) -> ErrorCode:
    if not context.is_ours_by_name(topic, partition.partition):
        return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    error = context.leader_only_error(partition.current_leader_epoch)
    return ErrorCode.SNAPSHOT_NOT_FOUND if error == ErrorCode.NONE else error
