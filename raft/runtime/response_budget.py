"""How many bytes of fetch responses to clients and observers may be in a node's memory (`queued.max.request.bytes`)."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass


@dataclass(slots=True, eq=False)
class Permit:
    """The right to hold the bytes of a response, from before the read until the client has read the response."""

    size_bytes: int
    proceed: Callable[[], None] | None


class ResponseBudget:
    """Counts the bytes of the fetch responses to clients and observers.

    Args:
        limit_bytes: a read that would exceed it waits. A single read may be larger than the limit.
    """

    def __init__(self, limit_bytes: int) -> None:
        self._limit_bytes = limit_bytes
        self._taken_bytes = 0
        self._waiting: deque[Permit] = deque()

    @property
    def limit_bytes(self) -> int:
        """The limit."""
        return self._limit_bytes

    @property
    def taken_bytes(self) -> int:
        """How many bytes responses hold now."""
        return self._taken_bytes

    @property
    def is_awaited(self) -> bool:
        """Whether a read waits until other responses are released."""
        return bool(self._waiting)

    def ask(self, size_bytes: int, proceed: Callable[[], None]) -> Permit:
        """Call `proceed`, now or later, when so many bytes may be read.

        Args:
            size_bytes: how many bytes the response may have.
            proceed: orders the read.

        Returns:
            The permit. The caller releases it in any case, even if the read does not proceed.
        """
        permit = Permit(size_bytes, proceed)
        self._waiting.append(permit)
        self._proceed_waiting()
        return permit

    def take(self, size_bytes: int) -> Permit | None:
        """Return a permit if so many bytes may be read now; None if the read would have to wait.

        Args:
            size_bytes: how many bytes the response may have.
        """
        if self._waiting or not self._has_room(size_bytes):
            return None
        self._taken_bytes += size_bytes
        return Permit(size_bytes, None)

    def shrink(self, permit: Permit, size_bytes: int) -> None:
        """Note that fewer bytes were read than the permit allows."""
        if permit.proceed is None and size_bytes < permit.size_bytes:
            self._taken_bytes -= permit.size_bytes - size_bytes
            permit.size_bytes = size_bytes
            self._proceed_waiting()

    def release(self, permit: Permit) -> None:
        """Release the bytes: the client has read the response, or has disconnected. A second call does nothing."""
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
            if not self._has_room(permit.size_bytes):
                return
            self._waiting.popleft()
            self._taken_bytes += permit.size_bytes
            proceed, permit.proceed = permit.proceed, None
            assert proceed is not None, "a permit that waits can proceed"
            proceed()

    def _has_room(self, size_bytes: int) -> bool:
        return not self._taken_bytes or self._taken_bytes + size_bytes <= self._limit_bytes
