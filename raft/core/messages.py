"""Requests and responses as the rules see them: no versions, no topics, no -1.

`raft.wire` turns the bytes of every supported version into these and back.
"""

from __future__ import annotations

from dataclasses import dataclass

from raft.errors import ErrorCode
from raft.types import Batch, Epoch, LeaderAndEpoch, Offset, OffsetAndEpoch, ReplicaKey


@dataclass(frozen=True, slots=True, kw_only=True)
class VoteRequest:
    """Asks for a vote (KIP-595) or, with `pre_vote`, for a forecast of one (KIP-996).

    Fields:
        epoch: the candidate's epoch; for a pre-vote not raised yet.
        candidate_log_end: end of the candidate's log and the epoch of its last record.
        voter: whom the sender means to ask; None where the version cannot say.
    """

    cluster_id: str | None
    epoch: Epoch
    candidate: ReplicaKey
    candidate_log_end: OffsetAndEpoch
    pre_vote: bool
    voter: ReplicaKey | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class BeginQuorumEpochRequest:
    """A new leader announces itself to a voter."""

    cluster_id: str | None
    leader: LeaderAndEpoch
    voter: ReplicaKey | None = None

    @property
    def epoch(self) -> Epoch:
        """The epoch that it leads."""
        return self.leader.epoch


@dataclass(frozen=True, slots=True, kw_only=True)
class EndQuorumEpochRequest:
    """A leader resigns, and says in which order it would like the others to try."""

    cluster_id: str | None
    leader: LeaderAndEpoch
    preferred_successors: tuple[ReplicaKey, ...] = ()

    @property
    def epoch(self) -> Epoch:
        """The epoch that it led."""
        return self.leader.epoch


@dataclass(frozen=True, slots=True, kw_only=True)
class FetchRequest:
    """A replica, voter or observer, asks for what follows its log.

    Fields:
        replica: who fetches; everything below `fetch_offset` is on its disk.
        last_fetched_epoch: epoch of the record just before `fetch_offset`, 0 for an empty log.
        high_watermark: the highest one it knows, None while it knows none.
        wants_high_watermark: whether it is to be answered as soon as ours is higher (Fetch v18, KIP-1166).
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


@dataclass(frozen=True, slots=True, kw_only=True)
class FetchSnapshotRequest:
    """An observer asks for the next piece of a snapshot, from byte `position` on."""

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
        epoch: the leader epoch the client counts on; None is not checked.
        last_fetched_epoch: None is not checked.
        wait_until_bytes: the answer waits (up to `max_wait_ms`) until `RaftCore.committed_bytes` is no lower than this.
    """

    fetch_offset: Offset
    max_wait_ms: int
    max_bytes: int
    epoch: Epoch | None = None
    last_fetched_epoch: Epoch | None = None
    wait_until_bytes: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class UnknownPartitionRequest:
    """Any request of a replica that does not name our partition, and no other.

    The core refuses it, and not the part that reads the bytes, because the order of checks belongs to the protocol: a
    request from another cluster is refused for its cluster id first (ERROR-1).
    """

    cluster_id: str | None


Request = VoteRequest | BeginQuorumEpochRequest | EndQuorumEpochRequest | FetchRequest
"""What replicas ask each other."""

IncomingRequest = Request | UnknownPartitionRequest
"""What another replica asks this node."""

OutgoingRequest = Request | FetchSnapshotRequest
"""What this node asks other replicas. It makes no snapshots, so no replica asks it for one."""


def is_for_records(request: OutgoingRequest) -> bool:
    """Whether a request to a node is for records: those have a connection of their own, so that a vote never queues
    behind an answer that the other side holds.
    """
    return isinstance(request, FetchRequest | FetchSnapshotRequest)


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestRefused:
    """The whole request is refused: the error stands at the top level and there is no partition in the answer."""

    error: int


@dataclass(frozen=True, slots=True, kw_only=True)
class VoteResponse:
    """A judged vote: not granted is no error (VOTE-12)."""

    error: int = ErrorCode.NONE
    leader: LeaderAndEpoch
    vote_granted: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class BeginQuorumEpochResponse:
    """Answer to a new leader's announcement."""

    error: int = ErrorCode.NONE
    leader: LeaderAndEpoch


@dataclass(frozen=True, slots=True, kw_only=True)
class EndQuorumEpochResponse:
    """Answer to a leader that resigns."""

    error: int = ErrorCode.NONE
    leader: LeaderAndEpoch


@dataclass(frozen=True, slots=True, kw_only=True)
class FetchResponse:
    """Answer to a Fetch.

    Fields:
        high_watermark: None while the answering node knows none.
        diverging: where the fetcher's log may leave ours: the largest epoch both may share, and its end here.
        snapshot: id of the snapshot to load instead, from leaders that cut the start of their log.
        batches: whole batches from the fetch offset on, as they came from the wire, checksums checked. Answers that
            this node gives carry none: `Reply.read` says what the runtime adds from the log.
        damage: what was wrong with the batch behind them, in words; None when nothing was.
    """

    error: int = ErrorCode.NONE
    leader: LeaderAndEpoch
    high_watermark: Offset | None = None
    log_start_offset: Offset = Offset(0)
    diverging: OffsetAndEpoch | None = None
    snapshot: OffsetAndEpoch | None = None
    batches: tuple[Batch, ...] = ()
    damage: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class FetchSnapshotResponse:
    """A piece of a snapshot, which may end within a record batch.

    Fields:
        size_bytes: of the whole snapshot.
        position: of the piece in it.
    """

    error: int = ErrorCode.NONE
    leader: LeaderAndEpoch
    snapshot: OffsetAndEpoch
    size_bytes: int
    position: int
    piece: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class AppendResponse:
    """What became of an append.

    `base_offset` is that of the records asked for, new or there already; None when nothing is known of them. After
    NOT_LEADER_OR_FOLLOWER or REQUEST_TIMED_OUT the outcome is unknown, and the client repeats the same batch.
    `message` explains an error where its name does not say enough.
    """

    error: int = ErrorCode.NONE
    message: str | None = None
    base_offset: Offset | None = None
    leader: LeaderAndEpoch


Response = RequestRefused | VoteResponse | BeginQuorumEpochResponse | EndQuorumEpochResponse | FetchResponse
"""What this node answers another replica."""

IncomingResponse = Response | FetchSnapshotResponse
"""What another replica answers this node."""
