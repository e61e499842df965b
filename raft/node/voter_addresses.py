"""From which addresses the requests of voters may come (`raft.voters.verify.address`).

A voter's entry in `controller.quorum.voters` names a host. Its requests are taken only from the addresses that this
name has; they are looked up in the background, again and again, because addresses change. What was found last counts
while a look-up fails. Off by default: in many networks addresses are translated on the way.
"""

from __future__ import annotations

import asyncio
import logging
import socket
from collections.abc import Mapping
from contextlib import suppress

from raft.types import Endpoint, NodeId

_logger = logging.getLogger(__name__)

_LOOK_UP_S = 30.0
_LOOK_UP_SOON_S = 1.0


class VoterAddresses:
    """Knows the addresses of the voters while it is open.

    Args:
        voters: where they are.
    """

    def __init__(self, voters: Mapping[NodeId, Endpoint]) -> None:
        self._voters = voters
        self._addresses: dict[NodeId, frozenset[str]] = {}
        self._is_wanted = asyncio.Event()
        self._task: asyncio.Task[None] | None = None

    async def open(self) -> None:
        """Look all of them up once, and go on in the background."""
        await self._look_up()
        self._task = asyncio.get_running_loop().create_task(self._look_up_again())

    async def close(self) -> None:
        """Stop."""
        if self._task is not None:
            self._task.cancel()
            with suppress(asyncio.CancelledError):
                await self._task

    def has(self, node_id: NodeId, address: str) -> bool:
        """Whether a voter's entry resolves to this address; if it does not, it is looked up again soon."""
        if address in self._addresses.get(node_id, ()):
            return True
        self._is_wanted.set()
        return False

    async def _look_up_again(self) -> None:
        while True:
            with suppress(TimeoutError):
                async with asyncio.timeout(_LOOK_UP_S):
                    await self._is_wanted.wait()
            # Not at once: who is turned away may come again at once too.
            await asyncio.sleep(_LOOK_UP_SOON_S)
            self._is_wanted.clear()
            await self._look_up()

    async def _look_up(self) -> None:
        for node_id, endpoint in self._voters.items():
            try:
                found = await asyncio.get_running_loop().getaddrinfo(
                    endpoint.host, endpoint.port, type=socket.SOCK_STREAM
                )
            except (OSError, UnicodeError) as error:
                _logger.warning("the address of voter %s at %s cannot be looked up: %s", node_id, endpoint, error)
                continue
            self._addresses[node_id] = frozenset(str(info[4][0]).partition("%")[0] for info in found)
