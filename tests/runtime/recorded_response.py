"""What a node does with one request: its response, and what becomes of the connection."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from raft.codec import Message
from raft.runtime.caller import Caller
from raft.runtime.drop_cause import DropCause
from raft.runtime.response_budget import Permit


@dataclass(eq=False)
class RecordedResponse:
    """One request, as its handler sees it.

    Fields:
        caller, message, version, client_id: see `Request`.
        sent: the responses; None where the client expects none.
        closed: why the node closed the connection, if it did: in words, and for its count.
        is_from_peer: whether the connection is one of a voter from now on.
    """

    caller: Caller
    message: Message
    version: int
    client_id: str | None = None
    sent: list[Message | None] = field(default_factory=list)
    closed: tuple[str, DropCause] | None = None
    is_from_peer: bool = False
    _forget: Callable[[], None] | None = None

    def respond(self, response: Message | None, permit: Permit | None = None) -> None:
        """See `Request.respond`."""
        assert self.closed is None, "nothing is sent on a closed connection"
        self.sent.append(response)
        self.message = Message()  # A node forgets it, too.

    def when_gone(self, forget: Callable[[], None]) -> None:
        """See `Request.when_gone`."""
        self._forget = forget

    def disconnect(self) -> None:
        """End the connection before the response."""
        assert self._forget is not None, "the request waits"
        self._forget()

    def charge(self, used_s: float) -> None:
        """See `Request.charge`."""

    def mark_as_from_peer(self) -> None:
        """See `Request.mark_as_from_peer`."""
        self.is_from_peer = True

    def hang_up(self, reason: str, cause: DropCause) -> None:
        """See `Request.hang_up`."""
        self.closed = (reason, cause)

    def end(self, response: Message | None, reason: str, cause: DropCause) -> None:
        """See `Request.end`."""
        if response is not None:
            self.respond(response)
        self.closed = (reason, cause)

    def fail(self, error: Exception) -> None:
        """See `Request.fail`."""
        raise error

    @property
    def is_untouched(self) -> bool:
        """Whether there is neither a response nor an end of the connection."""
        return not self.sent and self.closed is None
