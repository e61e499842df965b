"""Turns whose rounds a test runs, on a clock that does not move by itself."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from raft.runtime.turns import Turns


class TurnsOnDemand:
    """Turns and the rounds that are due.

    Args:
        settle: see `Turns`.

    Attributes:
        turns: of the connections.
    """

    def __init__(self, settle: Callable[[], None] = lambda: None) -> None:
        self._due: list[Callable[[], None]] = []
        self.turns = timeless_turns(self._due.append, settle)

    def run(self) -> None:
        """Run rounds until none is due."""
        while self._due:
            self._due.pop(0)()


def turns_on_the_loop() -> Turns:
    """Return turns that last as long as a client has requests, in rounds on the event loop that runs."""
    return timeless_turns(asyncio.get_running_loop().call_soon)


def timeless_turns(
    call_soon: Callable[[Callable[[], None]], object], settle: Callable[[], None] = lambda: None
) -> Turns:
    """Return turns on a clock that stands still."""
    return Turns(
        now_s=lambda: 0.0,
        used_s=lambda: 0.0,
        call_soon=call_soon,
        call_later=lambda _after_s, action: call_soon(action),
        hold=lambda _is_holding: None,
        settle=settle,
    )
