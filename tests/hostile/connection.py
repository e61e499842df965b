"""One connection of the neighbour, which sends any bytes and need not read the responses."""

from __future__ import annotations

import asyncio
import socket
from contextlib import suppress
from typing import cast

from raft.codec import Message
from raft.types import Endpoint
from raft.wire.frames import encode_request

CLIENT_ID = "neighbour"

_READ_LIMIT_BYTES = 1 << 10
"""How much is read ahead. It is small, so that responses that an attack does not read stay in the node."""

_READ_BYTES = 1 << 16


class Connection:
    """One open connection.

    Args:
        reader, writer: its streams.
    """

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer
        self._next_correlation_id = 0

    @classmethod
    async def connect(cls, endpoint: Endpoint, *, receive_buffer_bytes: int | None = None) -> Connection:
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
        size_bytes = int.from_bytes(await self._reader.readexactly(4), "big")
        return await self._reader.readexactly(size_bytes)

    async def ask(self, request: Message, version: int) -> bytes:
        """Send a request and receive its response; see `send` and `frame`."""
        await self.send_request(request, version)
        return await self.frame()

    async def is_closed(self, *, within_s: float) -> bool:
        """Whether the node closes the connection in time; what it sends before that is discarded."""
        with suppress(TimeoutError):
            async with asyncio.timeout(within_s):
                with suppress(OSError):
                    while await self._reader.read(_READ_BYTES):
                        pass
                return True
        return False

    async def stay(self, for_s: float) -> None:
        """Keep the connection open without reading."""
        cast("asyncio.Transport", self._writer.transport).pause_reading()
        await asyncio.sleep(for_s)

    def close(self) -> None:
        """Close it at once."""
        self._writer.transport.abort()
