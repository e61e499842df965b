"""What the calls of a client return."""

from __future__ import annotations

from dataclasses import dataclass

from raft.types import Endpoint, Epoch, NodeId, Offset, OffsetAndEpoch, Uuid


@dataclass(frozen=True, slots=True, kw_only=True)
class Appended:
    """An append that is committed.

    Fields:
        base_offset: the offset of its first record; if the log held it already, its offset there.
        is_superseded: whether the log held a newer write of the same writer, so that nothing was appended.
    """

    base_offset: Offset
    is_superseded: bool = False


@dataclass(frozen=True, slots=True)
class AbortedTransaction:
    """The records of a producer from `first_offset` up to its next ABORT marker are not to be read."""

    producer_id: int
    first_offset: Offset


@dataclass(frozen=True, slots=True, kw_only=True)
class Fetched:
    """Committed records.

    Fields:
        records: whole batches, of which the first may begin before the fetch offset; empty if none was committed in
            time.
        last_stable_offset: everything below it is committed, and no transaction is open there; None while the leader
            does not know it yet.
        log_start_offset: the first offset of the log.
        aborted: the aborted transactions among the records, by first offset.
        compacted_end: of the records before it, those may be missing that a newer record of their key replaces, itself
            before this offset (READ-8); None if none are missing, and for a node that does not tell.
        reader: the node that sent them, if it is not the leader; None for the leader.
    """

    records: bytes
    last_stable_offset: Offset | None
    log_start_offset: Offset
    aborted: tuple[AbortedTransaction, ...] = ()
    compacted_end: Offset | None = None
    reader: Endpoint | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundOffset:
    """An offset that was found by a timestamp.

    Fields:
        offset: the offset.
        epoch: the epoch of the record there; for the last stable offset, the leader's; None if it is unknown.
    """

    offset: Offset
    epoch: Epoch | None


@dataclass(frozen=True, slots=True, kw_only=True)
class LogPosition:
    """A place between two records of the log.

    Fields:
        offset: the offset of the record after it.
        epoch: the epoch of the record before it; 0 if there is none.
        checksum: the stored CRC-32C of the batch that holds the record before it; None if it is unknown, or there is no
            such record.
    """

    offset: Offset
    epoch: Epoch
    checksum: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchPlan:
    """What a leader says about its committed log, and about the next batch of a stream.

    Fields:
        log_start_offset, last_stable_offset: the bounds of what can be read.
        epoch_end: the largest epoch up to the requested one, and the end of its committed records; None if the
            requested epoch has not begun. See `raft.client.calls.end_of_epoch`.
        start, end: the bounds of the batch; None if the start is outside the log, or the leader does not plan batches,
            as Apache Kafka's controllers do not.
        size_bytes: the size of the batch as it is stored, if the request limits it; None otherwise, and if the leader
            cannot limit it.
    """

    log_start_offset: Offset
    last_stable_offset: Offset
    epoch_end: OffsetAndEpoch | None
    start: LogPosition | None = None
    end: LogPosition | None = None
    size_bytes: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplicaDescription:
    """How far a replica has copied the log.

    Fields:
        node_id, directory_id: its replica key.
        log_end_offset: the end of its log; None while the leader does not know it.
        last_fetch_ms, last_caught_up_ms: when it last fetched, and when it last held the whole log, in wall clock
            milliseconds; None for never.
    """

    node_id: NodeId
    directory_id: Uuid
    log_end_offset: Offset | None
    last_fetch_ms: int | None
    last_caught_up_ms: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class QuorumDescription:
    """The state of the quorum as its leader sees it.

    Fields:
        cluster_id: the id of the cluster.
        leader_id, leader_epoch: the leader and its epoch.
        high_watermark: everything below it is committed; None while the leader does not know it yet.
        voters, observers: the replicas, the leader among them.
        endpoints: where each voter listens, by its node id.
    """

    cluster_id: str
    leader_id: NodeId
    leader_epoch: Epoch
    high_watermark: Offset | None
    voters: tuple[ReplicaDescription, ...]
    observers: tuple[ReplicaDescription, ...]
    endpoints: dict[NodeId, tuple[Endpoint, ...]]


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeDescription:
    """What a node that does not lead knows of the quorum, and of its own log.

    Fields:
        cluster_id: the id of the cluster.
        node_id: the node.
        role: its role, such as Follower or Candidate.
        is_voter: whether it is a voter.
        leader_id: the leader that it follows; None if it knows none.
        leader_epoch: its epoch.
        log_end_offset: the end of its log.
        high_watermark: everything below is committed, as far as it knows; None if it does not know.
    """

    cluster_id: str
    node_id: NodeId
    role: str
    is_voter: bool
    leader_id: NodeId | None
    leader_epoch: Epoch
    log_end_offset: Offset | None
    high_watermark: Offset | None
