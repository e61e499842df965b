"""Something between clients and a node that can lose the answer to a Produce: the append is done, unheard of."""

from __future__ import annotations

import socket
import struct
import threading
from collections.abc import Callable
from contextlib import suppress
from types import TracebackType
from typing import Self

from raft.types import Endpoint

_PRODUCE = 0
_HEADER = struct.Struct(">ih")
_SIZE_BYTES = 4
_LOOK_S = 0.05


class ProduceProxy:
    """Hands requests and answers through, one at a time for each connection.

    Args:
        node: whom the requests are for.
        passes: asked at each answer to a Produce, with its number from 1 on: whether the client may have it. If not,
            the connection is closed instead.

    Attributes:
        produced: how many answers to a Produce there were.
        api_keys: of the requests that were handed to the node, in order.
    """

    def __init__(self, node: Endpoint, passes: Callable[[int], bool]) -> None:
        self.produced = 0
        self.api_keys: list[int] = []
        self._node = node
        self._passes = passes
        self._is_closing = threading.Event()
        self._listener = socket.socket()
        self._listener.bind(("127.0.0.1", 0))
        self._open: set[socket.socket] = {self._listener}
        self._threads = [threading.Thread(target=self._accept, name="proxy")]

    @property
    def endpoint(self) -> Endpoint:
        """Where clients find it."""
        return Endpoint("127.0.0.1", self._listener.getsockname()[1])

    def __enter__(self) -> Self:
        self._threads[0].start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._is_closing.set()
        for connection in tuple(self._open):
            _close(connection)
        for thread in tuple(self._threads):
            thread.join()

    def _accept(self) -> None:
        # As long as the node does not listen, the proxy does not: clients are refused, as they would be by the node.
        while not self._is_there() and not self._is_closing.wait(_LOOK_S):
            pass
        with suppress(OSError):
            self._listener.listen()
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            thread = threading.Thread(target=self._serve, args=(client,), name="proxy's connection")
            self._threads.append(thread)
            thread.start()

    def _is_there(self) -> bool:
        try:
            socket.create_connection((self._node.host, self._node.port)).close()
        except OSError:
            return False
        return True

    def _serve(self, client: socket.socket) -> None:
        try:
            node = socket.create_connection((self._node.host, self._node.port))
        except OSError:
            _close(client)
            return
        self._open |= {client, node}
        try:
            while True:
                request = _frame(client)
                api_key = _HEADER.unpack_from(request)[1]
                self.api_keys.append(api_key)
                node.sendall(request)
                answer = _frame(node)
                if api_key == _PRODUCE:
                    self.produced += 1
                    if not self._passes(self.produced):
                        return
                client.sendall(answer)
        except OSError:
            return
        finally:
            self._open -= {client, node}
            _close(client)
            _close(node)


def _frame(connection: socket.socket) -> bytes:
    """Receive one frame, its size included."""
    size = _exactly(connection, _SIZE_BYTES)
    return size + _exactly(connection, int.from_bytes(size, "big"))


def _exactly(connection: socket.socket, count: int) -> bytes:
    received = bytearray()
    while len(received) < count:
        part = connection.recv(count - len(received))
        if not part:
            raise ConnectionError("closed")
        received += part
    return bytes(received)


def _close(connection: socket.socket) -> None:
    # Closing alone would leave a thread that waits on it; one that is closed already refuses.
    with suppress(OSError):
        connection.shutdown(socket.SHUT_RDWR)
    connection.close()
