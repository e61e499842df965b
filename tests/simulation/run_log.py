"""The log of a run: what happened, when, and to which part of the world."""

from __future__ import annotations

from collections import deque
from typing import NamedTuple

from tests.simulation.timeline import Timeline


class _Line(NamedTuple):
    time_ms: int
    subject: str
    text: str
    details: tuple[object, ...]

    def __str__(self) -> str:
        return f"{self.time_ms:>7} ms  {self.subject:<10} {self.text % self.details}"


class RunLog:
    """The last lines of a run. They are formatted only when they are read, because most runs are not.

    Args:
        timeline: the time of the lines.
        max_log_lines: how many lines are kept.
    """

    def __init__(self, timeline: Timeline, max_log_lines: int) -> None:
        self._timeline = timeline
        self._lines: deque[_Line] = deque(maxlen=max_log_lines)

    def add(self, subject: str, text: str, *details: object) -> None:
        """Add a line.

        Args:
            subject: the part of the world, such as "node 1".
            text: what happens to it, with "%s" for each detail.
            details: formatted when the line is read, so they must not change.
        """
        self._lines.append(_Line(self._timeline.now_ms, subject, text, details))

    def lines(self) -> list[str]:
        """Return the formatted lines."""
        return [str(line) for line in self._lines]
