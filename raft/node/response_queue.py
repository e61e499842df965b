"""The responses of one connection: sent in the order of the requests, and counted until the client has read them."""

from __future__ import annotations

from collections import deque

from raft.node.slot import Slot
from raft.runtime.response_budget import Permit, ResponseBudget

_SLOWEST_READER_BYTES_PER_S = 1 << 20


class ResponseQueue:
    """Puts the responses of one connection in the order of its requests.

    A response becomes *unsent* when it and all responses before it are there. After it is written to the socket it is
    *unread* until the client has read so much that the write buffer has room again.

    Args:
        budget: holds the permits of the responses.
    """

    def __init__(self, budget: ResponseBudget) -> None:
        self._budget = budget
        self._slots: deque[Slot] = deque()
        self._unsent: list[bytes] = []
        self._unread: list[Permit] = []
        self._unread_since_s = 0.0

    def __len__(self) -> int:
        """Return how many requests have no response that can be sent."""
        return len(self._slots)

    def append(self, slot: Slot) -> None:
        """Add the slot of the newest request."""
        self._slots.append(slot)

    def fill(self, slot: Slot) -> int | None:
        """Mark a slot as filled.

        Returns:
            How many bytes of the `RequestBudget` the requests took whose responses are unsent now; None if an earlier
            request has no response yet.
        """
        slot.is_filled = True
        slots = self._slots
        if slots[0] is not slot:
            return None
        freed_bytes = 0
        while slots and slots[0].is_filled:
            done = slots.popleft()
            self._unsent += done.pieces
            freed_bytes += done.size_bytes
            if done.permit is not None:
                self._unread.append(done.permit)
        return freed_bytes

    def take_unsent(self) -> list[bytes]:
        """Return the bytes to write to the socket, each only once."""
        unsent, self._unsent = self._unsent, []
        return unsent

    def note_unread_since(self, now_s: float) -> None:
        """Note since when the client has not read enough of the responses that were written.

        Args:
            now_s: the time of the write, in seconds of a monotonic clock.
        """
        self._unread_since_s = now_s

    def release_unread(self) -> None:
        """Release the permits of all responses that were sent: the client has read them."""
        unread, self._unread = self._unread, []
        for permit in unread:
            self._budget.release(permit)

    def is_slow(self, now_s: float) -> bool:
        """Return whether the client reads the responses that it was sent slower than a mebibyte a second.

        Args:
            now_s: the time, in seconds of a monotonic clock.
        """
        if not self._unread:
            return False
        unread_bytes = sum(permit.size_bytes for permit in self._unread)
        return now_s - self._unread_since_s > 1 + unread_bytes / _SLOWEST_READER_BYTES_PER_S

    def abandon(self) -> int:
        """Abandon all requests without a response: the connection is closed.

        Returns:
            How many bytes of the `RequestBudget` they took.
        """
        slots, self._slots = self._slots, deque()
        freed_bytes = 0
        for slot in slots:
            freed_bytes += slot.size_bytes
            if slot.permit is not None:
                self._unread.append(slot.permit)
            slot.abandon()
        self.release_unread()
        return freed_bytes
