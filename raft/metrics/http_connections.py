"""The open connections of the HTTP server: bounded in number and in time."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import suppress
from socket import SHUT_RDWR, socket

MOST = 16
"""Most open connections. One more closes the oldest: a client that is slow cannot keep others out."""

LONGEST_S = 10.0
"""A connection that is open for so long is closed."""


class HttpConnections:
    """Open connections, the oldest first. Each belongs to a thread, which ends when the connection is shut down.

    Args:
        clock_s: returns the time of a monotonic clock, in seconds.
    """

    def __init__(self, clock_s: Callable[[], float]) -> None:
        self._clock_s = clock_s
        self._opened_s: dict[socket, float] = {}
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return len(self._opened_s)

    def opened(self, connection: socket) -> None:
        """Add a connection; at the limit the oldest one is shut down."""
        with self._lock:
            if len(self._opened_s) >= MOST:
                self._shut(next(iter(self._opened_s)))
            self._opened_s[connection] = self._clock_s()

    def closed(self, connection: socket) -> None:
        """Remove a connection."""
        with self._lock:
            self._opened_s.pop(connection, None)

    def shut_overdue(self) -> None:
        """Shut down the connections that are open for too long."""
        with self._lock:
            due_s = self._clock_s() - LONGEST_S
            for connection in [each for each, opened_s in self._opened_s.items() if opened_s <= due_s]:
                self._shut(connection)

    def shut_all(self) -> None:
        """Shut down all connections."""
        with self._lock:
            for connection in list(self._opened_s):
                self._shut(connection)

    def _shut(self, connection: socket) -> None:
        del self._opened_s[connection]
        # Its thread may have closed it, or the client has gone.
        with suppress(OSError):
            connection.shutdown(SHUT_RDWR)
