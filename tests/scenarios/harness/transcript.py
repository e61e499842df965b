"""The output of a block: events under their times, and the results of queries."""

from __future__ import annotations

from enum import IntEnum


class Detail(IntEnum):
    """The level of detail of the output. Each level includes the ones before it."""

    NOTHING = 0
    ROLES = 1
    ELECTIONS = 2
    EVERYTHING = 3


class Transcript:
    """The output of the current block."""

    def __init__(self) -> None:
        self.detail = Detail.ELECTIONS
        self._lines: list[str] = []
        self._last_ms: int | None = None

    def add(self, now_ms: int, detail: Detail, text: str) -> None:
        """Add an event, if the output has this level of detail."""
        if detail > self.detail:
            return
        if now_ms != self._last_ms:
            self._lines.append(f"at {now_ms} ms")
            self._last_ms = now_ms
        self._lines.append(f"  {text}")

    def add_time(self, now_ms: int) -> None:
        """Add the time, at any level of detail."""
        self._lines.append(f"now {now_ms} ms")
        self._last_ms = now_ms

    def add_result(self, text: str) -> None:
        """Add a result of a query, at any level of detail."""
        self._lines.append(text)

    def take_block(self) -> list[str]:
        """Return the lines of the block and begin the next one; `ok` if there are none."""
        lines, self._lines, self._last_ms = self._lines, [], None
        return lines or ["ok"]
