"""One request in the response queue of its connection."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from raft.codec import Message
from raft.runtime.caller import Caller
from raft.runtime.drop_cause import DropCause
from raft.runtime.response_budget import Permit
from raft.wire.frames import ReceivedRequest, response_pieces
from raft.wire.headers import RequestHeader

_NOTHING = Message()


class RespondingConnection(Protocol):
    """The connection of a request, as far as a slot needs it."""

    @property
    def caller(self) -> Caller:
        """The other side."""
        ...

    def mark_as_peer(self) -> None:
        """Note that the node has accepted a request in the name of a voter from it."""
        ...

    def respond(self, slot: Slot, response: Message | None) -> None:
        """Take the response to the slot's request."""
        ...

    def charge(self, used_s: float) -> None:
        """Count processor time that another thread has used for a request."""
        ...

    def drop(self, reason: str | None = None, cause: DropCause = ...) -> None:
        """Close the connection at once."""
        ...

    def close(self, reason: str | None = None, cause: DropCause = ...) -> None:
        """Close the connection after the responses that can be sent."""
        ...

    def fail(self, error: Exception) -> None:
        """Close the connection after an unexpected error."""
        ...


class Slot:
    """The slot of one request in the response queue; it is the `Request` for its handler.

    After the response, and after `abandon`, a slot refers to nothing that refers to it, and after the response not to
    the message either. So the memory of a request is freed at once, and does not wait for the collector of cyclic
    garbage.

    Args:
        connection: the connection of the request.
        size_bytes: how many bytes of the `RequestBudget` the request takes.

    Attributes:
        caller, message, version: see `Request`.
        header: of the request; None until it is decoded.
        pieces: the encoded response; empty where the client expects none.
        permit: for the bytes of the response; None where none is needed.
        is_filled: whether the request has its response.
    """

    __slots__ = (
        "_connection",
        "_forget",
        "caller",
        "header",
        "is_filled",
        "message",
        "permit",
        "pieces",
        "size_bytes",
        "version",
    )

    def __init__(self, connection: RespondingConnection, size_bytes: int) -> None:
        self._connection: RespondingConnection | None = connection
        self._forget: Callable[[], None] | None = None
        self.caller = connection.caller
        self.message = _NOTHING
        self.version = 0
        self.size_bytes = size_bytes
        self.header: RequestHeader | None = None
        self.pieces: list[bytes] = []
        self.permit: Permit | None = None
        self.is_filled = False

    def decoded(self, received: ReceivedRequest) -> None:
        """Take the request as it was decoded."""
        self.header, self.message = received.header, received.message
        self.version = received.header.request_api_version

    @property
    def client_id(self) -> str | None:
        """See `Request.client_id`."""
        return None if self.header is None else self.header.client_id

    def encoded(self, response: Message) -> list[bytes]:
        """Return a response in pieces, in the version of the request.

        Raises:
            LocalProtocolError: this version cannot express it.
        """
        assert self.header is not None, "the request is decoded"
        return response_pieces(response, self.version, correlation_id=self.header.correlation_id)

    def respond(self, response: Message | None, permit: Permit | None = None) -> None:
        """See `Request.respond`."""
        connection, self._connection, self._forget, self.message = self._connection, None, None, _NOTHING
        self.permit = permit
        if connection is not None:
            connection.respond(self, response)

    def when_gone(self, forget: Callable[[], None]) -> None:
        """See `Request.when_gone`."""
        if self._connection is not None:
            self._forget = forget

    def hang_up(self, reason: str, cause: DropCause) -> None:
        """See `Request.hang_up`."""
        if self._connection is not None:
            self._connection.drop(reason, cause)

    def end(self, response: Message | None, reason: str, cause: DropCause) -> None:
        """See `Request.end`."""
        connection = self._connection
        if connection is None:
            return
        if response is None:
            connection.drop(reason, cause)
        else:
            self.respond(response)
            connection.close(reason, cause)

    def fail(self, error: Exception) -> None:
        """See `Request.fail`."""
        if self._connection is not None:
            self._connection.fail(error)

    def charge(self, used_s: float) -> None:
        """See `Request.charge`."""
        if self._connection is not None:
            self._connection.charge(used_s)

    def mark_as_from_peer(self) -> None:
        """See `Request.mark_as_from_peer`."""
        if self._connection is not None:
            self._connection.mark_as_peer()

    def abandon(self) -> None:
        """Forget the request: its connection is closed."""
        forget, self._connection, self._forget = self._forget, None, None
        if forget is not None:
            forget()
