"""The time that a node spends on clients before it knows them.

A handshake of TLS takes about half a millisecond of the event loop, and a client can begin one with bytes that it has
recorded. So such clients take turns: one read of one of them in each turn of the event loop, and a quarter of the
node's time for all of them. A client waits for the others of its own address, not for all. Those that have begun and
those that have not take turns, because who sends the same bytes again and again does not get further.

What a client sends while it waits is kept, up to the size of one request.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import Protocol

from raft.node.request_frames import MAX_REQUEST_BYTES
from raft.runtime.caller import Caller
from raft.runtime.drop_cause import DropCause

SHARE = 0.25
"""The part of its time that a node spends on clients that it does not know, if there are so many."""

CREDIT_S = 0.5
"""Time that none of them has used, up to so much, is used later without a pause: many connect when a node starts."""


class UnknownClient(Protocol):
    """A connection whose client has not proved its name yet."""

    caller: Caller

    @property
    def is_closing(self) -> bool:
        """Whether the connection is closed or being closed."""
        ...

    def receive(self, data: bytes) -> None:
        """Handle received bytes."""
        ...

    def drop(self, reason: str | None = None, cause: DropCause = ...) -> None:
        """Close the connection at once."""
        ...


Queue = tuple[str, str, bool]
"""The address of clients, the name of the listener that they are connected to, and whether they have had a turn."""


class Turns:
    """The clients that wait for their turns.

    Args:
        now_s: returns the time of a monotonic clock, in seconds.
        used_s: returns the processor time that this thread has used, in seconds. What other processes use meanwhile is
            not the fault of a client.
        call_later: runs an action after some seconds, and never before this call returns.
    """

    def __init__(
        self,
        now_s: Callable[[], float],
        used_s: Callable[[], float],
        call_later: Callable[[float, Callable[[], None]], object],
    ) -> None:
        self._now_s = now_s
        self._used_s = used_s
        self._call_later = call_later
        self._queues: dict[Queue, dict[UnknownClient, bytes]] = {}
        self._begun: set[UnknownClient] = set()
        self._free_s = now_s()
        self._is_due = False

    @classmethod
    def of_event_loop(cls) -> Turns:
        """Return the turns of the event loop that runs."""
        loop = asyncio.get_running_loop()
        return cls(loop.time, time.thread_time, loop.call_later)

    def receive(self, client: UnknownClient, data: bytes) -> None:
        """Let a client handle these bytes when its turn comes."""
        queue = self._queues.setdefault(self._queue_of(client), {})
        kept = queue.get(client, b"") + data
        if len(kept) > MAX_REQUEST_BYTES:
            self.forget(client)
            client.drop(f"sent more than {MAX_REQUEST_BYTES} bytes before it was known")
            return
        queue[client] = kept
        self._schedule()

    def forget(self, client: UnknownClient) -> None:
        """Forget a client, because its connection is closed."""
        self._remove(client)
        self._begun.discard(client)

    def _remove(self, client: UnknownClient) -> None:
        key = self._queue_of(client)
        queue = self._queues.get(key, {})
        queue.pop(client, None)
        if not queue:
            self._queues.pop(key, None)

    def _schedule(self) -> None:
        if self._queues and not self._is_due:
            self._is_due = True
            self._call_later(max(0.0, self._free_s - self._now_s()), self._take_turn)

    def _take_turn(self) -> None:
        self._is_due = False
        if not self._queues:
            return
        key, queue = next(iter(self._queues.items()))
        client, data = next(iter(queue.items()))
        self._remove(client)
        if key in self._queues:
            self._queues[key] = self._queues.pop(key)  # It is the last one now.
        begun_s = self._used_s()
        if not client.is_closing:
            self._begun.add(client)
            client.receive(data)
        self._free_s = max(self._free_s, self._now_s() - CREDIT_S) + (self._used_s() - begun_s) / SHARE
        self._schedule()

    def _queue_of(self, client: UnknownClient) -> Queue:
        return client.caller.address, client.caller.listener.name, client in self._begun
