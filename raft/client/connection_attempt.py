"""Opening a TCP connection, for a caller that may stop waiting and continue later."""

from __future__ import annotations

import errno
import os
import select
import socket
import time
from collections import deque

from raft.types import Endpoint


class ConnectionAttempt:
    """Connects to the first address of an endpoint that accepts.

    `socket.create_connection` does the same, but gives the connection up at its timeout.

    Args:
        endpoint: the host, which may have several addresses, and the port.

    Raises:
        OSError: the host is unknown.
        UnicodeError, OverflowError: the endpoint has an impossible host or port.
    """

    def __init__(self, endpoint: Endpoint) -> None:
        found = socket.getaddrinfo(endpoint.host, endpoint.port, type=socket.SOCK_STREAM)
        self._addresses = deque((family, protocol, address) for family, _, protocol, _, address in found)
        self._socket: socket.socket | None = None

    def wait(self, until_s: float) -> socket.socket:
        """Return the open socket. The caller closes it.

        Args:
            until_s: when to stop waiting, on the monotonic clock.

        Raises:
            TimeoutError: the connection is not open yet; call again to continue.
            OSError: no address accepts; this is the error of the last one.
        """
        while True:
            code = errno.EINPROGRESS if self._socket is not None else self._begin_next()
            assert self._socket is not None, "a connection is being opened"
            if code == errno.EINPROGRESS:
                if not _is_writable(self._socket, until_s):
                    raise TimeoutError
                code = self._socket.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
            if code == 0:
                opened, self._socket = self._socket, None
                return opened
            self.close()
            if not self._addresses:
                raise OSError(code, os.strerror(code))

    def close(self) -> None:
        """Close the socket if it is not open yet."""
        if self._socket is not None:
            self._socket.close()
            self._socket = None

    def _begin_next(self) -> int:
        """Begin to connect to the next address; return the error number, EINPROGRESS if it is not open at once."""
        family, protocol, address = self._addresses.popleft()
        self._socket = socket.socket(family, socket.SOCK_STREAM, protocol)
        self._socket.setblocking(False)
        return self._socket.connect_ex(address)


def _is_writable(connecting: socket.socket, until_s: float) -> bool:
    poll = select.poll()
    poll.register(connecting, select.POLLOUT)
    return bool(poll.poll(max(until_s - time.monotonic(), 0) * 1000))
