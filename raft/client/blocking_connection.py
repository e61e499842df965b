"""A connection of the blocking driver: a socket, and the request in flight on it."""

from __future__ import annotations

import socket
import time
from collections.abc import Generator

from raft.client.connecting import Connecting
from raft.client.wire_connection import WireConnection
from raft.codec import Message
from raft.types import Endpoint

_READ_BYTES = 1 << 17


class BlockingConnection:
    """A socket to one node, with one request in flight at a time.

    A wait that ends without an answer loses nothing: the next one goes on where it ended, whether that was in
    connecting, sending or receiving.
    """

    def __init__(self, endpoint: Endpoint, client_id: str) -> None:
        self._endpoint = endpoint
        self._wire = WireConnection(client_id)
        self._connecting: Connecting | None = None
        self._socket: socket.socket | None = None
        self._asking: Generator[bytes, bytes, Message] | None = None
        self._answer: Message | None = None
        self._unsent = memoryview(b"")
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
        self._timeout_s = time.monotonic() + timeout_ms / 1000
        self._answer = None
        self._asking = self._wire.converse(request)
        self._go_on(None)

    @property
    def is_asking(self) -> bool:
        """Whether a request is in flight."""
        return self._asking is not None

    def wait(self, patience_ms: int | None = None) -> Message | None:
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
            until_s = min(until_s, time.monotonic() + patience_ms / 1000)
        try:
            while self._asking is not None:
                self._exchange(until_s)
        except TimeoutError as error:
            # The kernel's own, ETIMEDOUT, has a number: the connection is lost. Others only end this wait.
            if error.errno is None and until_s < self._timeout_s:
                return None
            raise
        return self._answer

    def close(self) -> None:
        """Close the socket, and give up the request in flight."""
        if self._connecting is not None:
            self._connecting.close()
        if self._socket is not None:
            self._socket.close()

    def _exchange(self, until_s: float) -> None:
        """Take the next part of the request's way: connect, send, or receive."""
        if self._socket is None:
            self._socket = self._connect(until_s)
        left_s = until_s - time.monotonic()
        if left_s <= 0:
            raise TimeoutError
        self._socket.settimeout(left_s)
        if self._unsent:
            self._unsent = self._unsent[self._socket.send(self._unsent) :]
            return
        received = self._socket.recv(_READ_BYTES)
        if not received:
            raise ConnectionError("the node closed the connection")
        frames = self._wire.frames(received)
        if frames:
            self._go_on(frames[0])

    def _connect(self, until_s: float) -> socket.socket:
        if self._connecting is None:
            self._connecting = Connecting(self._endpoint)
        opened = self._connecting.wait(until_s)
        opened.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return opened

    def _go_on(self, frame: bytes | None) -> None:
        """Begin to send what the request takes next, or end it with its answer."""
        assert self._asking is not None, "a request was begun"
        try:
            self._unsent = memoryview(next(self._asking) if frame is None else self._asking.send(frame))
        except StopIteration as end:
            self._answer, self._asking = end.value, None
