"""The socket that a node listens on, and all connections that came in by it."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable

from raft.codec import Message
from raft.errors import ConfigError
from raft.node.budget import RequestBudget
from raft.node.inbound import InboundConnection
from raft.node.respond import Respond
from raft.types import Endpoint
from raft.wire.frames import ReceivedRequest

_logger = logging.getLogger(__name__)

_LOOK_AROUND_S = 5.0
_BACKLOG = 128


class Listener:
    """Accepts connections, up to a number, and looks after them.

    Args:
        endpoint: where; an empty host means every interface.
        max_frame_bytes: largest request that is read.
        queued_max_request_bytes: see `RequestBudget`.
        max_connections: one more is refused.
        max_idle_s: connections that are not used for so long are closed.
        handle: begins a request.
        unsupported: the answer to an ApiVersions request of a version we do not know.
    """

    def __init__(
        self,
        endpoint: Endpoint,
        *,
        max_frame_bytes: int,
        queued_max_request_bytes: int,
        max_connections: int,
        max_idle_s: float,
        handle: Callable[[ReceivedRequest, Respond], None],
        unsupported: Callable[[], Message],
    ) -> None:
        self._endpoint = endpoint
        self._max_frame_bytes = max_frame_bytes
        self._budget = RequestBudget(queued_max_request_bytes)
        self._max_connections = max_connections
        self._max_idle_s = max_idle_s
        self._handle = handle
        self._unsupported = unsupported
        self._connections: set[InboundConnection] = set()
        self._server: asyncio.Server | None = None
        self._timer: asyncio.TimerHandle | None = None

    async def open(self) -> None:
        """Begin to accept connections.

        Raises:
            ConfigError: the port is taken, or the host is not ours.
        """
        loop = asyncio.get_running_loop()
        try:
            self._server = await loop.create_server(
                self._new_connection, self._endpoint.host or None, self._endpoint.port, backlog=_BACKLOG
            )
        except (OSError, UnicodeError) as error:
            reason = getattr(error, "strerror", None) or error
            raise ConfigError(f"cannot listen on {self._endpoint}: {reason}") from error
        self._look_around()

    async def close(self) -> None:
        """Accept no more, and close what is open once its answers are sent."""
        if self._timer is not None:
            self._timer.cancel()
        if self._server is not None:
            self._server.close()
        for connection in list(self._connections):
            connection.close()
        await asyncio.sleep(0)
        for connection in list(self._connections):
            connection.drop()

    def _new_connection(self) -> InboundConnection:
        return InboundConnection(
            max_frame_bytes=self._max_frame_bytes,
            budget=self._budget,
            handle=self._handle,
            unsupported=self._unsupported,
            opened=self._opened,
            closed=self._connections.discard,
        )

    def _opened(self, connection: InboundConnection) -> None:
        self._connections.add(connection)
        if len(self._connections) > self._max_connections:
            _logger.warning("more than max.connections=%s: one more is refused", self._max_connections)
            connection.drop()

    def _look_around(self) -> None:
        for connection in list(self._connections):
            connection.drop_if_idle(self._max_idle_s)
        self._timer = asyncio.get_running_loop().call_later(_LOOK_AROUND_S, self._look_around)
