"""One direction of a connection: what is sent first arrives first."""

from __future__ import annotations

from collections import deque

from tests.simulation.timeline import Action, Timeline


class Stream:
    """Delivers messages in the order in which they were sent, as TCP does. A late one delays those behind it."""

    def __init__(self) -> None:
        self._underway: deque[Action] = deque()
        self._arrives_ms = 0

    def send(self, deliver: Action, delay_ms: int, timeline: Timeline) -> None:
        """Deliver a message after a delay, but not before those that were sent earlier.

        Args:
            deliver: called when the message arrives.
            delay_ms: the delay of this message alone.
            timeline: virtual time.
        """
        self._arrives_ms = max(self._arrives_ms, timeline.now_ms + delay_ms)
        self._underway.append(deliver)
        timeline.at(self._arrives_ms, self._deliver_next)

    def _deliver_next(self) -> None:
        self._underway.popleft()()
