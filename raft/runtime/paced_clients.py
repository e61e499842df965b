"""Clients that have used more than their pace allows, and wait until it allows the next turn.

Of the clients with one pace, one at a time gets back into the order of the turns. When its turn is over, the pace says
when the next one does. So it costs nothing that thousands of them wait.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Hashable, Iterator
from itertools import count
from typing import Generic, TypeVar

from raft.runtime.pace import Pace
from raft.runtime.shares import Shares

Client = TypeVar("Client", bound=Hashable)


class PacedClients(Generic[Client]):
    """Clients that wait, by their pace; with one pace they are in the order of `Shares`.

    Args:
        key: see `Shares`.
    """

    def __init__(self, key: Callable[[Client], Hashable]) -> None:
        self._key = key
        self._waiting: dict[Pace, Shares[Client]] = {}
        self._pace_of: dict[Client, Pace] = {}
        """Of each client that waits."""
        self._released: dict[Client, Pace] = {}
        """Clients that are back in the order of the turns, and have not had their turn."""
        self._due: list[tuple[float, int, Pace]] = []
        self._busy: set[Pace] = set()
        """Paces that are in `_due`, or one of whose clients is released."""
        self._numbers = count()

    def __bool__(self) -> bool:
        return bool(self._pace_of)

    def __contains__(self, client: object) -> bool:
        return client in self._pace_of

    def add(self, client: Client, owner: Hashable, pace: Pace, now_s: float) -> None:
        """Let a client wait for its pace.

        Args:
            client: the client; it does not wait.
            owner: its owner.
            pace: its pace.
            now_s: the time, in seconds.
        """
        waiting = self._waiting.get(pace)
        if waiting is None:
            waiting = self._waiting[pace] = Shares(self._key)
        waiting.add(client, owner)
        self._pace_of[client] = pace
        self._schedule(pace, now_s)

    def forget(self, client: Client, owner: Hashable, now_s: float) -> None:
        """Let a client wait no more, and forget it: its connection is closed."""
        pace = self._pace_of.pop(client, None)
        if pace is not None:
            self._waiting[pace].forget(client, owner)
        self.has_had_its_turn(client, now_s)

    def charge(self, client: Client, owner: Hashable, pace: Pace, work_s: float) -> None:
        """Count work that was done for a client with this pace, for the order among those that wait."""
        waiting = self._waiting.get(pace)
        if waiting is not None:
            waiting.charge(client, owner, work_s)

    def has_had_its_turn(self, client: Client, now_s: float) -> None:
        """Let the next client with the same pace have a turn when the pace allows it."""
        pace = self._released.pop(client, None)
        if pace is not None:
            self._busy.discard(pace)
            self._schedule(pace, now_s)

    def release(self, now_s: float) -> Iterator[Client]:
        """Yield the clients that may have a turn now: one for each pace. They wait no more."""
        while self._due and self._due[0][0] <= now_s:
            _, _, pace = heapq.heappop(self._due)
            waiting = self._waiting[pace]
            if not waiting:
                self._busy.discard(pace)
                del self._waiting[pace]
            elif pace.pause_s(now_s) > 0:
                self._push(pace, now_s)  # More was used since.
            else:
                client = waiting.take()
                del self._pace_of[client]
                self._released[client] = pace
                yield client

    def next_release_s(self) -> float | None:
        """Return when a client may have a turn, on the clock of `now_s`; None if none waits."""
        return self._due[0][0] if self._due else None

    def _schedule(self, pace: Pace, now_s: float) -> None:
        if pace not in self._busy:
            self._busy.add(pace)
            self._push(pace, now_s)

    def _push(self, pace: Pace, now_s: float) -> None:
        heapq.heappush(self._due, (now_s + pace.pause_s(now_s), next(self._numbers), pace))
