"""How many bytes of responses to fetches of clients may be in a node's memory at once (`queued.max.request.bytes`)."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass


@dataclass(slots=True, eq=False)
class Permit:
    """The right to hold a response's bytes in memory, from before they are read until the other side has taken them."""

    size_bytes: int
    proceed: Callable[[], None] | None


class ResponseBudget:
    """Counts the bytes of the responses to fetches of clients.

    Args:
        limit_bytes: a read that would exceed it waits for its turn; one alone may always be larger.
    """

    def __init__(self, limit_bytes: int) -> None:
        self._limit_bytes = limit_bytes
        self._taken_bytes = 0
        self._waiting: deque[Permit] = deque()

    @property
    def is_awaited(self) -> bool:
        """Whether a read waits until other responses have been taken."""
        return bool(self._waiting)

    def ask(self, size_bytes: int, proceed: Callable[[], None]) -> Permit:
        """Call `proceed`, now or later, when so many bytes may be read; the permit is to be released in any case."""
        permit = Permit(size_bytes, proceed)
        self._waiting.append(permit)
        self._proceed_waiting()
        return permit

    def shrink(self, permit: Permit, size_bytes: int) -> None:
        """Less was read than was asked for."""
        if permit.proceed is None and size_bytes < permit.size_bytes:
            self._taken_bytes -= permit.size_bytes - size_bytes
            permit.size_bytes = size_bytes
            self._proceed_waiting()

    def release(self, permit: Permit) -> None:
        """The response has left, or its client is gone; a second call does nothing."""
        if permit.proceed is not None:
            permit.proceed = None
            self._waiting.remove(permit)
        else:
            self._taken_bytes -= permit.size_bytes
        permit.size_bytes = 0
        self._proceed_waiting()

    def _proceed_waiting(self) -> None:
        while self._waiting:
            permit = self._waiting[0]
            if self._taken_bytes and self._taken_bytes + permit.size_bytes > self._limit_bytes:
                return
            self._waiting.popleft()
            self._taken_bytes += permit.size_bytes
            proceed, permit.proceed = permit.proceed, None
            assert proceed is not None, "it waited"
            proceed()
