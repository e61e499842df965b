"""What can happen to a node: the only way in."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from raft.core.messages import ClientFetchRequest, IncomingRequest, IncomingResponse
from raft.types import Batch, Epoch, Offset


@dataclass(frozen=True, slots=True, kw_only=True)
class Started:
    """The first event of a node's life; none comes before it and it comes once."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TimePassed:
    """The time of `deadline_ms` has come, or some other moment at which nothing else happened."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestReceived:
    """A replica or a client asks. `request_id` comes back in the `Reply`; the caller never uses one twice."""

    request_id: int
    request: IncomingRequest | ClientFetchRequest


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestAbandoned:
    """Whoever asked is gone. A fetch that waits for news is forgotten; what is in the log of an append goes on."""

    request_id: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ResponseReceived:
    """The answer to the `Send` of that number. Answers nobody waits for any more are dropped (GEN-7)."""

    number: int
    response: IncomingResponse


class Failure(Enum):
    """Why a request got no answer."""

    DISCONNECTED = "the connection failed"
    CONNECTION_REFUSED = "no process listens at the node's address"
    UNSUPPORTED_VERSION = "the other side does not know a version that can say it"
    KAFKA_CONTROLLER = "the other side is a controller of an Apache Kafka cluster, and its voters are no place for us"


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestFailed:
    """The `Send` of that number will get no answer."""

    number: int
    failure: Failure


@dataclass(frozen=True, slots=True, kw_only=True)
class AppendRequested:
    """A client wants these records in the log.

    The batch is admitted already: checksum, size and form are right; the base offset and epoch in its header are not
    ours yet. The reply comes when it is committed, or with REQUEST_TIMED_OUT after `timeout_ms`.
    """

    request_id: int
    batch: Batch
    timeout_ms: int


@dataclass(frozen=True, slots=True, kw_only=True)
class AppendsRequested:
    """Several clients' appends that came together: they share one append to the log and one flush."""

    appends: tuple[AppendRequested, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class LogFlushed:
    """The `FlushLog` of that number is done: everything below `end_offset` was on disk when it was."""

    number: int
    end_offset: Offset


@dataclass(frozen=True, slots=True, kw_only=True)
class ResignRequested:
    """An operator wants another leader than the one of this epoch; for an epoch that is over, that is so already."""

    epoch: Epoch


@dataclass(frozen=True, slots=True, kw_only=True)
class ShutdownRequested:
    """The node is to leave: hand over leadership, for at most `timeout_ms`."""

    timeout_ms: int


Event = (
    Started
    | TimePassed
    | RequestReceived
    | RequestAbandoned
    | ResponseReceived
    | RequestFailed
    | AppendRequested
    | AppendsRequested
    | LogFlushed
    | ResignRequested
    | ShutdownRequested
)
