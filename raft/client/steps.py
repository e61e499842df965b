"""What a session asks of its driver, and what it gets back: the only traffic between decisions and the world."""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass
from typing import TypeAlias, TypeVar

from raft.codec import Message
from raft.types import Endpoint

Result = TypeVar("Result")


@dataclass(frozen=True, slots=True, kw_only=True)
class Ask:
    """Send one request to a node and wait for its answer.

    Fields:
        endpoint: the node. No other request to it may be in flight.
        request: the request.
        timeout_ms: how long the answer may take, from now on, the connection included.
        patience_ms: when the answer takes longer than that, the outcome is pending and the request stays in flight;
            None waits until the answer or the timeout.
    """

    endpoint: Endpoint
    request: Message
    timeout_ms: int
    patience_ms: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Await:
    """Wait on for the answer of a request in flight, until its timeout, but for `patience_ms` at most."""

    endpoint: Endpoint
    patience_ms: int


@dataclass(frozen=True, slots=True, kw_only=True)
class GiveUp:
    """Give up a request in flight: close its connection, so that its answer is never read."""

    endpoint: Endpoint


@dataclass(frozen=True, slots=True, kw_only=True)
class Pause:
    """Do nothing for a while."""

    duration_ms: int


Step = Ask | Await | GiveUp | Pause


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What became of a step.

    Fields:
        now_ms: the driver's clock after it.
        answer: the response; None after a pause or a failure, and while it is pending.
        failure: why there is no response, in words; None otherwise.
        is_pending: there is no answer yet, and the request is still in flight.
    """

    now_ms: int
    response: Message | None = None
    failure: str | None = None
    is_pending: bool = False


Operation: TypeAlias = Generator[Step, Outcome, Result]
"""A call of a session: it yields steps, is sent their outcomes, and returns its result."""
