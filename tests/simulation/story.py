"""The story of a run: what happened when and to whom, for a reader."""

from __future__ import annotations

from collections import deque
from typing import NamedTuple

from tests.simulation.timeline import Timeline


class _Line(NamedTuple):
    time_ms: int
    who: str
    text: str
    details: tuple[object, ...]

    def __str__(self) -> str:
        return f"{self.time_ms:>7} ms  {self.who:<10} {self.text % self.details}"


class Story:
    """The last lines of a run. Putting them into words is left until somebody reads them: nearly nobody does.

    Args:
        timeline: tells the time.
        remembered_lines: how many of the last are kept.
    """

    def __init__(self, timeline: Timeline, remembered_lines: int) -> None:
        self._timeline = timeline
        self._lines: deque[_Line] = deque(maxlen=remembered_lines)

    def tell(self, who: str, text: str, *details: object) -> None:
        """Add a line.

        Args:
            who: it happens to.
            text: what happens, with "%s" for each detail.
            details: put in when the line is read, so they must not change.
        """
        self._lines.append(_Line(self._timeline.now_ms, who, text, details))

    def lines(self) -> list[str]:
        """Return the lines in words."""
        return [str(line) for line in self._lines]
