"""What the calls of a client return."""

from __future__ import annotations

from dataclasses import dataclass

from raft.types import Endpoint, Epoch, NodeId, Offset, Uuid


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
