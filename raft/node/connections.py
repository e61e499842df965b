"""The open connections of a node, on all its listeners: how many there may be, and which are dropped.

A connection above the limit replaces the one that has been idle for longest: first a connection that never sent a
request, then one without a request in progress. The connections of voters are not dropped. So a client cannot keep
other clients out by opening connections, and a voter that restarts can always connect.

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
        max_connections: `max.connections`: on all listeners.
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
        self._max_connections_per_ip = max_connections_per_ip
        self._max_idle_s = max_idle_s
        self._large_frames = large_frames
        self._responses = responses
        self._open: set[OpenConnection] = set()
        self._silent: dict[OpenConnection, None] = {}
        """Connections that had sent no request when they were last checked, the oldest first."""
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
        elif len(self._open) >= self._max_connections:
            idle = self._idle_for_longest() or connection
            idle.drop(
                f"the node has more than max.connections={self._max_connections}, and it was idle for longest",
                DropCause.MAX_CONNECTIONS,
            )
        self._open.add(connection)
        self._silent[connection] = None

    def closed(self, connection: OpenConnection, reason: str | None) -> None:
        """See `Registry.closed`."""
        self._open.discard(connection)
        self._silent.pop(connection, None)
        address = connection.caller.address
        self._by_address[address] -= 1
        if not self._by_address[address]:
            del self._by_address[address]
        if reason is not None:
            self.dropped[connection.drop_cause] += 1
            self._closings.report(
                "dropped a connection: %s", reason, latest=f"address={address} listener={connection.caller.listener}"
            )

    def _idle_for_longest(self) -> OpenConnection | None:
        # A client can open many connections at little cost, so the node must not search all of them for each new one.
        while self._silent:
            oldest = next(iter(self._silent))
            if not oldest.is_established and not oldest.is_closing:
                return oldest
            del self._silent[oldest]
        return min(
            (connection for connection in self._open if not connection.is_peer and not connection.is_closing),
            key=lambda connection: (connection.is_busy, connection.last_progress_s),
            default=None,
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
