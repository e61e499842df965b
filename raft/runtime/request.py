"""A request that a node has received, and the way back to its caller."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol, TypeVar

from raft.codec import Message
from raft.runtime.caller import Caller
from raft.runtime.drop_cause import DropCause
from raft.runtime.response_budget import Permit

Received = TypeVar("Received", bound=Message, covariant=True)


class Request(Protocol[Received]):
    """One request. Its handler calls `respond` once, now or later, or closes the connection."""

    @property
    def caller(self) -> Caller:
        """Who has sent it."""
        ...

    @property
    def message(self) -> Received:
        """What was received; not to be used after the response, which frees its memory."""
        ...

    @property
    def version(self) -> int:
        """The version of the message."""
        ...

    @property
    def client_id(self) -> str | None:
        """The client id in its header."""
        ...

    def respond(self, response: Message | None, permit: Permit | None = None) -> None:
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
