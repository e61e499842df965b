"""Takes events off a queue; appends that follow each other become one event."""

from __future__ import annotations

from collections import deque

from raft.core.events import AppendRequested, AppendsRequested, Event

MAX_TOGETHER = 1000
"""Most appends in one event, so that the events after them do not wait long."""


def take_next(events: deque[Event]) -> Event:
    """Remove and return the first event, or one `AppendsRequested` for all appends at the front of the queue.

    Args:
        events: the queue, in which there is at least one event.
    """
    first = events.popleft()
    if not isinstance(first, AppendRequested) or not events or not isinstance(events[0], AppendRequested):
        return first
    appends = [first]
    while events and len(appends) < MAX_TOGETHER and isinstance(following := events[0], AppendRequested):
        events.popleft()
        appends.append(following)
    return AppendsRequested(appends=tuple(appends))
