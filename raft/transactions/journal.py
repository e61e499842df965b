"""Dictionaries whose changes can be undone, as long as the batch that caused them may be truncated."""

from __future__ import annotations

from collections import deque
from collections.abc import Hashable, MutableMapping
from dataclasses import dataclass
from typing import Any, TypeVar

from raft.types import Offset

Key = TypeVar("Key", bound=Hashable)
Value = TypeVar("Value")


@dataclass(frozen=True, slots=True)
class _Change:
    """A change by the batch at `base_offset`: what the key had before, None for nothing."""

    base_offset: Offset
    table: MutableMapping[Any, Any]
    key: Any
    before: Any


class Journal:
    """The changes by batches that are not committed yet, in order."""

    __slots__ = ("_changes", "_committed", "_offset")

    def __init__(self) -> None:
        self._changes: deque[_Change] = deque()
        self._committed = Offset(0)
        self._offset = Offset(0)

    def begin(self, base_offset: Offset) -> None:
        """Count the next changes as those of the batch at this offset."""
        self._offset = base_offset

    def put(self, table: MutableMapping[Key, Value], key: Key, value: Value) -> None:
        """Set a key; a key that exists keeps its place in the order."""
        self._note(table, key, table.get(key))
        table[key] = value

    def take(self, table: MutableMapping[Key, Value], key: Key) -> Value | None:
        """Remove a key and return its value; None if it does not exist."""
        value = table.pop(key, None)
        if value is not None:
            self._note(table, key, value)
        return value

    def undo(self, end_offset: Offset) -> bool:
        """Undo the changes by all batches from `end_offset` on; return whether there were any.

        The values are as before. Keys that were removed are at the end of the order.
        """
        has_changed = False
        while self._changes and self._changes[-1].base_offset >= end_offset:
            change = self._changes.pop()
            has_changed = True
            if change.before is None:
                del change.table[change.key]
            else:
                change.table[change.key] = change.before
        return has_changed

    def committed(self, high_watermark: Offset) -> None:
        """Forget the changes by batches below the high watermark: they are never truncated."""
        self._committed = max(self._committed, high_watermark)
        while self._changes and self._changes[0].base_offset < high_watermark:
            self._changes.popleft()

    def is_committed(self, base_offset: Offset) -> bool:
        """Whether the batch at this offset is known to be committed."""
        return base_offset < self._committed

    def forget_everything(self) -> None:
        """Forget all changes and what is committed."""
        self._changes.clear()
        self._committed = Offset(0)

    def _note(self, table: MutableMapping[Any, Any], key: Any, before: Any) -> None:
        # A start counts a whole log, and needs to undo its tail only.
        if not self.is_committed(self._offset):
            self._changes.append(_Change(self._offset, table, key, before))
