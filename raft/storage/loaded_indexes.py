"""Bounds the memory for the indexes of full segments: only those that were used last stay in memory."""

from __future__ import annotations

from collections import OrderedDict
from typing import Protocol

MOST_LOADED = 4
"""Segments whose indexes stay in memory: at most about 5 MiB each, for a segment of 1 GiB."""


class Releasable(Protocol):
    """Indexes that can be read from their files again."""

    def release(self) -> None:
        """Free their memory."""
        ...


class LoadedIndexes:
    """The indexes of full segments that are in memory, in the order of their last use.

    Args:
        most: how many there are at most.
    """

    def __init__(self, most: int = MOST_LOADED) -> None:
        self._most = most
        self._in_order: OrderedDict[int, Releasable] = OrderedDict()

    def used(self, indexes: Releasable) -> None:
        """Keep these indexes, and release those that were not used for the longest time if there are too many."""
        self._in_order[id(indexes)] = indexes
        self._in_order.move_to_end(id(indexes))
        while len(self._in_order) > self._most:
            _, oldest = self._in_order.popitem(last=False)
            oldest.release()

    def forget(self, indexes: Releasable) -> None:
        """Leave the memory of these indexes to their segment, which is removed or grows again."""
        self._in_order.pop(id(indexes), None)
