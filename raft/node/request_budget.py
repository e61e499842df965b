"""How many bytes of appends may wait in a node at once (`queued.max.request.bytes`)."""

from __future__ import annotations

from collections.abc import Callable


class RequestBudget:
    """Counts the bytes of appends that have been begun and have no answer yet.

    Args:
        limit_bytes: above this connections with more of them wait, and go on at half of it.
    """

    def __init__(self, limit_bytes: int) -> None:
        self._limit_bytes = limit_bytes
        self._taken_bytes = 0
        self._waiting: list[Callable[[], None]] = []

    @property
    def is_exhausted(self) -> bool:
        """Whether nothing more should be begun for now."""
        return bool(self._waiting) or self._taken_bytes > self._limit_bytes

    def take(self, size_bytes: int) -> None:
        """An append is begun."""
        self._taken_bytes += size_bytes

    def give_back(self, size_bytes: int) -> None:
        """An append was answered, or its connection is gone."""
        self._taken_bytes -= size_bytes
        if self._taken_bytes <= self._limit_bytes // 2:
            waiting, self._waiting = self._waiting, []
            for resume in waiting:
                resume()

    def when_free(self, resume: Callable[[], None]) -> None:
        """Call back once there is room again."""
        self._waiting.append(resume)
