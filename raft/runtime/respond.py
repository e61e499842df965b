"""How a request gets its response."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from raft.codec import Message
from raft.runtime.response_budget import Permit


class Respond(Protocol):
    """Takes the response to one request."""

    def __call__(self, response: Message | None, permit: Permit | None = None) -> None:
        """Give the response, once; None for a request that wants none.

        Args:
            response: to send.
            permit: of its bytes; released when the other side has taken them.
        """
        ...

    def when_gone(self, forget: Callable[[], None]) -> None:
        """Call this, instead of what was given before, if the caller goes away before there is a response."""
        ...

    def is_from_peer(self) -> None:
        """Note that the request is one in a voter's name, and was taken."""
        ...

    def hang_up(self, reason: str) -> None:
        """Close the connection instead of giving a response."""
        ...
