"""How many bytes of appends without a response may be in a node's memory (`queued.max.request.bytes`)."""

from __future__ import annotations

from collections.abc import Callable


class RequestBudget:
    """Counts the bytes of the Produce requests that have begun and have no response.

    Args:
        limit_bytes: above this no Produce request begins, until half of it is free.
    """

    def __init__(self, limit_bytes: int) -> None:
        self._limit_bytes = limit_bytes
        self._taken_bytes = 0
        self._waiting: list[Callable[[], None]] = []

    @property
    def limit_bytes(self) -> int:
        """The limit."""
        return self._limit_bytes

    @property
    def taken_bytes(self) -> int:
        """How many bytes are counted now."""
        return self._taken_bytes

    @property
    def is_exhausted(self) -> bool:
        """Whether no Produce request may begin. It is so while a connection waits, so that none overtakes it."""
        return bool(self._waiting) or self._taken_bytes > self._limit_bytes

    def take(self, size_bytes: int) -> None:
        """Count a Produce request that begins."""
        self._taken_bytes += size_bytes

    def release(self, size_bytes: int) -> None:
        """Stop counting a Produce request: its response is ready, or its connection is closed."""
        self._taken_bytes -= size_bytes
        if self._taken_bytes <= self._limit_bytes // 2:
            waiting, self._waiting = self._waiting, []
            for resume in waiting:
                resume()

    def when_free(self, resume: Callable[[], None]) -> None:
        """Call `resume`, once, when half of the budget is free."""
        self._waiting.append(resume)
