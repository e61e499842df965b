"""The callback through which a handler responds to a request."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from raft.codec import Message
from raft.runtime.drop_cause import DropCause
from raft.runtime.response_budget import Permit


class Respond(Protocol):
    """Takes the response to one request, and knows the connection of the request."""

    def __call__(self, response: Message | None, permit: Permit | None = None) -> None:
        """Respond to the request, once.

        Args:
            response: the response to send; None for a request that expects none.
            permit: the permit for its bytes; released when the client has read them.
        """
        ...

    def when_gone(self, forget: Callable[[], None]) -> None:
        """Call `forget` if the caller disconnects before the response. It replaces the callback of an earlier call."""
        ...

    def charge(self, used_s: float) -> None:
        """Count processor time that another thread has used for the request, in seconds (SHARE-6)."""
        ...

    def mark_as_from_peer(self) -> None:
        """Mark the connection as that of a voter: a request in a voter's name was accepted on it."""
        ...

    def hang_up(self, reason: str, cause: DropCause) -> None:
        """Close the connection instead of sending a response, and log the reason."""
        ...

    def end(self, response: Message | None, reason: str, cause: DropCause) -> None:
        """Respond, then close the connection and log the reason.

        Args:
            response: the response to send; None to send none.
            reason: in words.
            cause: for the count of dropped connections.
        """
        ...

    def fail(self, error: Exception) -> None:
        """Close the connection, because the handler has raised an unexpected error, and log it with its traceback.

        Otherwise the client would wait for a response for ever.
        """
        ...
