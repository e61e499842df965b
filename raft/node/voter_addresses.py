"""From which addresses the requests of voters may come (`raft.voters.verify.address`).

A voter's entry in `controller.quorum.voters` names a host. A request in the name of a voter is accepted only from the
addresses of that host. A background task resolves the hosts again and again, because addresses change; while a host
cannot be resolved, its last addresses count. This is off by default, because many networks translate addresses.
"""

from __future__ import annotations

import asyncio
import logging
import socket
from collections.abc import Mapping
from contextlib import suppress

from raft.types import Endpoint, NodeId

_logger = logging.getLogger(__name__)

_INTERVAL_S = 30.0
_SHORTEST_INTERVAL_S = 1.0


class VoterAddresses:
    """Resolves the hosts of the voters while it is open.

    Args:
        voters: the endpoint of each voter.
    """

    def __init__(self, voters: Mapping[NodeId, Endpoint]) -> None:
        self._voters = voters
        self._addresses: dict[NodeId, frozenset[str]] = {}
        self._is_requested = asyncio.Event()
        self._task: asyncio.Task[None] | None = None

    async def open(self) -> None:
        """Resolve all hosts, then begin to resolve them at intervals in the background."""
        await self._resolve()
        self._task = asyncio.get_running_loop().create_task(self._resolve_repeatedly())

    async def close(self) -> None:
        """Stop the background task."""
        if self._task is not None:
            self._task.cancel()
            with suppress(asyncio.CancelledError):
                await self._task

    def has(self, node_id: NodeId, address: str) -> bool:
        """Return whether an address is one of a voter's host. If it is not, the hosts are resolved again soon."""
        if address in self._addresses.get(node_id, ()):
            return True
        self._is_requested.set()
        return False

    async def _resolve_repeatedly(self) -> None:
        while True:
            with suppress(TimeoutError):
                async with asyncio.timeout(_INTERVAL_S):
                    await self._is_requested.wait()
            # Not at once, because a client that was refused may retry at once.
            await asyncio.sleep(_SHORTEST_INTERVAL_S)
            self._is_requested.clear()
            await self._resolve()

    async def _resolve(self) -> None:
        for node_id, endpoint in self._voters.items():
            try:
                found = await asyncio.get_running_loop().getaddrinfo(
                    endpoint.host, endpoint.port, type=socket.SOCK_STREAM
                )
            except (OSError, UnicodeError) as error:
                _logger.warning("cannot resolve the host of voter %s: %s endpoint=%s", node_id, error, endpoint)
                continue
            self._addresses[node_id] = frozenset(str(info[4][0]).partition("%")[0] for info in found)
