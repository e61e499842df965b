"""The open connections of a node, on all its listeners: how many there may be, and which are dropped.

`max.connections` counts the connections that are established: they have sent a request, and proved their name if they
have to. One more replaces a connection of the owner that has most of them (`Caller.owner`): the one that has been idle
for longest, first one without a request in progress. So a client that opens many connections closes its own ones. The
connections of voters are not dropped. A connection that is not established takes one of a few places beside these, and
one more replaces the oldest of its kind: a client that proves nothing closes only connections of this kind, and a voter
that restarts can always connect.

Source: Kafka SocketServer.ConnectionQuotas, whose listener for brokers closes another listener's least recently used.
"""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import Callable

from raft.node.large_frames import LargeFrames
from raft.node.open_connection import OpenConnection
from raft.runtime.drop_cause import DropCause
from raft.runtime.fault_log import FaultLog
from raft.runtime.response_budget import ResponseBudget

_logger = logging.getLogger(__name__)

_IDLE_CHECK_INTERVAL_S = 5.0
_SLOW_CHECK_INTERVAL_S = 0.25


class Connections:
    """Registers the open connections, and drops those that are idle or too slow.

    Args:
        max_connections: `max.connections`: established ones, on all listeners. A tenth as many more may be open.
        max_connections_per_ip: `max.connections.per.ip`: from one address.
        max_idle_s: a connection that is idle for so long is dropped, in seconds.
        large_frames: drops connections that send a large frame too slowly.
        responses: while a read waits for its memory, connections that read too slowly are dropped.
        now_ms: returns the time of a monotonic clock, in milliseconds.

    Attributes:
        dropped: how many connections the node has dropped, by cause.
    """

    def __init__(
        self,
        *,
        max_connections: int,
        max_connections_per_ip: int,
        max_idle_s: float,
        large_frames: LargeFrames,
        responses: ResponseBudget,
        now_ms: Callable[[], int],
    ) -> None:
        self._max_connections = max_connections
        self._max_open = max_connections + max(1, max_connections // 10)
        self._max_connections_per_ip = max_connections_per_ip
        self._max_idle_s = max_idle_s
        self._large_frames = large_frames
        self._responses = responses
        self._open: set[OpenConnection] = set()
        self._new: dict[OpenConnection, None] = {}
        """Those that are not established, the oldest first."""
        self._established: dict[str, set[OpenConnection]] = {}
        """By their owners."""
        self._by_address: Counter[str] = Counter()
        self.dropped: Counter[DropCause] = Counter()
        self._closings = FaultLog(_logger, now_ms, level=logging.INFO)
        self._timers: dict[Callable[[], None], asyncio.TimerHandle] = {}
        self._is_closed = False

    def __len__(self) -> int:
        return len(self._open)

    def open_by_kind(self) -> Counter[tuple[str, bool]]:
        """Return how many connections are open, by the name of the listener and whether a voter has opened it."""
        return Counter((connection.caller.listener.name, connection.is_peer) for connection in self._open)

    def start(self) -> None:
        """Begin to drop idle and slow connections."""
        self._drop_idle()
        self._drop_slow()

    async def close(self) -> None:
        """Close all connections after the responses that can be sent, and those that are being accepted."""
        self._is_closed = True
        for timer in self._timers.values():
            timer.cancel()
        for connection in list(self._open):
            connection.close()
        await asyncio.sleep(0)
        for connection in list(self._open):
            connection.drop()

    def opened(self, connection: OpenConnection) -> None:
        """See `Registry.opened`."""
        address = connection.caller.address
        self._by_address[address] += 1
        if self._is_closed:
            connection.drop()
        elif self._by_address[address] > self._max_connections_per_ip:
            connection.drop(
                f"its address has more than max.connections.per.ip={self._max_connections_per_ip}",
                DropCause.MAX_CONNECTIONS_PER_IP,
            )
        elif len(self._open) >= self._max_open:
            oldest = next(iter(self._new), connection)
            self._new.pop(oldest, None)
            self._drop_at_limit(oldest, "it was the oldest that had sent no request")
        self._open.add(connection)
        if not connection.is_closing:
            self._new[connection] = None

    def established(self, connection: OpenConnection) -> None:
        """See `Registry.established`."""
        self._new.pop(connection, None)
        self._established.setdefault(connection.caller.owner, set()).add(connection)
        if sum(map(len, self._established.values())) > self._max_connections:
            idle = self._idle_for_longest() or connection
            self._forget(idle)
            self._drop_at_limit(idle, "it was idle for longest of those with the same owner")

    def closed(self, connection: OpenConnection, reason: str | None) -> None:
        """See `Registry.closed`."""
        self._open.discard(connection)
        self._new.pop(connection, None)
        self._forget(connection)
        address = connection.caller.address
        self._by_address[address] -= 1
        if not self._by_address[address]:
            del self._by_address[address]
        if reason is not None:
            self.dropped[connection.drop_cause] += 1
            self._closings.report(
                "dropped a connection: %s", reason, latest=f"address={address} listener={connection.caller.listener}"
            )

    def _forget(self, connection: OpenConnection) -> None:
        """Count a connection as established no more."""
        owner = connection.caller.owner
        same = self._established.get(owner)
        if same is not None:
            same.discard(connection)
            if not same:
                del self._established[owner]

    def _idle_for_longest(self) -> OpenConnection | None:
        """Return the connection to drop: one of the owner that has most; None if voters have opened all."""
        droppable = (
            [each for each in connections if not each.is_peer and not each.is_closing]
            for connections in sorted(self._established.values(), key=len, reverse=True)
        )
        return min(
            next((connections for connections in droppable if connections), []),
            key=lambda connection: (connection.is_busy, connection.last_progress_s),
            default=None,
        )

    def _drop_at_limit(self, connection: OpenConnection, why: str) -> None:
        connection.drop(
            f"the node has more than max.connections={self._max_connections}, and {why}", DropCause.MAX_CONNECTIONS
        )

    def _drop_idle(self) -> None:
        for connection in list(self._open):
            connection.drop_if_idle(self._max_idle_s)
        self._repeat(self._drop_idle, _IDLE_CHECK_INTERVAL_S)

    def _drop_slow(self) -> None:
        self._large_frames.drop_slow()
        if self._responses.is_awaited:
            for connection in list(self._open):
                connection.drop_if_slow()
        self._repeat(self._drop_slow, _SLOW_CHECK_INTERVAL_S)

    def _repeat(self, check: Callable[[], None], after_s: float) -> None:
        self._timers[check] = asyncio.get_running_loop().call_later(after_s, check)
