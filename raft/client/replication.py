"""The requests of an observer that copies the log of a quorum: Fetch as a replica, and FetchSnapshot.

Unlike a client, it gets the batches as they are in the log, and is told of a snapshot that has replaced the log before.
The node lists it among its observers for some minutes. Only nodes of this project are asked.
"""

from __future__ import annotations

from dataclasses import dataclass

from raft.client.discovery import LeaderNode
from raft.client.session import Deadline, ResponseStatus, Session
from raft.client.steps import Operation
from raft.errors import ErrorCode
from raft.types import Epoch, NodeId, Offset, OffsetAndEpoch
from raft.wire.mapping.partition import epoch_or_none, sole_partition
from raft.wire.messages import fetch
from raft.wire.messages import fetch_snapshot as snapshots


@dataclass(frozen=True, slots=True, kw_only=True)
class Replicated:
    """A part of the leader's log.

    Fields:
        records: whole batches from the fetch offset on, committed or not.
        high_watermark: everything below it is committed.
        is_diverging: whether the leader's log differs before the fetch offset; there are no records then.
        snapshot: has replaced the log at the fetch offset, so there are no records; None if it has not.
    """

    records: bytes
    high_watermark: Offset
    is_diverging: bool
    snapshot: OffsetAndEpoch | None


@dataclass(frozen=True, slots=True, kw_only=True)
class SnapshotPiece:
    """A piece of a snapshot, and the size of the whole snapshot."""

    piece: bytes
    size_bytes: int


def replicate(
    session: Session, deadline: Deadline, *, replica_id: NodeId, start: OffsetAndEpoch, max_bytes: int
) -> Operation[Replicated]:
    """Fetch from the leader as an observer.

    Args:
        session: sends the request.
        deadline: when to give up.
        replica_id: of the observer.
        start: the offset to fetch from, and the epoch of the record before it.
        max_bytes: largest size of the batches; the first one may be larger.

    Raises:
        QuorumUnavailableError, RequestError, ConfigError: see `Session.ask_leader`.
    """

    def request_to(leader: LeaderNode) -> fetch.FetchRequest:
        partition = fetch.FetchRequestPartition(
            partition=0,
            current_leader_epoch=session.epoch,
            fetch_offset=start.offset,
            last_fetched_epoch=start.epoch,
            partition_max_bytes=max_bytes,
        )
        topic = fetch.FetchRequestTopic(
            topic=leader.topic.name, topic_id=leader.topic.topic_id, partitions=(partition,)
        )
        return fetch.FetchRequest(
            cluster_id=session.cluster_id,
            replica_state=fetch.FetchReplicaState(replica_id=replica_id),
            max_wait_ms=0,
            min_bytes=0,
            max_bytes=max_bytes,
            topics=(topic,),
        )

    def status_of(response: fetch.FetchResponse) -> ResponseStatus:
        if response.error_code:
            return ResponseStatus(error=response.error_code)
        partition = sole_partition(response.responses)
        # A leader that was just elected does not know the high watermark yet.
        is_early = not partition.error_code and partition.high_watermark < 0
        error = ErrorCode.OFFSET_NOT_AVAILABLE if is_early else partition.error_code
        return ResponseStatus(error=error, epoch=epoch_or_none(partition.current_leader.leader_epoch))

    partition = sole_partition((yield from session.ask_leader(request_to, status_of, deadline)).responses)
    found = partition.snapshot_id
    return Replicated(
        records=partition.records or b"",
        high_watermark=Offset(partition.high_watermark),
        is_diverging=partition.diverging_epoch.end_offset >= 0,
        snapshot=OffsetAndEpoch(epoch=Epoch(found.epoch), offset=Offset(found.end_offset))
        if found.end_offset >= 0
        else None,
    )


def replicate_snapshot(
    session: Session,
    deadline: Deadline,
    *,
    replica_id: NodeId,
    snapshot: OffsetAndEpoch,
    position: int,
    max_bytes: int,
) -> Operation[SnapshotPiece]:
    """Load a piece of a snapshot from the leader. Another leader may have other bytes at the same position.

    Args:
        session: sends the request.
        deadline: when to give up.
        replica_id: of the observer.
        snapshot: end offset and epoch.
        position: of the piece.
        max_bytes: largest size of the piece.

    Raises:
        RequestError: also with SNAPSHOT_NOT_FOUND, if the leader has no such snapshot.
        QuorumUnavailableError, ConfigError: see `Session.ask_leader`.
    """

    def request_to(leader: LeaderNode) -> snapshots.FetchSnapshotRequest:
        partition = snapshots.FetchSnapshotRequestPartition(
            partition=0,
            current_leader_epoch=session.epoch,
            snapshot_id=snapshots.SnapshotId(end_offset=snapshot.offset, epoch=snapshot.epoch),
            position=position,
        )
        topic = snapshots.FetchSnapshotRequestTopic(name=leader.topic.name, partitions=(partition,))
        return snapshots.FetchSnapshotRequest(
            cluster_id=session.cluster_id, replica_id=replica_id, max_bytes=max_bytes, topics=(topic,)
        )

    def status_of(response: snapshots.FetchSnapshotResponse) -> ResponseStatus:
        if response.error_code:
            return ResponseStatus(error=response.error_code)
        partition = sole_partition(response.topics)
        return ResponseStatus(error=partition.error_code, epoch=epoch_or_none(partition.current_leader.leader_epoch))

    partition = sole_partition((yield from session.ask_leader(request_to, status_of, deadline)).topics)
    return SnapshotPiece(piece=partition.unaligned_records, size_bytes=partition.size)
