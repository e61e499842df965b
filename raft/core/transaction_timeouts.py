"""When a leader aborts the open transactions: by its own clock, from their first batch or from its election on."""

from __future__ import annotations

from heapq import heapify, heappop, heappush

_MOST_ENDED = 1_000


class TransactionTimeouts:
    """The deadlines of the open transactions, by producer id.

    Every event checks whether one has passed, and tens of thousands may pass together. So they are kept in order. A
    transaction that ended is removed from that order later: when its deadline is the earliest, or with all others.
    """

    __slots__ = ("_entries", "_in_order", "_next_number")

    def __init__(self) -> None:
        # Of each transaction: its deadline, its number, by which the order of their begins is known, and its producer.
        self._entries: dict[int, tuple[int, int, int]] = {}
        # A heap of these entries, some of which have ended.
        self._in_order: list[tuple[int, int, int]] = []
        self._next_number = 0

    def start(self, producer_id: int, deadline_ms: int) -> None:
        """Set the deadline of a transaction that began; one that has a deadline keeps it."""
        if producer_id in self._entries:
            return
        entry = (deadline_ms, self._next_number, producer_id)
        self._next_number += 1
        self._entries[producer_id] = entry
        heappush(self._in_order, entry)
        if len(self._in_order) > 2 * len(self._entries) + _MOST_ENDED:
            self._in_order = list(self._entries.values())
            heapify(self._in_order)

    def stop(self, producer_id: int) -> None:
        """Remove the deadline of a transaction that ended."""
        self._entries.pop(producer_id, None)

    def overdue(self, now_ms: int, *, at_most: int) -> list[int]:
        """Return the producer ids of transactions whose deadline has passed, in the order in which they began.

        If there are more than `at_most`, they are those with the earliest deadlines.
        """
        found: list[tuple[int, int, int]] = []
        while len(found) < at_most:
            earliest_ms = self.earliest_deadline_ms
            if earliest_ms is None or earliest_ms > now_ms:
                break
            found.append(heappop(self._in_order))
        for entry in found:
            heappush(self._in_order, entry)
        return [producer_id for _, _, producer_id in sorted(found, key=_number_of)]

    @property
    def earliest_deadline_ms(self) -> int | None:
        """The earliest deadline; None while no transaction is open."""
        in_order = self._in_order
        while in_order:
            entry = in_order[0]
            if self._entries.get(entry[2]) == entry:
                return entry[0]
            heappop(in_order)
        return None


def _number_of(entry: tuple[int, int, int]) -> int:
    return entry[1]
