"""The events: everything that can happen to a node."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from raft.core.messages import ClientFetchRequest, IncomingRequest, IncomingResponse
from raft.types import Batch, Epoch, Offset


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
    """The sender of a request has disconnected. A parked fetch is dropped; an append in the log stays there."""

    request_id: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ResponseReceived:
    """The response to the `SendRequest` of that number. One that is not expected any more is dropped (GEN-7)."""

    number: int
    response: IncomingResponse


class Failure(Enum):
    """Why a request has no response."""

    DISCONNECTED = "the connection failed"
    CONNECTION_REFUSED = "no process listens at the node's address"
    UNSUPPORTED_VERSION = "the other side supports no version in which the request can be written"
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
    """

    request_id: int
    batch: Batch
    timeout_ms: int


@dataclass(frozen=True, slots=True, kw_only=True)
class AppendsRequested:
    """Several clients' appends that came together. They share one write and one flush of the log."""

    appends: tuple[AppendRequested, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class LogFlushed:
    """The `FlushLog` of that number is done: everything below `end_offset` is on disk."""

    number: int
    end_offset: Offset


@dataclass(frozen=True, slots=True, kw_only=True)
class ResignRequested:
    """An operator asks the leader of this epoch to resign. For an earlier epoch there is nothing to do any more."""

    epoch: Epoch


@dataclass(frozen=True, slots=True, kw_only=True)
class ShutdownRequested:
    """The node is to shut down: it hands over leadership before, within `timeout_ms` at most."""

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
