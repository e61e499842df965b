"""A connection of the asyncio driver: asyncio's callbacks move the bytes of an exchange."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import Any, cast

from raft.client.exchange import Exchange
from raft.types import Endpoint


class AsyncioConnection(asyncio.Protocol):
    """A connection to one node, opened by the first wait.

    A wait that ends early loses nothing: bytes are moved whether or not a task waits for them.

    Args:
        endpoint: where the node listens.
        exchange: the requests to it.
    """

    def __init__(self, endpoint: Endpoint, exchange: Exchange) -> None:
        self.exchange = exchange
        self._endpoint = endpoint
        self._connecting: asyncio.Task[Any] | None = None
        self._transport: asyncio.Transport | None = None
        self._ended = asyncio.Event()
        self._is_closed = False

    async def wait(self, until_ms: int) -> None:
        """Wait until the request in flight has ended.

        Args:
            until_ms: when to stop waiting at the latest, on the loop's clock.
        """
        if self._connecting is None:
            self._connecting = asyncio.create_task(self._connect())
            self._connecting.add_done_callback(self._on_connected)
        self._send()
        if self.exchange.is_in_flight:
            self._ended.clear()
            with suppress(TimeoutError):
                async with asyncio.timeout_at(until_ms / 1000):
                    await self._ended.wait()

    def close(self) -> None:
        """Close the connection; bytes that are not sent yet are dropped."""
        self._is_closed = True
        if self._connecting is not None:
            self._connecting.cancel()
        if self._transport is not None:
            self._transport.abort()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Send what waits for the connection. Called by asyncio."""
        # The class is not checked, because the transports of uvloop do not derive from asyncio.Transport.
        self._transport = cast("asyncio.Transport", transport)
        if self._is_closed:
            self._transport.abort()
        else:
            self._send()

    def data_received(self, data: bytes) -> None:
        """Pass bytes to the exchange; invalid data closes the connection. Called by asyncio."""
        self.exchange.receive_data(data)
        self._send()  # After an error too: with TLS, the node is told what was wrong.
        if self.exchange.error is not None:
            self.close()
        self._notify()

    def connection_lost(self, exc: Exception | None) -> None:
        """End the exchange. Called by asyncio."""
        if exc is not None:
            self.exchange.fail(exc)
        else:
            self.exchange.receive_data(b"")
        self._notify()

    async def _connect(self) -> None:
        await asyncio.get_running_loop().create_connection(lambda: self, self._endpoint.host, self._endpoint.port)

    def _on_connected(self, connecting: asyncio.Task[Any]) -> None:
        error = None if connecting.cancelled() else connecting.exception()
        if isinstance(error, Exception):
            self.exchange.fail(error)
            self._notify()

    def _send(self) -> None:
        if self._transport is not None:
            self._transport.write(self.exchange.data_to_send())

    def _notify(self) -> None:
        if not self.exchange.is_in_flight:
            self._ended.set()
