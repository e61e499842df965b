"""The effects: everything that the core orders.

The runtime carries effects out strictly in the order of the list. `StoreElectionState` is done only when it is on
disk, so that "persist before send" is the order of a list. Only `FlushLog` does not delay what follows: `LogFlushed`
reports later that it is done, and only that event counts as durable.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from raft.core.messages import ClientResponse, OutgoingRequest, Response
from raft.core.roles import Role
from raft.transactions import AbortedTransaction, ProducerStateImage, SnapshotSummary
from raft.types import Batch, BatchHeader, ElectionState, Endpoint, Epoch, NodeId, Offset, OffsetAndEpoch


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreElectionState:
    """Write the quorum-state file. This is done when it is on disk."""

    state: ElectionState


@dataclass(frozen=True, slots=True, kw_only=True)
class ControlBatch:
    """A control batch of this leader. The runtime makes its bytes, with the present time; its size is not known yet."""

    header: BatchHeader


@dataclass(frozen=True, slots=True, kw_only=True)
class AppendBatches:
    """Append these batches, with the offsets and epochs of their headers written into the bytes.

    Fields:
        batches: in the order of the log.
        aborted: the transactions that these batches abort, for the index of aborted transactions.
    """

    batches: tuple[Batch | ControlBatch, ...]
    aborted: tuple[AbortedTransaction, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class AppendLeaderChange:
    """Append the control batch that begins an epoch (CONTROL-1): one LeaderChange record, version 0."""

    base_offset: Offset
    epoch: Epoch
    leader_id: NodeId
    voters: tuple[NodeId, ...]
    granting_voters: tuple[NodeId, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class TruncateLog:
    """Remove every record from `end_offset` on."""

    end_offset: Offset


@dataclass(frozen=True, slots=True, kw_only=True)
class RepairLog:
    """Replace damaged batches of the log by these, then report it with `RepairEnded` (LOG-31).

    Fields:
        batches: in order, from the start of a damaged range on; perhaps not up to its end.
        source: the node that has sent them.
    """

    batches: tuple[Batch, ...]
    source: NodeId


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreSnapshotPiece:
    """Write the next piece of a snapshot; position 0 starts it again."""

    snapshot: OffsetAndEpoch
    position: int
    piece: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckSnapshot:
    """Check a snapshot, all pieces of which are stored, then report it with `SnapshotChecked`."""

    snapshot: OffsetAndEpoch


@dataclass(frozen=True, slots=True, kw_only=True)
class InstallSnapshot:
    """Replace the log by a snapshot that was checked; the log then begins at the snapshot's end."""

    contents: SnapshotSummary


@dataclass(frozen=True, slots=True, kw_only=True)
class RollLog:
    """Begin a new segment at the end of the log, and write the writers and transactions there to disk."""

    producers: ProducerStateImage


@dataclass(frozen=True, slots=True, kw_only=True)
class DeleteBeforeSnapshot:
    """Remove the log before the end of a snapshot that is on disk."""

    start: OffsetAndEpoch


@dataclass(frozen=True, slots=True, kw_only=True)
class FlushLog:
    """Flush the log up to `end_offset`, then report it with `LogFlushed`.

    One flush may serve several orders; the newest number then reports the earlier ones, too.
    """

    number: int
    end_offset: Offset


@dataclass(frozen=True, slots=True, kw_only=True)
class SendRequest:
    """Send a request to a node. `ResponseReceived` or `RequestFailed` with that number follows."""

    number: int
    node_id: NodeId
    endpoint: Endpoint
    request: OutgoingRequest


@dataclass(frozen=True, slots=True, kw_only=True)
class Disconnect:
    """Close the connections to a node: the next request must not use the same one.

    A request timed out, or the response is of another node than the one that was meant (GEN-16).
    """

    node_id: NodeId


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadRange:
    """Whole batches from the one that holds `start_offset` on, none past `end_offset`, at most `max_bytes` in all but
    at least one batch.
    """

    start_offset: Offset
    end_offset: Offset
    max_bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class SendResponse:
    """Respond to a request; if `read` is set, with the records that are read from the log now."""

    request_id: int
    response: Response | ClientResponse
    read: ReadRange | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RoleChanged:
    """The role changed; for logs and metrics."""

    old: Role
    new: Role
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportFault:
    """Something that an operator may have to act on; the node goes on."""

    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ShutdownFinished:
    """The node may stop now. `handed_over` is False if no other node leads yet."""

    handed_over: bool


class HaltCause(Enum):
    """Why a node has to stop."""

    CONTRADICTING_LEADER = "a message names a leader that cannot be true"
    COMMITTED_RECORDS_LOST = "the leader's log lacks records that are committed"
    UNKNOWN_CONTROL_RECORD = "the log holds a control record that this version does not know"
    OTHER_VOTERS = "the log names other voters than the configuration of this voter"
    KAFKA_CONTROLLER = "another voter is a controller of an Apache Kafka cluster"
    NOT_AUTHORIZED = "a majority of the voters does not authorize requests of this node"
    ELECTION_STATE_LOST = "the log has records, and the stored election state is missing"
    NOT_A_VOTER = "the stored election state is that of a voter, and this node is not one"


@dataclass(frozen=True, slots=True, kw_only=True)
class Halt:
    """Stop this node at once, because it could violate a guarantee of the quorum. Always the last effect of a node.

    Fields:
        cause: the kind of fault.
        reason: what happened, with its values.
    """

    cause: HaltCause
    reason: str


Effect = (
    StoreElectionState
    | AppendBatches
    | AppendLeaderChange
    | TruncateLog
    | RepairLog
    | StoreSnapshotPiece
    | CheckSnapshot
    | InstallSnapshot
    | RollLog
    | DeleteBeforeSnapshot
    | FlushLog
    | SendRequest
    | Disconnect
    | SendResponse
    | RoleChanged
    | ReportFault
    | ShutdownFinished
    | Halt
)
