"""Events that came together and can be handled as one."""

from __future__ import annotations

from collections import deque

from raft.core.events import AppendRequested, AppendsRequested, Event

MAX_TOGETHER = 1000
"""Most appends handled as one event, so that no other event waits long behind them."""


def take_next(events: deque[Event]) -> Event:
    """Remove and return the first event; appends that follow each other at the front become one `AppendsRequested`."""
    first = events.popleft()
    if not isinstance(first, AppendRequested) or not events or not isinstance(events[0], AppendRequested):
        return first
    appends = [first]
    while events and len(appends) < MAX_TOGETHER and isinstance(following := events[0], AppendRequested):
        events.popleft()
        appends.append(following)
    return AppendsRequested(appends=tuple(appends))
