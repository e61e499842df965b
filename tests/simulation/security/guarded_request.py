"""A request that a secured node has received, and what it has to do with it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from raft.codec import Message
from tests.simulation.security.expected import Expected

if TYPE_CHECKING:
    from tests.simulation.accepted import AcceptedConnection


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class GuardedRequest:
    """One request.

    Fields:
        connection: on which it was received.
        message: the request.
        version: its version.
        expected: what the node has to do with it.
    """

    connection: AcceptedConnection
    message: Message
    version: int
    expected: Expected

    def __str__(self) -> str:
        session = self.connection.expected
        user = None if session is None else session.user
        return f"{type(self.message).__name__} of {self.connection.caller} as {user}"
