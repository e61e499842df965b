"""The place of one request in a connection's queue of answers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from raft.codec import Message
from raft.runtime.response_budget import Permit
from raft.wire.headers import RequestHeader


class Connection(Protocol):
    """What a slot needs of the connection that its request came by."""

    is_peer: bool

    def answer(self, slot: Slot, response: Message | None) -> None:
        """Take the answer to the slot's request."""
        ...

    def drop(self, reason: str | None = None) -> None:
        """Close at once."""
        ...


class Slot:
    """The place of one request in the queue of answers.

    It refers to nothing that refers to it once it is answered or given up, so that a request's memory is free then and
    not only at the next collection of cyclic garbage.

    Args:
        connection: that the request came by.
        size_bytes: what the request takes of the budget of requests.

    Attributes:
        header: of the request; None while it is not read.
        pieces: of the answer; nothing where none is wanted.
        permit: of the answer's bytes; None where none is needed.
        is_filled: whether there is an answer.
    """

    __slots__ = ("_connection", "_forget", "header", "is_filled", "permit", "pieces", "size_bytes")

    def __init__(self, connection: Connection, size_bytes: int) -> None:
        self._connection: Connection | None = connection
        self._forget: Callable[[], None] | None = None
        self.size_bytes = size_bytes
        self.header: RequestHeader | None = None
        self.pieces: list[bytes] = []
        self.permit: Permit | None = None
        self.is_filled = False

    def __call__(self, response: Message | None, permit: Permit | None = None) -> None:
        """See `Respond`."""
        connection, self._connection, self._forget = self._connection, None, None
        self.permit = permit
        if connection is not None:
            connection.answer(self, response)

    def when_gone(self, forget: Callable[[], None]) -> None:
        """See `Respond.when_gone`."""
        if self._connection is not None:
            self._forget = forget

    def hang_up(self, reason: str) -> None:
        """See `Respond.hang_up`."""
        if self._connection is not None:
            self._connection.drop(reason)

    def is_from_peer(self) -> None:
        """See `Respond.is_from_peer`."""
        if self._connection is not None:
            self._connection.is_peer = True

    def abandon(self) -> None:
        """The caller is gone."""
        forget, self._connection, self._forget = self._forget, None, None
        if forget is not None:
            forget()
