"""Forwards requests of clients to the leader; `raft.runtime.requests.relay` says why.

There is one connection to the leader for all clients. A request that is in flight is not sent a second time: its
response goes to every client that has sent the same request.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from dataclasses import dataclass
from typing import assert_never

from raft.codec import Message
from raft.errors import CONNECT_ERRORS, AuthenticationError, ConfigError, ProtocolError
from raft.security.client_protection import ClientProtection
from raft.types import Endpoint
from raft.wire.connection import (
    Authenticated,
    AuthenticationFailed,
    ClientConnection,
    ConnectionState,
    InvalidDataReceived,
    ResponseReceived,
    VersionsNegotiated,
)
from raft.wire.headers import RELAY_CLIENT_ID
from raft.wire.protection import Protection

_logger = logging.getLogger(__name__)

_TIMEOUT_S = 2.0
_MAX_FRAME_BYTES = 1 << 20
_MAX_WAITING = 1000
_READ_BYTES = 1 << 16

_FAILURES = (*CONNECT_ERRORS, ProtocolError, AuthenticationError, ConfigError)


@dataclass(frozen=True, slots=True)
class _Waiter:
    """The callbacks of one client's request."""

    on_response: Callable[[Message], None]
    otherwise: Callable[[], None]


class LeaderRelay:
    """Sends requests to the leader, one at a time; see `Relay`.

    Args:
        protection: of the connections.
    """

    def __init__(self, protection: ClientProtection) -> None:
        self._protection = protection
        self._waiting: dict[tuple[Endpoint, Message, int], list[_Waiter]] = {}
        self._waiter_count = 0
        self._task: asyncio.Task[None] | None = None

    def ask(
        self,
        leader: Endpoint,
        request: Message,
        version: int,
        *,
        on_response: Callable[[Message], None],
        otherwise: Callable[[], None],
    ) -> None:
        """See `Relay.ask`."""
        if self._waiter_count >= _MAX_WAITING:
            otherwise()
            return
        self._waiter_count += 1
        self._waiting.setdefault((leader, request, version), []).append(_Waiter(on_response, otherwise))
        if self._task is None:
            self._task = asyncio.get_running_loop().create_task(self._work())

    def close(self) -> None:
        """Cancel the request in flight and close the connection to the leader."""
        if self._task is not None:
            self._task.cancel()

    async def _work(self) -> None:
        connection: _LeaderConnection | None = None
        try:
            while self._waiting:
                leader, request, version = key = next(iter(self._waiting))
                response: Message | None = None
                try:
                    async with asyncio.timeout(_TIMEOUT_S):
                        if connection is None or connection.leader != leader:
                            _close(connection)
                            connection = None
                            protection = self._protection.of_connection(leader.host)
                            streams = await asyncio.open_connection(leader.host, leader.port)
                            connection = _LeaderConnection(leader, *streams, protection)
                        response = await connection.send(request, version)
                except _FAILURES as error:
                    _logger.debug("no response to a request that was forwarded to the leader at %s: %r", leader, error)
                    _close(connection)
                    connection = None
                waiters = self._waiting.pop(key)
                self._waiter_count -= len(waiters)
                for waiter in waiters:
                    if response is None:
                        waiter.otherwise()
                    else:
                        waiter.on_response(response)
        finally:
            _close(connection)
            self._task = None


class _LeaderConnection:
    """A connection to the leader, with one request in flight at a time."""

    def __init__(
        self, leader: Endpoint, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, protection: Protection
    ) -> None:
        self.leader = leader
        self.writer = writer
        self._reader = reader
        self._connection = ClientConnection[None](
            client_id=RELAY_CLIENT_ID, max_frame_bytes=_MAX_FRAME_BYTES, protection=protection
        )

    async def send(self, request: Message, version: int) -> Message:
        """Send a request in the version that the client chose, and wait for its response.

        Raises:
            OSError: the connection is lost.
            AuthenticationError: the nodes do not accept each other.
            ProtocolError: the leader does not support the version, or its response cannot be decoded.
        """
        if self._connection.state is not ConnectionState.READY:
            await self._next_event()
        self._connection.send_request(request, tag=None, version=version)
        event = await self._next_event()
        assert isinstance(event, ResponseReceived), "ApiVersions is sent once, before the first request"
        return event.message

    async def _next_event(self) -> VersionsNegotiated | ResponseReceived[None]:
        while True:
            self.writer.write(self._connection.data_to_send())
            data = await self._reader.read(_READ_BYTES)
            if not data:
                raise ConnectionError("the leader closed the connection")
            for event in self._connection.receive_data(data):
                match event:
                    case InvalidDataReceived() | AuthenticationFailed():
                        raise event.error
                    case VersionsNegotiated() | ResponseReceived():
                        return event
                    case Authenticated():
                        raise AssertionError("this connection never authenticates again")
                    case _:
                        assert_never(event)


def _close(connection: _LeaderConnection | None) -> None:
    if connection is not None:
        connection.writer.close()
