"""How many bytes may wait in a node at once: of requests (`queued.max.request.bytes`), and as many of answers."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass


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


@dataclass(slots=True, eq=False)
class Permit:
    """Leave to hold an answer's bytes in memory, from before they are read until the other side has taken them."""

    size_bytes: int
    proceed: Callable[[], None] | None


class AnswerBudget:
    """Counts the bytes of the answers to clients' fetches.

    Args:
        limit_bytes: a read that would exceed it waits for its turn; one alone may always be larger.
    """

    def __init__(self, limit_bytes: int) -> None:
        self._limit_bytes = limit_bytes
        self._taken_bytes = 0
        self._waiting: deque[Permit] = deque()

    @property
    def is_awaited(self) -> bool:
        """Whether a read waits for others' answers to be taken."""
        return bool(self._waiting)

    def ask(self, size_bytes: int, proceed: Callable[[], None]) -> Permit:
        """Call `proceed`, now or later, when so many bytes may be read; the permit is to be released in any case."""
        permit = Permit(size_bytes, proceed)
        self._waiting.append(permit)
        self._let_go_on()
        return permit

    def shrink(self, permit: Permit, size_bytes: int) -> None:
        """Less was read than was asked for."""
        if permit.proceed is None and size_bytes < permit.size_bytes:
            self._taken_bytes -= permit.size_bytes - size_bytes
            permit.size_bytes = size_bytes
            self._let_go_on()

    def release(self, permit: Permit) -> None:
        """The answer has left, or its client is gone; a second call does nothing."""
        if permit.proceed is not None:
            permit.proceed = None
            self._waiting.remove(permit)
        else:
            self._taken_bytes -= permit.size_bytes
        permit.size_bytes = 0
        self._let_go_on()

    def _let_go_on(self) -> None:
        while self._waiting:
            permit = self._waiting[0]
            if self._taken_bytes and self._taken_bytes + permit.size_bytes > self._limit_bytes:
                return
            self._waiting.popleft()
            self._taken_bytes += permit.size_bytes
            proceed, permit.proceed = permit.proceed, None
            assert proceed is not None, "it waited"
            proceed()
