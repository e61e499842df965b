"""What the calls of a client return."""

from __future__ import annotations

from dataclasses import dataclass

from raft.types import Endpoint, Epoch, NodeId, Offset, OffsetAndEpoch, Uuid


@dataclass(frozen=True, slots=True, kw_only=True)
class Appended:
    """An append is committed.

    Fields:
        base_offset: offset of its first record; of an append that was there before, that one's.
        is_superseded: whether a newer write under the same key was there already, so that nothing was appended now.
    """

    base_offset: Offset
    is_superseded: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Fetched:
    """Committed records.

    Fields:
        records: whole batches, perhaps from before the offset asked for; empty when nothing new was committed in time.
        high_watermark: everything below is committed; None while the leader does not know it yet.
        log_start_offset: first offset still there.
    """

    records: bytes
    high_watermark: Offset | None
    log_start_offset: Offset


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundOffset:
    """An offset by its meaning or its time, and the epoch of the record there (None where none is)."""

    offset: Offset
    epoch: Epoch | None


@dataclass(frozen=True, slots=True, kw_only=True)
class LogPlace:
    """A place between two records of the log.

    Fields:
        offset: of the record after it.
        epoch: of the record before it; 0 where there is none.
        checksum: stored CRC-32C of the batch that holds the record before; None where it is unknown or there is none.
    """

    offset: Offset
    epoch: Epoch
    checksum: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchPlan:
    """What a leader says of its committed log, and of a batch that is to be read from it.

    Fields:
        log_start_offset, high_watermark: bounds of the committed log.
        epoch_end: the largest epoch up to the one asked about, and where its committed part ends; None for an epoch
            not begun yet. See `raft.client.calls.end_of_epoch`.
        start, end: of the batch; None where the leader does not say, as an older node or one of Apache Kafka's does
            not, or where the start lies outside the bounds.
    """

    log_start_offset: Offset
    high_watermark: Offset
    epoch_end: OffsetAndEpoch | None
    start: LogPlace | None = None
    end: LogPlace | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplicaDescription:
    """How far a replica is; times are wall clock milliseconds, None for never."""

    node_id: NodeId
    directory_id: Uuid
    log_end_offset: Offset | None
    last_fetch_ms: int | None
    last_caught_up_ms: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class QuorumDescription:
    """The state of the quorum as its leader sees it."""

    cluster_id: str
    leader_id: NodeId
    leader_epoch: Epoch
    high_watermark: Offset | None
    voters: tuple[ReplicaDescription, ...]
    observers: tuple[ReplicaDescription, ...]
    endpoints: dict[NodeId, tuple[Endpoint, ...]]
