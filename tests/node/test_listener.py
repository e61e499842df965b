"""The end of a listener."""

from __future__ import annotations

import asyncio
import gc
import socket

import pytest

from raft.local.ports import free_ports
from raft.node.listener import Listener
from raft.types import Endpoint
from tests.node.harness.properties import HOST


class Closing(asyncio.Protocol):
    """A connection that is closed at once."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Close it."""
        transport.close()


@pytest.mark.parametrize("steps", range(5))
def test_connection_that_is_being_accepted_while_the_listener_closes_is_not_left_open(steps: int) -> None:
    place = Endpoint(HOST, free_ports(1)[0])

    async def close_while_accepting() -> None:
        listener = Listener(place, Closing)
        await listener.open()
        with socket.create_connection((place.host, place.port)):
            for _ in range(steps):
                await asyncio.sleep(0)
            await listener.close()
            await asyncio.sleep(0.01)

    asyncio.run(close_while_accepting())
    gc.collect()  # Reports sockets that were left open.
