"""A connection of the asyncio driver: a pair of streams, and the request in flight on it."""

from __future__ import annotations

import asyncio
from collections.abc import Generator

from raft.client.wire_connection import WireConnection
from raft.codec import Message
from raft.types import Endpoint

_READ_BYTES = 1 << 18

_Streams = tuple[asyncio.StreamReader, asyncio.StreamWriter]


class AsyncioConnection:
    """A pair of streams to one node, with one request in flight at a time.

    A wait that ends without an answer loses nothing: the next one goes on where it ended, whether that was in
    connecting, sending or receiving.
    """

    def __init__(self, endpoint: Endpoint, client_id: str) -> None:
        self._endpoint = endpoint
        self._wire = WireConnection(client_id)
        self._connecting: asyncio.Task[_Streams] | None = None
        self._streams: _Streams | None = None
        self._asking: Generator[bytes, bytes, Message] | None = None
        self._answer: Message | None = None
        self._unsent = b""
        self._timeout_s = 0.0

    def begin(self, request: Message, timeout_ms: int) -> None:
        """Begin a request, without sending it yet.

        Args:
            request: the request.
            timeout_ms: how long its answer may take, from now on.

        Raises:
            LocalProtocolError: there is no version of the request that both sides know.
        """
        assert not self.is_asking, "a connection has one request in flight at a time"
        self._timeout_s = asyncio.get_running_loop().time() + timeout_ms / 1000
        self._answer = None
        self._asking = self._wire.converse(request)
        self._go_on(None)

    @property
    def is_asking(self) -> bool:
        """Whether a request is in flight."""
        return self._asking is not None

    async def wait(self, patience_ms: int | None = None) -> Message | None:
        """Wait for the answer to the request in flight.

        Args:
            patience_ms: for so long at most; None waits until the request's timeout.

        Returns:
            The answer; None if there is none yet.

        Raises:
            TimeoutError: the request's timeout is over.
            OSError: the node cannot be reached, or closed the connection.
            UnicodeError, OverflowError: of a host or a port that cannot be.
            DecodeError: the answer cannot be read.
            LocalProtocolError: there is no version of the request that both sides know.
        """
        until_s = self._timeout_s
        if patience_ms is not None:
            until_s = min(until_s, asyncio.get_running_loop().time() + patience_ms / 1000)
        try:
            async with asyncio.timeout_at(until_s):
                while self._asking is not None:
                    await self._exchange()
        except TimeoutError as error:
            # The kernel's own, ETIMEDOUT, has a number: the connection is lost. Others only end this wait.
            if error.errno is None and until_s < self._timeout_s:
                return None
            raise
        return self._answer

    def close(self) -> None:
        """Close the streams, and give up the request in flight."""
        if self._connecting is not None:
            self._connecting.add_done_callback(_close_unused)
            self._connecting.cancel()
        if self._streams is not None:
            writer = self._streams[1]
            if self.is_asking:
                writer.transport.abort()  # close() would first wait for the node to take what is unsent
            writer.close()

    async def _exchange(self) -> None:
        """Take the next part of the request's way: connect, send, or receive."""
        if self._streams is None:
            self._streams = await self._connect()
        reader, writer = self._streams
        if self._unsent:
            writer.write(self._unsent)
            self._unsent = b""
        await writer.drain()
        received = await reader.read(_READ_BYTES)
        if not received:
            raise ConnectionError("the node closed the connection")
        frames = self._wire.frames(received)
        if frames:
            self._go_on(frames[0])

    async def _connect(self) -> _Streams:
        if self._connecting is None:
            self._connecting = asyncio.create_task(asyncio.open_connection(self._endpoint.host, self._endpoint.port))
        # The wait may be cancelled at its deadline; the connection goes on being opened.
        streams = await asyncio.shield(self._connecting)
        self._connecting = None
        return streams

    def _go_on(self, frame: bytes | None) -> None:
        """Begin to send what the request takes next, or end it with its answer."""
        assert self._asking is not None, "a request was begun"
        try:
            self._unsent = next(self._asking) if frame is None else self._asking.send(frame)
        except StopIteration as end:
            self._answer, self._asking = end.value, None


def _close_unused(connecting: asyncio.Task[_Streams]) -> None:
    """Close streams that were opened and never used; an error is of no interest any more."""
    if not connecting.cancelled() and connecting.exception() is None:
        connecting.result()[1].close()
