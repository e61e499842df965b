"""A proxy between clients and one node that can lose the response to a Produce: the client does not learn its outcome.

It works on whole frames, one request at a time for each connection; `Network` works on bytes and knows no requests.
"""

from __future__ import annotations

import asyncio
import socket
import ssl
import struct
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from raft.types import Endpoint
from raft.wire.apis import PRODUCE
from tests.node.harness.loop import LoopThread
from tests.node.harness.properties import HOST
from tests.processes.server import is_listening

_SIZE = struct.Struct(">i")
_SIZE_AND_API_KEY = struct.Struct(">ih")
_LOOK_S = 0.05


class ProduceProxy:
    """Forwards requests and responses during the block.

    Args:
        node: where the node listens.
        passes: called at each response to a Produce with the number of that response, from 1 up; returns whether the
            client gets it. If not, the connection is closed instead.
        keystore: the PEM file with key and certificate of the node, if it speaks TLS; written before the node listens.

    Attributes:
        produced: how many responses to a Produce the node has sent.
        api_keys: of the requests that were forwarded, in order.
    """

    def __init__(self, node: Endpoint, passes: Callable[[int], bool], *, keystore: Path | None = None) -> None:
        self.produced = 0
        self.api_keys: list[int] = []
        self._node = node
        self._passes = passes
        self._keystore = keystore
        self._socket = socket.socket()
        self._socket.bind((HOST, 0))
        self._connections: set[asyncio.Task[Any]] = set()

    @property
    def endpoint(self) -> Endpoint:
        """Where clients connect."""
        return Endpoint(HOST, self._socket.getsockname()[1])

    def __enter__(self) -> Self:
        self._thread = LoopThread()
        self._opening: Future[asyncio.Server] = self._thread.begin(self._open())
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._thread.run(self._close())
        self._thread.close()
        self._socket.close()

    async def _open(self) -> asyncio.Server:
        # While the node does not listen, connections to the proxy are refused, as the node would refuse them.
        while not is_listening(self._node):
            await asyncio.sleep(_LOOK_S)
        return await asyncio.start_server(self._serve, sock=self._socket, ssl=self._as_server())

    def _as_server(self) -> ssl.SSLContext | None:
        if self._keystore is None:
            return None
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(self._keystore)
        return context

    def _as_client(self) -> ssl.SSLContext | None:
        if self._keystore is None:
            return None
        # The node is known by its port.
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        return context

    async def _close(self) -> None:
        if not self._opening.cancel():
            self._opening.result().close()
        for connection in self._connections:
            connection.cancel()
        while self._connections:
            await asyncio.sleep(0)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._connections.add(task)
        try:
            # The node refuses the connection, or one side closes it: the other side gets the end of the connection.
            with suppress(OSError, asyncio.IncompleteReadError, asyncio.CancelledError):
                await self._forward(reader, writer)
        finally:
            await _abort(writer)
            self._connections.discard(task)

    async def _forward(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        node_reader, node_writer = await asyncio.open_connection(
            self._node.host, self._node.port, ssl=self._as_client()
        )
        try:
            while True:
                request = await _frame(reader)
                _size, api_key = _SIZE_AND_API_KEY.unpack_from(request)
                self.api_keys.append(api_key)
                node_writer.write(request)
                response = await _frame(node_reader)
                if api_key == PRODUCE.key:
                    self.produced += 1
                    if not self._passes(self.produced):
                        return
                writer.write(response)
        finally:
            await _abort(node_writer)


async def _frame(reader: asyncio.StreamReader) -> bytes:
    """Receive one frame, its size included."""
    size = await reader.readexactly(_SIZE.size)
    return size + await reader.readexactly(*_SIZE.unpack(size))


async def _abort(writer: asyncio.StreamWriter) -> None:
    """Close a connection without the end of its TLS, which a client that was killed never confirms."""
    writer.transport.abort()
    with suppress(OSError):
        await writer.wait_closed()
