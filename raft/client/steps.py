"""The steps that a session tells its driver to do, and the outcomes that the driver reports."""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass
from typing import TypeAlias, TypeVar

from raft.codec import Message
from raft.types import Endpoint

Result = TypeVar("Result")


@dataclass(frozen=True, slots=True, kw_only=True)
class Ask:
    """Send a request to a node and wait for the response.

    Fields:
        endpoint: the node. No other request to it may be in flight.
        request: the request.
        timeout_ms: how long the response may take from now on, opening the connection included.
        patience_ms: after this time without a response the outcome is pending, and the request stays in flight; None
            waits until the response or the timeout.
        may_be_unsupported: whether the outcome is a failure if the node supports no version in which the request can be
            written. Otherwise the call ends with a `LocalProtocolError`.
    """

    endpoint: Endpoint
    request: Message
    timeout_ms: int
    patience_ms: int | None = None
    may_be_unsupported: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Await:
    """Wait for the response to the request in flight, until its timeout, but not longer than `patience_ms`."""

    endpoint: Endpoint
    patience_ms: int


@dataclass(frozen=True, slots=True, kw_only=True)
class GiveUp:
    """Give up the request in flight: close its connection, so that its response is never read."""

    endpoint: Endpoint


@dataclass(frozen=True, slots=True, kw_only=True)
class Pause:
    """Wait for a time, without a request."""

    duration_ms: int


Step = Ask | Await | GiveUp | Pause


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """The result of a step.

    Fields:
        now_ms: the driver's clock after the step.
        response: the response; None after a pause or a failure, and while it is pending.
        failure: why there is no response, in words; None otherwise.
        is_pending: whether the request is still in flight.
        is_connected: whether a connection to the node could be opened.
    """

    now_ms: int
    response: Message | None = None
    failure: str | None = None
    is_pending: bool = False
    is_connected: bool = True


Operation: TypeAlias = Generator[Step, Reply, Result]
"""A call of a session: it yields steps, is sent their outcomes, and returns its result."""
