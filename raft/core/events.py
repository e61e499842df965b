"""The events: everything that can happen to a node."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from raft.core.messages import ClientFetchRequest, IncomingRequest, Response
from raft.transactions import SnapshotSummary
from raft.types import Batch, ControlType, DamagedRange, Epoch, Offset, OffsetAndEpoch


@dataclass(frozen=True, slots=True, kw_only=True)
class Started:
    """The node starts. This is the first event, and it comes once."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TimePassed:
    """The time of `deadline_ms` has come; it may also be sent at any other time."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestReceived:
    """A replica or a client sent a request. `SendResponse` has the same `request_id`, which no other request has."""

    request_id: int
    request: IncomingRequest | ClientFetchRequest


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestAbandoned:
    """The sender of a request has disconnected. A parked fetch or read is dropped; an append in the log stays there."""

    request_id: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ResponseReceived:
    """The response to the `SendRequest` of that number. One that is not expected any more is dropped (GEN-7)."""

    number: int
    response: Response


class Failure(Enum):
    """Why a request has no response."""

    DISCONNECTED = "the connection failed"
    CONNECTION_REFUSED = "no process listens at the node's address"
    UNSUPPORTED_VERSION = "the other side supports no version in which the request can be written"
    NOT_SENT = "the request was not expected to be answered any more when the connection was ready for it"
    KAFKA_CONTROLLER = "the other side is a controller of an Apache Kafka cluster, and this node is a voter"


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestFailed:
    """The `SendRequest` of that number will have no response."""

    number: int
    failure: Failure


@dataclass(frozen=True, slots=True, kw_only=True)
class AppendRequested:
    """A client appends a batch.

    The batch was checked before: its checksum, size and format are valid. The base offset and epoch in its header are
    not ours yet. The response is sent when it is committed, or with REQUEST_TIMED_OUT after `timeout_ms`.

    Fields:
        transactional_id: the one in the request; None if it has none.
    """

    request_id: int
    batch: Batch
    timeout_ms: int
    transactional_id: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class AppendsRequested:
    """Several clients' appends that came together. They share one write and one flush of the log."""

    appends: tuple[AppendRequested, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ProducerInitRequested:
    """A producer begins to use a transactional id (TXN-3). The response has its producer id and epoch.

    Fields:
        transactional_id: the id. A transaction of the producer that has it now is aborted.
        transaction_timeout_ms: longest duration of the producer's transactions.
        new_producer_id: a random producer id, used if the transactional id has none yet.
        present: producer id and epoch that the producer has now, if it only asks for the next epoch; None otherwise.
        timeout_ms: how long the request may wait.
    """

    request_id: int
    transactional_id: str
    transaction_timeout_ms: int
    new_producer_id: int
    present: tuple[int, int] | None = None
    timeout_ms: int


@dataclass(frozen=True, slots=True, kw_only=True)
class TransactionEndRequested:
    """A client ends a transaction (TXN-4): its producer, the driver of a multipart write, or an operator.

    Fields:
        transactional_id: that of the producer or of the write; None if an operator aborts the transaction of a
            producer id.
        producer_id, producer_epoch: of the producer; not used for a write, all parts of which are aborted.
        end: COMMIT or ABORT.
        new_producer_id: a random producer id, if the producer goes on with another epoch afterwards (KIP-890), and
            these are used up; None if it keeps its epoch.
        timeout_ms: how long the request may wait.
    """

    request_id: int
    transactional_id: str | None
    producer_id: int
    producer_epoch: int
    end: ControlType
    new_producer_id: int | None = None
    timeout_ms: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadIndexRequested:
    """A client asks for the end of the log, which must include all that was committed before (READ-1).

    The response says only that this node still leads: the high watermark is then as high as required.
    """

    request_id: int
    timeout_ms: int


@dataclass(frozen=True, slots=True, kw_only=True)
class LogFlushed:
    """The `FlushLog` of that number is done: everything below `end_offset` is on disk."""

    number: int
    end_offset: Offset


@dataclass(frozen=True, slots=True, kw_only=True)
class DiskMeasured:
    """The free space of this node's disk was measured (LOG-24).

    Fields:
        room_bytes: how many bytes were free, without the reserve; negative if a part of the reserve was used.
        appended_bytes: `RaftCore.appended_bytes` when the measurement was ordered. That much was written before it.
    """

    room_bytes: int
    appended_bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class DiskWaiting:
    """A job that has to be done waits until the disk has room, or those that waited are done (LOG-27, LOG-28).

    Fields:
        written_end: everything below is in the log on the disk, and nothing more until the next such event; None if
            no job waits any more.
    """

    written_end: Offset | None


@dataclass(frozen=True, slots=True, kw_only=True)
class DamageReported:
    """Damage of this node's log was found or repaired, or removed with the log (LOG-29).

    Fields:
        ranges: everything that is known to be damaged now, in the order of the offsets.
    """

    ranges: tuple[DamagedRange, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class RepairEnded:
    """The result of `RepairLog`; `DamageReported` came before it if anything was repaired (LOG-31)."""

    is_repaired: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class SnapshotDue:
    """A snapshot of this node's log is due; it will end at the present end of the log (SNAPSHOT-1)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SnapshotMade:
    """A snapshot of this node's log is on disk (SNAPSHOT-1). The last stable offset has reached its end."""

    snapshot: OffsetAndEpoch


@dataclass(frozen=True, slots=True, kw_only=True)
class SnapshotChecked:
    """The result of `CheckSnapshot`.

    Fields:
        snapshot: the snapshot that was downloaded.
        contents: what it holds; None if it is torn or damaged.
    """

    snapshot: OffsetAndEpoch
    contents: SnapshotSummary | None


@dataclass(frozen=True, slots=True, kw_only=True)
class DeleteBeforeSnapshotRequested:
    """The log is to begin at the end of a snapshot that is on disk; what was before is removed (SNAPSHOT-3).

    Fields:
        start: end of the snapshot.
        shows_records: whether clients read the records in it.
    """

    start: OffsetAndEpoch
    shows_records: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class ResignRequested:
    """An operator asks the leader of this epoch to resign. For an earlier epoch there is nothing to do any more."""

    epoch: Epoch


@dataclass(frozen=True, slots=True, kw_only=True)
class ShutdownRequested:
    """The node is to shut down: it hands over leadership before, within `timeout_ms` at most."""

    timeout_ms: int


StorageEvent = (
    LogFlushed
    | DiskMeasured
    | DiskWaiting
    | DamageReported
    | RepairEnded
    | SnapshotDue
    | SnapshotMade
    | SnapshotChecked
    | DeleteBeforeSnapshotRequested
)
"""What the disk of this node has done, or what is wanted of it."""

Event = (
    Started
    | TimePassed
    | RequestReceived
    | RequestAbandoned
    | ResponseReceived
    | RequestFailed
    | AppendRequested
    | AppendsRequested
    | ProducerInitRequested
    | TransactionEndRequested
    | ReadIndexRequested
    | StorageEvent
    | ResignRequested
    | ShutdownRequested
)
