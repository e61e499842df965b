"""The answer that a request waits for."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from raft.codec import Message
from raft.node.budget import Permit


class Respond(Protocol):
    """Takes the answer to one request."""

    @property
    def origin(self) -> object:
        """The connection that the request came by; None once it is answered."""
        ...

    def __call__(self, response: Message | None, permit: Permit | None = None) -> None:
        """Give the answer, once; None for a request that wants none.

        Args:
            response: the answer.
            permit: of its bytes; released when the other side has taken them.
        """
        ...

    def when_gone(self, forget: Callable[[], None]) -> None:
        """Call this, instead of what was said before, if the caller goes away before there is an answer."""
        ...

    def is_from_peer(self) -> None:
        """Note that the request is one in a voter's name, and was taken."""
        ...

    def hang_up(self, reason: str) -> None:
        """Close the connection instead of giving an answer."""
        ...
