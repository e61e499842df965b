"""A socket that a node listens on.

asyncio accepts as many connections as its backlog has in one step of the event loop, and uvloop all that wait. A storm
of connections then stops the node for as long as they take. Here a step accepts a few, and what else is due comes
before the next ones.
"""

from __future__ import annotations

import asyncio
import errno
import logging
import socket
from collections.abc import Callable, Iterator

from raft.errors import ConfigError
from raft.runtime.fault_log import FaultLog
from raft.types import Endpoint

_logger = logging.getLogger(__name__)

BACKLOG = 128
"""So many connections wait in the kernel for being accepted. Kafka's socket.listen.backlog.size is 50."""

ACCEPTED_AT_ONCE = 8
"""So many connections are accepted in one step of the event loop."""

_PAUSE_S = 0.1
"""How long nothing is accepted when the process has no file descriptor left."""

_SHORTAGES = frozenset([errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM])
_IS_GONE = frozenset([errno.ECONNABORTED, errno.EPROTO, errno.EPERM, errno.EINTR])


class Listener:
    """Accepts connections.

    Args:
        endpoint: the address to bind; an empty host binds all interfaces.
        accept: returns the protocol of a new connection.
    """

    def __init__(self, endpoint: Endpoint, accept: Callable[[], asyncio.BaseProtocol]) -> None:
        self._endpoint = endpoint
        self._accept = accept
        self._sockets: list[socket.socket] = []
        self._begun: set[asyncio.Task[object]] = set()
        self._is_closed = False
        self._faults = FaultLog(_logger, lambda: int(asyncio.get_running_loop().time() * 1000))

    async def open(self) -> None:
        """Bind the sockets and begin to accept connections.

        Raises:
            ConfigError: the port is in use, or the host is not an address of this machine.
        """
        loop = asyncio.get_running_loop()
        try:
            addresses = await loop.getaddrinfo(
                self._endpoint.host or None, self._endpoint.port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
            )
            for family, _, _, _, address in dict.fromkeys(addresses):
                if family != socket.AF_INET6 or socket.has_ipv6:
                    self._sockets.append(_bound(socket.socket(family), address))
        except (OSError, UnicodeError) as error:
            self._close_sockets()
            reason = getattr(error, "strerror", None) or error
            raise ConfigError(f"cannot listen on {self._endpoint}: {reason}") from error
        for listening in self._sockets:
            listening.listen(BACKLOG)
            loop.add_reader(listening.fileno(), self._accept_some, listening)

    async def close(self) -> None:
        """Accept no more connections."""
        self._is_closed = True
        for listening in self._sockets:
            asyncio.get_running_loop().remove_reader(listening.fileno())
        self._close_sockets()
        await asyncio.gather(*self._begun, return_exceptions=True)

    def _close_sockets(self) -> None:
        for listening in self._sockets:
            listening.close()
        self._sockets.clear()

    def _accept_some(self, listening: socket.socket) -> None:
        for accepted in self._accepted(listening):
            accepted.setblocking(False)
            begun: asyncio.Task[object] = asyncio.get_running_loop().create_task(self._begin(accepted))
            # The event loop itself keeps no reference to a task.
            self._begun.add(begun)
            begun.add_done_callback(self._begun.discard)

    def _accepted(self, listening: socket.socket) -> Iterator[socket.socket]:
        for _ in range(ACCEPTED_AT_ONCE):
            try:
                accepted, _address = listening.accept()
            except BlockingIOError:
                return
            except OSError as error:
                if error.errno in _SHORTAGES:
                    self._pause(listening, error)
                    return
                if error.errno not in _IS_GONE:
                    raise
            else:
                yield accepted

    def _pause(self, listening: socket.socket, error: OSError) -> None:
        """Accept nothing for a while: the connection stays in the backlog, so the socket would be readable at once."""
        self._faults.report("cannot accept connections on %s: %s", self._endpoint, error.strerror)
        loop = asyncio.get_running_loop()
        loop.remove_reader(listening.fileno())
        loop.call_later(_PAUSE_S, self._go_on, listening)

    def _go_on(self, listening: socket.socket) -> None:
        if not self._is_closed:
            asyncio.get_running_loop().add_reader(listening.fileno(), self._accept_some, listening)

    async def _begin(self, accepted: socket.socket) -> None:
        try:
            await asyncio.get_running_loop().connect_accepted_socket(self._accept, accepted)
        except OSError as error:
            # The other side has gone again.
            _logger.debug("a connection to %s was lost: %s", self._endpoint, error)
            accepted.close()


def _bound(listening: socket.socket, address: tuple[object, ...]) -> socket.socket:
    """Return a socket that is bound to an address, and does not wait."""
    try:
        listening.setblocking(False)
        # A node that starts again takes its port while connections of the former process are in TIME_WAIT.
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if listening.family == socket.AF_INET6:
            # Another socket listens on the addresses of IPv4.
            listening.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        listening.bind(address)
    except OSError:
        listening.close()
        raise
    return listening
