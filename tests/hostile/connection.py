"""One connection of the neighbour, which sends any bytes and need not read the responses."""

from __future__ import annotations

import asyncio
import socket
from contextlib import suppress
from typing import Self, cast

from raft.codec import Message
from raft.types import Endpoint
from raft.wire.frames import encode_request

CLIENT_ID = "neighbour"

ADDRESS = "127.0.0.2"
"""The neighbour is on another host than the honest clients. Clients without names share a node's time by address."""

_READ_LIMIT_BYTES = 1 << 10
"""How much is read ahead. It is small, so that responses that an attack does not read stay in the node."""

_READ_BYTES = 1 << 16

CLOSED_WITHIN_S = 60.0
"""Much longer than a node needs (`raft.node.inbound.SILENT_S`): the neighbour has the lowest priority, and may see it
late.
"""


class Connection:
    """One open connection without TLS.

    Args:
        reader, writer: its streams.

    Attributes:
        received_bytes: how much the node has sent, without what TLS adds.
    """

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.received_bytes = 0
        self._reader = reader
        self._writer = writer
        self._next_correlation_id = 0

    @classmethod
    async def connect(cls, endpoint: Endpoint, *, receive_buffer_bytes: int | None = None) -> Self:
        """Open a connection.

        Args:
            endpoint: the node's listener.
            receive_buffer_bytes: how much the kernel buffers of what is not read; None for its default.

        Raises:
            OSError: the node refuses it, or this process has no file descriptor left.
        """
        opened = socket.socket()
        try:
            opened.setblocking(False)
            opened.bind((ADDRESS, 0))
            if receive_buffer_bytes is not None:
                opened.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer_bytes)
            await asyncio.get_running_loop().sock_connect(opened, (endpoint.host, endpoint.port))
            return cls(*await asyncio.open_connection(sock=opened, limit=_READ_LIMIT_BYTES))
        except BaseException:
            opened.close()
            raise

    async def send(self, data: bytes) -> None:
        """Send bytes, and wait until most of them are given to the kernel.

        Raises:
            OSError: the node closed the connection.
        """
        await self.send_raw(data)

    async def send_raw(self, data: bytes) -> None:
        """Send bytes as they are, also on a connection with TLS; see `send`."""
        self._writer.write(data)
        await self._writer.drain()

    async def send_request(self, request: Message, version: int) -> None:
        """Send a request; see `send`."""
        self._next_correlation_id += 1
        await self.send(encode_request(request, version, correlation_id=self._next_correlation_id, client_id=CLIENT_ID))

    async def frame(self) -> bytes:
        """Receive one response, without its size.

        Raises:
            OSError, asyncio.IncompleteReadError: the node closed the connection.
        """
        size_bytes = int.from_bytes(await self._exactly(4), "big")
        return await self._exactly(size_bytes)

    async def ask(self, request: Message, version: int) -> bytes:
        """Send a request and receive its response; see `send` and `frame`."""
        await self.send_request(request, version)
        return await self.frame()

    async def first_bytes(self, *, within_s: float) -> bool:
        """Whether the node sends something in time."""
        with suppress(TimeoutError):
            async with asyncio.timeout(within_s):
                return bool(await self._some())
        return False

    async def is_closed(self, *, within_s: float) -> bool:
        """Whether the node closes the connection in time; what it sends before that is discarded."""
        with suppress(TimeoutError):
            async with asyncio.timeout(within_s):
                with suppress(OSError):
                    while await self._some():
                        pass
                return True
        return False

    async def must_close(self, violation: str) -> None:
        """Wait until the node closes the connection; what it sends before that is discarded.

        Args:
            violation: what is wrong if it does not.

        Raises:
            AssertionError: it does not.
        """
        assert await self.is_closed(within_s=CLOSED_WITHIN_S), violation

    async def stay(self, for_s: float) -> None:
        """Keep the connection open without reading."""
        cast("asyncio.Transport", self._writer.transport).pause_reading()
        await asyncio.sleep(for_s)

    def close(self) -> None:
        """Close it at once."""
        self._writer.transport.abort()

    async def _some(self) -> bytes:
        """Receive what comes next; nothing at the end."""
        data = await self._raw()
        self.received_bytes += len(data)
        return data

    async def _exactly(self, size_bytes: int) -> bytes:
        data = await self._reader.readexactly(size_bytes)
        self.received_bytes += len(data)
        return data

    async def _raw(self) -> bytes:
        return await self._reader.read(_READ_BYTES)
