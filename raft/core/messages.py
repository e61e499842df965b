"""Requests and responses without versions, topics or -1: `raft.wire` maps every supported version to them."""

from __future__ import annotations

from dataclasses import dataclass

from raft.errors import ErrorCode
from raft.transactions import TransactionalProducer
from raft.types import Batch, DamagedRange, Epoch, LeaderAndEpoch, Offset, OffsetAndEpoch, ReplicaKey


@dataclass(frozen=True, slots=True, kw_only=True)
class VoteRequest:
    """Asks for a vote (KIP-595) or, with `pre_vote`, whether it would be granted (KIP-996).

    Fields:
        epoch: the candidate's epoch; before a pre-vote it is not raised.
        candidate_log_end: end of the candidate's log and the epoch of its last record.
        voter: the receiver that the sender means; None where the version has no field for it.
    """

    cluster_id: str | None
    epoch: Epoch
    candidate: ReplicaKey
    candidate_log_end: OffsetAndEpoch
    pre_vote: bool
    voter: ReplicaKey | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class BeginQuorumEpochRequest:
    """A leader announces itself to a voter, or asks it to confirm that it leads (READ-2).

    Fields:
        voter: the receiver that the leader means; None where the version has no field for it.
    """

    cluster_id: str | None
    leader: LeaderAndEpoch
    voter: ReplicaKey | None = None

    @property
    def epoch(self) -> Epoch:
        """The epoch that it leads."""
        return self.leader.epoch


@dataclass(frozen=True, slots=True, kw_only=True)
class EndQuorumEpochRequest:
    """A leader resigns, and says in which order the other voters should start an election."""

    cluster_id: str | None
    leader: LeaderAndEpoch
    preferred_successors: tuple[ReplicaKey, ...] = ()

    @property
    def epoch(self) -> Epoch:
        """The epoch that it led."""
        return self.leader.epoch


@dataclass(frozen=True, slots=True, kw_only=True)
class FetchRequest:
    """A replica, voter or observer, asks for the records that follow its log.

    Fields:
        replica: the sender; everything below `fetch_offset` is on its disk.
        last_fetched_epoch: epoch of the record just before `fetch_offset`, 0 for an empty log.
        high_watermark: the highest one that it knows; None while it knows none.
        wants_high_watermark: whether the response should be sent as soon as ours is higher (Fetch v18, KIP-1166).
        is_damaged: whether the sender's log is damaged, so that it should not lead (LOG-30).
    """

    cluster_id: str | None
    replica: ReplicaKey
    epoch: Epoch
    fetch_offset: Offset
    last_fetched_epoch: Epoch
    max_wait_ms: int
    max_bytes: int
    high_watermark: Offset | None = None
    wants_high_watermark: bool = False
    is_damaged: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class RepairFetchRequest:
    """A replica asks its leader for committed records that are damaged on its own disk (LOG-31).

    On the wire it is the Fetch of a client: it says nothing of how far the replica is.

    Fields:
        damaged: the range.
        last_fetched_epoch: epoch of the record just before the range, 0 for none.
    """

    cluster_id: str | None
    epoch: Epoch
    damaged: DamagedRange
    last_fetched_epoch: Epoch
    max_bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class FetchSnapshotRequest:
    """A replica asks for the next piece of a snapshot, from byte `position` on."""

    cluster_id: str | None
    replica: ReplicaKey
    epoch: Epoch
    snapshot: OffsetAndEpoch
    position: int
    max_bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientFetchRequest:
    """A client, not a replica, asks for committed records.

    Fields:
        epoch: the leader epoch that the client knows; None is not checked.
        last_fetched_epoch: epoch of the record just before `fetch_offset`; None is not checked.
        read_committed: whether the records end before the last stable offset, and not before the high watermark.
        wait_until_bytes: the response waits, up to `max_wait_ms`, until `RaftCore.readable_bytes` is at least this.
    """

    fetch_offset: Offset
    max_wait_ms: int
    max_bytes: int
    epoch: Epoch | None = None
    last_fetched_epoch: Epoch | None = None
    read_committed: bool = False
    wait_until_bytes: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class UnknownPartitionRequest:
    """Any request of a replica that does not name our partition, and no other.

    The core refuses it, and not the part that reads the bytes, because the order of checks belongs to the protocol: a
    request from another cluster is refused for its cluster id first (ERROR-1).
    """

    cluster_id: str | None


