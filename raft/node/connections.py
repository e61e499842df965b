"""The open connections of a node, of all its listeners: how many there may be, and which have to end.

When there are too many, the one that has been quiet for longest makes room for the new one: first those that never
sent a request, then those without one under way. The connections of voters stay. So a client cannot keep others out by
opening connections, and a voter that starts again always comes in.

Source: Kafka SocketServer.ConnectionQuotas, whose listener for brokers closes another listener's least recently used.
"""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import Callable

from raft.node.inbound import InboundConnection
from raft.node.incoming import LargeFrames
from raft.runtime.fault_log import FaultLog
from raft.runtime.response_budget import ResponseBudget

_logger = logging.getLogger(__name__)

_LOOK_AROUND_S = 5.0
_LOOK_FOR_SLOW_S = 0.25


class Connections:
    """Knows the open connections, and looks after them while it is open.

    Args:
        max_connections: `max.connections`: in all.
        max_connections_per_ip: `max.connections.per.ip`: from one address.
        max_idle_s: those that are not used for so long are closed.
        large_frames, answers: which connections may be too slow for.
        now_ms: a monotonic clock, in milliseconds.
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
        self._open: set[InboundConnection] = set()
        self._silent: dict[InboundConnection, None] = {}
        """Those that had sent no request when they were last looked at, the oldest first."""
        self._by_address: Counter[str] = Counter()
        self._closings = FaultLog(_logger, now_ms, level=logging.INFO)
        self._timers: dict[Callable[[], None], asyncio.TimerHandle] = {}

    def __len__(self) -> int:
        return len(self._open)

    def start(self) -> None:
        """Begin to look after them."""
        self._look_around()
        self._look_for_slow()

    async def close(self) -> None:
        """Close what is open once its answers are sent."""
        for timer in self._timers.values():
            timer.cancel()
        for connection in list(self._open):
            connection.close()
        await asyncio.sleep(0)
        for connection in list(self._open):
            connection.drop()

    def opened(self, connection: InboundConnection) -> None:
        """See `Registry.opened`."""
        address = connection.caller.address
        self._by_address[address] += 1
        if self._by_address[address] > self._max_connections_per_ip:
            connection.drop(f"max.connections.per.ip={self._max_connections_per_ip} are open from its address")
        elif len(self._open) >= self._max_connections:
            quiet = self._quiet_for_longest() or connection
            quiet.drop(f"max.connections={self._max_connections} are open and it was quiet for longest")
        self._open.add(connection)
        self._silent[connection] = None

    def closed(self, connection: InboundConnection, reason: str | None) -> None:
        """See `Registry.closed`."""
        self._open.discard(connection)
        self._silent.pop(connection, None)
        address = connection.caller.address
        self._by_address[address] -= 1
        if not self._by_address[address]:
            del self._by_address[address]
        if reason is not None:
            self._closings.report(
                "connection closed: %s", reason, latest=f"from {address} to {connection.caller.listener}"
            )

    def _quiet_for_longest(self) -> InboundConnection | None:
        # Opening many connections costs a stranger little, so each must not cost the node a look at all the others.
        while self._silent:
            oldest = next(iter(self._silent))
            if not oldest.has_spoken and not oldest.is_closing:
                return oldest
            del self._silent[oldest]
        return min(
            (connection for connection in self._open if not connection.is_peer and not connection.is_closing),
            key=lambda connection: (connection.is_busy, connection.last_progress_s),
            default=None,
        )

    def _look_around(self) -> None:
        for connection in list(self._open):
            connection.drop_if_idle(self._max_idle_s)
        self._again(self._look_around, _LOOK_AROUND_S)

    def _look_for_slow(self) -> None:
        self._large_frames.drop_slow()
        if self._responses.is_awaited:
            for connection in list(self._open):
                connection.drop_if_slow()
        self._again(self._look_for_slow, _LOOK_FOR_SLOW_S)

    def _again(self, look: Callable[[], None], after_s: float) -> None:
        self._timers[look] = asyncio.get_running_loop().call_later(after_s, look)
