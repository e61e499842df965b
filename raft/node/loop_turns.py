"""The turns of the connections on an asyncio event loop."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from raft.node.thread_clock import ThreadClock
from raft.runtime.turns import Turns


def turns_of_event_loop(hold: Callable[[bool], None], settle: Callable[[], None]) -> Turns:
    """Return the turns of the event loop that runs.

    Args:
        hold: see `Turns`.
        settle: see `Turns`.
    """
    loop = asyncio.get_running_loop()
    return Turns(
        now_s=loop.time,
        used_s=ThreadClock().now_s,
        call_soon=loop.call_soon,
        call_later=loop.call_later,
        hold=hold,
        settle=settle,
    )