Request = VoteRequest | BeginQuorumEpochRequest | EndQuorumEpochRequest | FetchRequest
"""The requests between replicas."""

IncomingRequest = Request | FetchSnapshotRequest | UnknownPartitionRequest
"""The requests that this node receives from other replicas."""

OutgoingRequest = Request | FetchSnapshotRequest | RepairFetchRequest
"""The requests that this node sends to other replicas."""


def is_for_records(request: OutgoingRequest) -> bool:
    """Whether a request asks for records: such requests have a connection of their own, so that a vote does not wait
    behind a fetch that the receiver holds.
    """
    return isinstance(request, FetchRequest | FetchSnapshotRequest | RepairFetchRequest)


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestRefused:
    """The whole request is refused: the response has an error at its top level and no partition."""

    error: int


@dataclass(frozen=True, slots=True, kw_only=True)
class VoteResponse:
    """The response to a Vote; a vote that is not granted is not an error (VOTE-12)."""

    error: int = ErrorCode.NONE
    leader: LeaderAndEpoch
    vote_granted: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class BeginQuorumEpochResponse:
    """The response to a new leader's announcement."""

    error: int = ErrorCode.NONE
    leader: LeaderAndEpoch


@dataclass(frozen=True, slots=True, kw_only=True)
class EndQuorumEpochResponse:
    """The response to a leader that resigns."""

    error: int = ErrorCode.NONE
    leader: LeaderAndEpoch


@dataclass(frozen=True, slots=True, kw_only=True)
class FetchResponse:
    """The response to a Fetch.

    Fields:
        high_watermark: None while the responding node knows none.
        last_stable_offset: below it, no transaction is open; None while the high watermark is unknown.
        diverging: set if the replica's log may diverge: the largest epoch that both logs may have, and its end here.
        snapshot: id of the snapshot to load instead, from leaders that removed the start of their log.
        batches: whole batches from the fetch offset on, as they came from the wire, checksums checked. Responses of
            this node hold none: `SendResponse.read` says what the runtime adds from the log.
        damage: what is wrong with the batch after them; None when nothing is.
        compacted_end: end of the snapshot from which the batches may come; None if they are all of the log.
    """

    error: int = ErrorCode.NONE
    leader: LeaderAndEpoch
    high_watermark: Offset | None = None
    last_stable_offset: Offset | None = None
    log_start_offset: Offset = Offset(0)
    diverging: OffsetAndEpoch | None = None
    snapshot: OffsetAndEpoch | None = None
    batches: tuple[Batch, ...] = ()
    damage: str | None = None
    compacted_end: Offset | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class FetchSnapshotResponse:
    """A piece of a snapshot, which may end within a record batch.

    Fields:
        size_bytes: of the whole snapshot.
        position: of the piece in it.
        piece: its bytes. The core's own response has none: the runtime reads them from the disk.
    """

    error: int = ErrorCode.NONE
    leader: LeaderAndEpoch
    snapshot: OffsetAndEpoch
    size_bytes: int = 0
    position: int
    piece: bytes = b""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadIndexResponse:
    """Whether a majority has confirmed that this leader leads, so that it knows the end of the log (READ-1)."""

    error: int = ErrorCode.NONE


@dataclass(frozen=True, slots=True, kw_only=True)
class AppendResponse:
    """The result of an append, or of a request that changes a transaction.

    After NOT_LEADER_OR_FOLLOWER or REQUEST_TIMED_OUT the client has to repeat its request.

    Fields:
        message: explains the error if its name is not enough.
        base_offset: that of the batch, new or in the log already; None when it is unknown.
        producer: the producer that now has a transactional id, if that was requested.
    """

    error: int = ErrorCode.NONE
    message: str | None = None
    base_offset: Offset | None = None
    producer: TransactionalProducer | None = None
    leader: LeaderAndEpoch


Response = (
    RequestRefused
    | VoteResponse
    | BeginQuorumEpochResponse
    | EndQuorumEpochResponse
    | FetchResponse
    | FetchSnapshotResponse
)
"""The responses between replicas."""

ClientResponse = AppendResponse | ReadIndexResponse
"""What becomes of what a client has requested; its response on the wire says more."""
