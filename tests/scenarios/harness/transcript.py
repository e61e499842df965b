"""What a block prints: happenings under the time at which they happen, and the answers to questions."""

from __future__ import annotations

from enum import IntEnum


class Detail(IntEnum):
    """How much is told. Each level tells what the ones before it tell, and more."""

    NOTHING = 0
    ROLES = 1
    ELECTIONS = 2
    EVERYTHING = 3


class Transcript:
    """The lines of the block that runs now."""

    def __init__(self) -> None:
        self.detail = Detail.ELECTIONS
        self._lines: list[str] = []
        self._last_ms: int | None = None

    def tell(self, now_ms: int, detail: Detail, text: str) -> None:
        """Something happened; it is told if this much detail is wanted."""
        if detail > self.detail:
            return
        if now_ms != self._last_ms:
            self._lines.append(f"at {now_ms} ms")
            self._last_ms = now_ms
        self._lines.append(f"  {text}")

    def stamp(self, now_ms: int) -> None:
        """Print the time, whatever the detail."""
        self._lines.append(f"now {now_ms} ms")
        self._last_ms = now_ms

    def answer(self, text: str) -> None:
        """Print the answer to a question, whatever the detail."""
        self._lines.append(text)

    def take_block(self) -> list[str]:
        """The lines of the block that ends here; `ok` if nothing was to be told."""
        lines, self._lines, self._last_ms = self._lines, [], None
        return lines or ["ok"]
