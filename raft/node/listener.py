"""A socket that a node listens on."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from raft.errors import ConfigError
from raft.types import Endpoint

_BACKLOG = 128


class Listener:
    """Accepts connections.

    Args:
        endpoint: the address to bind; an empty host binds all interfaces.
        accept: returns the protocol of a new connection.
    """

    def __init__(self, endpoint: Endpoint, accept: Callable[[], asyncio.Protocol]) -> None:
        self._endpoint = endpoint
        self._accept = accept
        self._server: asyncio.Server | None = None

    async def open(self) -> None:
        """Bind the socket and begin to accept connections.

        Raises:
            ConfigError: the port is in use, or the host is not an address of this machine.
        """
        try:
            self._server = await asyncio.get_running_loop().create_server(
                self._accept, self._endpoint.host or None, self._endpoint.port, backlog=_BACKLOG
            )
        except (OSError, UnicodeError) as error:
            reason = getattr(error, "strerror", None) or error
            raise ConfigError(f"cannot listen on {self._endpoint}: {reason}") from error

    async def close(self) -> None:
        """Accept no more connections."""
        if self._server is None:
            return
        # asyncio needs another step of the loop for a connection that it has accepted, and CPython 3.11 leaves the
        # socket open if the server is closed in between.
        for listening in self._server.sockets:
            asyncio.get_running_loop().remove_reader(listening.fileno())
        await asyncio.sleep(0)
        self._server.close()
