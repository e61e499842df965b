"""A connection of the blocking driver: a socket, and the exchange whose bytes it moves."""

from __future__ import annotations

import socket
import time

from raft.client.connection_attempt import ConnectionAttempt
from raft.client.exchange import Exchange
from raft.errors import CONNECT_ERRORS
from raft.types import Endpoint

_READ_BYTES = 1 << 17


class BlockingConnection:
    """A socket to one node, opened by the first wait.

    A wait that ends early loses nothing: the next one continues with connecting, sending or receiving.

    Args:
        endpoint: where the node listens.
        exchange: the requests to it.
    """

    def __init__(self, endpoint: Endpoint, exchange: Exchange) -> None:
        self.exchange = exchange
        self._endpoint = endpoint
        self._connecting: ConnectionAttempt | None = None
        self._socket: socket.socket | None = None
        self._unsent = memoryview(b"")

    def wait(self, until_ms: int) -> None:
        """Move bytes until the request in flight has ended.

        Args:
            until_ms: when to stop waiting at the latest, on the monotonic clock.
        """
        until_s = until_ms / 1000
        try:
            while self.exchange.is_in_flight:
                connected = self._connect(until_s) if self._socket is None else self._socket
                connected.settimeout(_left_s(until_s))
                self._send(connected, until_s)
                self.exchange.receive_data(connected.recv(_READ_BYTES))
                if self.exchange.error is not None:
                    connected.send(self.exchange.data_to_send())  # With TLS, the node is told what was wrong.
        except TimeoutError as error:
            # An error with a number is the kernel's ETIMEDOUT: the connection is lost. Others only end this wait.
            if error.errno is not None:
                self.exchange.fail(error)
        except CONNECT_ERRORS as error:
            self.exchange.fail(error)

    def close(self) -> None:
        """Close the socket."""
        if self._connecting is not None:
            self._connecting.close()
        if self._socket is not None:
            self._socket.close()

    def _connect(self, until_s: float) -> socket.socket:
        if self._connecting is None:
            self._connecting = ConnectionAttempt(self._endpoint)
        self._socket = self._connecting.wait(until_s)
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return self._socket

    def _send(self, connected: socket.socket, until_s: float) -> None:
        """Send what an earlier wait left unsent, or else what the exchange has to send."""
        self._unsent = self._unsent or memoryview(self.exchange.data_to_send())
        while self._unsent:
            self._unsent = self._unsent[connected.send(self._unsent) :]
            connected.settimeout(_left_s(until_s))


def _left_s(until_s: float) -> float:
    """The time until then.

    Raises:
        TimeoutError: there is none.
    """
    left_s = until_s - time.monotonic()
    if left_s <= 0:
        raise TimeoutError
    return left_s
