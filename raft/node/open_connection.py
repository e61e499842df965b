"""An open connection, and the register of all of them, as they know each other."""

from __future__ import annotations

from typing import Protocol

from raft.runtime.caller import Caller
from raft.runtime.drop_cause import DropCause


class OpenConnection(Protocol):
    """A connection as its register knows it; see `raft.node.inbound.InboundConnection`."""

    is_established: bool
    drop_cause: DropCause
    last_progress_s: float

    @property
    def caller(self) -> Caller:
        """The other side."""
        ...

    @property
    def is_peer(self) -> bool:
        """Whether the node has accepted a request in the name of a voter from it."""
        ...

    @property
    def is_busy(self) -> bool:
        """Whether a request is without a response."""
        ...

    @property
    def is_closing(self) -> bool:
        """Whether the connection is closed or being closed."""
        ...

    def drop_if_idle(self, max_idle_s: float) -> None:
        """Drop the connection if it is not used, does not complete a frame, or does not read its responses."""
        ...

    def drop_if_slow(self) -> None:
        """Drop the connection if it reads its responses too slowly."""
        ...

    def close(self) -> None:
        """Send the responses that can be sent, then close the connection."""
        ...

    def drop(self, reason: str | None = None, cause: DropCause = ...) -> None:
        """Close the connection at once."""
        ...


class Registry(Protocol):
    """The open connections of a node."""

    def opened(self, connection: OpenConnection) -> None:
        """Add a connection. At a limit this connection, or another one in its favour, is dropped."""
        ...

    def established(self, connection: OpenConnection) -> None:
        """Count a connection that has sent a request and proved its name if it has to. See `opened` for the limit."""

    def closed(self, connection: OpenConnection, reason: str | None) -> None:
        """Remove a connection.

        Args:
            connection: the connection that is closed.
            reason: why the node dropped it; None if the node did not.
        """
        ...
