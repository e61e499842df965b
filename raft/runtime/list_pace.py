"""How often a node lists all transactions: a long list occupies the event loop for tens of milliseconds."""

from __future__ import annotations

ENTRIES_PER_S = 25_000
"""Most entries that are listed in a second, on average. They take about 5 % of the event loop's time."""


class ListPace:
    """Decides which lists are made now, and which are refused until an earlier one is paid for."""

    def __init__(self) -> None:
        self._next_ms = 0

    def allows(self, entries: int, now_ms: int) -> bool:
        """Return whether a list may be made now. A short list hardly delays the next one.

        Args:
            entries: how many entries it may have.
            now_ms: the time of a monotonic clock.
        """
        if now_ms < self._next_ms:
            return False
        self._next_ms = now_ms + entries * 1000 // ENTRIES_PER_S
        return True
