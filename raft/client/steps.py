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
    """Put one request to a node and wait for its answer, for so long."""

    endpoint: Endpoint
    request: Message
    timeout_ms: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Pause:
    """Do nothing for a while."""

    duration_ms: int


Step = Ask | Pause


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What became of a step.

    Fields:
        now_ms: the driver's clock after it.
        answer: the response; None after a pause or a failure.
        failure: why there is no response, in words; None otherwise.
    """

    now_ms: int
    answer: Message | None = None
    failure: str | None = None


Operation: TypeAlias = Generator[Step, Outcome, Result]
"""A call of a session: it yields steps, is sent their outcomes, and returns its result."""
