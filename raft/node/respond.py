"""The answer that a request waits for."""

from __future__ import annotations

from collections.abc import Callable

from raft.codec import Message


class Respond:
    """Takes the answer to one request, once; None for a request that wants none.

    Args:
        answered: what becomes of the answer.
        origin: where the request came from: requests of one origin are begun in their order.
    """

    __slots__ = ("_answered", "_forget", "origin")

    def __init__(self, answered: Callable[[Message | None], None], *, origin: object = None) -> None:
        self._answered = answered
        self.origin = origin
        self._forget: Callable[[], None] | None = None

    def __call__(self, response: Message | None) -> None:
        """Give the answer."""
        self._forget = None
        self._answered(response)

    def when_gone(self, forget: Callable[[], None]) -> None:
        """Call this, instead of what was said before, if whoever asked goes away before there is an answer."""
        self._forget = forget

    def abandon(self) -> None:
        """Whoever asked is gone."""
        if self._forget is not None:
            self._forget()
            self._forget = None
