"""The HTTP server of `metrics.listeners`: the standard library's WSGI server, with bounds on what a client can take.

It runs on threads of its own. A client cannot delay the node: it gets at most 10 s for a request of at most 16 KiB, in
one of 16 connections, and the server accepts at most 20 connections in a second.
"""

from __future__ import annotations

import errno
import io
import logging
import socket
import ssl
import threading
import time
from collections.abc import Callable
from socketserver import TCPServer, ThreadingMixIn
from typing import Any
from wsgiref.simple_server import WSGIRequestHandler, WSGIServer
from wsgiref.types import WSGIApplication

from raft.errors import ConfigError
from raft.metrics.http_connections import LONGEST_S, MOST, HttpConnections
from raft.types import Endpoint

_logger = logging.getLogger(__name__)

MOST_REQUEST_BYTES = 16 << 10
_LOOK_S = 0.25
_PAUSE_S = 0.05
"""Between two connections: a flood of them would otherwise take the processor from the event loop."""


class _FirstBytes(io.RawIOBase):
    """The first bytes that a client sends; then an end."""

    def __init__(self, connection: socket.socket) -> None:
        self._connection = connection
        self._left_bytes = MOST_REQUEST_BYTES

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        received = self._connection.recv_into(buffer, min(len(buffer), self._left_bytes)) if self._left_bytes else 0
        self._left_bytes -= received
        return received


class _Handler(WSGIRequestHandler):
    """Serves one request of a connection, and closes it."""

    timeout = LONGEST_S
    server_version = "kraft-spark"
    sys_version = ""

    def setup(self) -> None:
        super().setup()
        if isinstance(self.connection, ssl.SSLSocket):
            self.connection.do_handshake()
        self.rfile.close()
        self.rfile = io.BufferedReader(_FirstBytes(self.connection))

    def log_message(self, format: str, *args: Any) -> None:
        """Log requests at DEBUG: scrapes come every few seconds."""
        _logger.debug("%s %s", self.address_string(), format % args)


class _Server(ThreadingMixIn, WSGIServer):
    """Bound to one address."""

    daemon_threads = True
    block_on_close = False
    request_queue_size = MOST

    def __init__(
        self,
        family: int,
        address: tuple[Any, ...],
        connections: HttpConnections,
        tls: Callable[[], ssl.SSLContext] | None,
    ) -> None:
        self.address_family = family
        self._tls = tls
        self._connections = connections
        self._closing = threading.Event()
        super().__init__(address, _Handler)

    def server_bind(self) -> None:
        """Bind the socket. The method of HTTPServer would look up the name of the host, which may take seconds."""
        if self.address_family == socket.AF_INET6:
            self.socket.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        TCPServer.server_bind(self)
        self.server_name, self.server_port = self.server_address[:2]  # type: ignore[assignment]
        self.setup_environ()

    def get_request(self) -> tuple[Any, Any]:
        """Accept a connection. Its own thread waits for the handshake of TLS, so that it delays no other one."""
        connection, address = super().get_request()
        if self._tls is None:
            return connection, address
        try:
            return self._tls().wrap_socket(connection, server_side=True, do_handshake_on_connect=False), address
        except Exception as error:
            connection.close()
            # The server goes on after an error of the system, and would end after any other one.
            raise OSError(f"no TLS for {address}: {error!r}") from error

    def process_request(self, request: Any, client_address: Any) -> None:
        self._connections.opened(request)
        super().process_request(request, client_address)
        self._closing.wait(_PAUSE_S)

    def shutdown_request(self, request: Any) -> None:
        self._connections.closed(request)
        super().shutdown_request(request)

    def service_actions(self) -> None:
        self._connections.shut_overdue()

    def handle_error(self, request: Any, client_address: Any) -> None:  # noqa: ARG002 - of the base class
        """Log at DEBUG: a client that disconnects, or is slow, is no fault of the node."""
        _logger.debug("a request of %s failed", client_address, exc_info=True)

    def stop(self) -> None:
        """Stop the thread that accepts, and close the socket."""
        self._closing.set()
        self.shutdown()
        self.server_close()


class HttpServer:
    """Serves a WSGI application on one endpoint.

    Args:
        endpoint: where to listen; an empty host binds all interfaces.
        application: what to serve; several threads call it.
        clock_s: returns the time of a monotonic clock, in seconds.
        tls: returns the certificates for each connection; None serves HTTP without TLS.
    """

    def __init__(
        self,
        endpoint: Endpoint,
        application: WSGIApplication,
        clock_s: Callable[[], float] = time.monotonic,
        *,
        tls: Callable[[], ssl.SSLContext] | None = None,
    ) -> None:
        self._endpoint = endpoint
        self._tls = tls
        self._application = application
        self.connections = HttpConnections(clock_s)
        self._servers: list[_Server] = []
        self._threads: list[threading.Thread] = []

    def open(self) -> None:
        """Bind the sockets, one for each address of the host, and begin to serve.

        Raises:
            ConfigError: the port is in use, or the host is not an address of this machine.
        """
        try:
            self._bind()
        except (OSError, UnicodeError) as error:
            self.close()
            reason = getattr(error, "strerror", None) or error
            raise ConfigError(f"metrics.listeners: cannot listen on {self._endpoint}: {reason}") from error
        for server in self._servers:
            server.set_app(self._application)
            thread = threading.Thread(target=server.serve_forever, args=(_LOOK_S,), name="metrics", daemon=True)
            thread.start()
            self._threads.append(thread)

    def close(self) -> None:
        """Close the sockets and all connections. Called on any thread but the server's own."""
        for server in self._servers:
            if self._threads:
                server.stop()
            else:
                server.server_close()
        for thread in self._threads:
            thread.join()
        self.connections.shut_all()
        self._servers, self._threads = [], []

    def _bind(self) -> None:
        for family, address in self._addresses():
            try:
                self._servers.append(_Server(family, address, self.connections, self._tls))
            except OSError as error:
                # Many machines name an IPv6 address of localhost, and have no IPv6.
                if error.errno not in (errno.EADDRNOTAVAIL, errno.EAFNOSUPPORT) or not self._servers:
                    raise

    def _addresses(self) -> list[tuple[int, tuple[Any, ...]]]:
        found = socket.getaddrinfo(
            self._endpoint.host or None, self._endpoint.port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )
        return list(dict.fromkeys((int(family), address) for family, _, _, _, address in found))
