"""How many bytes of requests may wait in a node at once (`queued.max.request.bytes`)."""

from __future__ import annotations

from collections.abc import Callable


class RequestBudget:
    """Counts the bytes of appends that have no answer yet, and of large frames from when they begin to come in.

    Args:
        limit_bytes: above this connections with more of them wait, and go on at half of it.
    """

    def __init__(self, limit_bytes: int) -> None:
        self._limit_bytes = limit_bytes
        self._taken_bytes = 0
        self._waiting: list[Callable[[], None]] = []

    @property
    def is_exhausted(self) -> bool:
        """Whether nothing more should be read for now."""
        return bool(self._waiting) or self._taken_bytes > self._limit_bytes

    def take(self, size_bytes: int) -> None:
        """A request came in, or a large one begins to."""
        self._taken_bytes += size_bytes

    def give_back(self, size_bytes: int) -> None:
        """A request was answered, or its connection is gone."""
        self._taken_bytes -= size_bytes
        if self._taken_bytes <= self._limit_bytes // 2:
            waiting, self._waiting = self._waiting, []
            for resume in waiting:
                resume()

    def when_free(self, resume: Callable[[], None]) -> None:
        """Call back once there is room again."""
        self._waiting.append(resume)
