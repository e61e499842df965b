"""A listener: its end, a storm of connections, and a process without file descriptors."""

from __future__ import annotations

import asyncio
import gc
import os
import resource
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest
import uvloop

from raft.errors import ConfigError
from raft.local.ports import free_ports
from raft.node.listener import ACCEPTED_AT_ONCE, Listener
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


each_loop = pytest.mark.parametrize("new_loop", [asyncio.new_event_loop, uvloop.new_event_loop])

NewLoop = Callable[[], asyncio.AbstractEventLoop]


class Accepted(asyncio.Protocol):
    """A connection that is counted."""

    def __init__(self, transports: list[asyncio.Transport], changed: asyncio.Event) -> None:
        self._transports = transports
        self._changed = changed

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Count it."""
        self._transports.append(transport)  # type: ignore[arg-type]
        self._changed.set()


@each_loop
@pytest.mark.rule("SHARE-8")
def test_a_step_of_the_event_loop_accepts_a_few_connections(new_loop: NewLoop) -> None:
    place = Endpoint(HOST, free_ports(1)[0])
    storm = 10 * ACCEPTED_AT_ONCE

    async def accept_all() -> list[int]:
        transports: list[asyncio.Transport] = []
        changed = asyncio.Event()
        listener = Listener(place, lambda: Accepted(transports, changed))
        await listener.open()
        clients = [socket.create_connection((place.host, place.port)) for _ in range(storm)]
        counts = []
        while len(transports) < storm:
            before = len(transports)
            await asyncio.sleep(0)
            counts.append(len(transports) - before)
        await listener.close()
        for transport in transports:
            transport.close()
        for client in clients:
            client.close()
        return counts

    with asyncio.Runner(loop_factory=new_loop) as runner:
        counts = runner.run(accept_all())

    assert sum(counts) == storm
    assert max(counts) <= ACCEPTED_AT_ONCE


@contextmanager
def no_more_descriptors() -> Iterator[None]:
    """Let this process open no file or socket."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    free = os.open(os.devnull, os.O_RDONLY)
    os.close(free)
    resource.setrlimit(resource.RLIMIT_NOFILE, (free, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


@each_loop
def test_connection_waits_while_the_process_has_no_file_descriptor(
    new_loop: NewLoop, caplog: pytest.LogCaptureFixture
) -> None:
    place = Endpoint(HOST, free_ports(1)[0])

    async def accept_late() -> None:
        transports: list[asyncio.Transport] = []
        changed = asyncio.Event()
        listener = Listener(place, lambda: Accepted(transports, changed))
        await listener.open()
        client = socket.create_connection((place.host, place.port))
        with no_more_descriptors():
            while not caplog.messages:
                await asyncio.sleep(0)
            assert not transports
        await changed.wait()
        await listener.close()
        transports[0].close()
        client.close()

    with asyncio.Runner(loop_factory=new_loop) as runner:
        runner.run(asyncio.wait_for(accept_late(), 30))

    assert caplog.messages == [f"cannot accept connections on {place}: Too many open files"]


def test_port_that_is_in_use_is_refused() -> None:
    with socket.create_server((HOST, 0)) as other:
        place = Endpoint(HOST, other.getsockname()[1])

        async def open_there() -> None:
            await Listener(place, Closing).open()

        with pytest.raises(ConfigError, match=f"cannot listen on {place}: Address already in use"):
            asyncio.run(open_there())


@pytest.mark.parametrize("host", ["", "localhost"])
def test_each_address_of_the_host_is_listened_on(host: str) -> None:
    place = Endpoint(host, free_ports(1)[0])

    async def connect_to_each() -> None:
        transports: list[asyncio.Transport] = []
        changed = asyncio.Event()
        listener = Listener(place, lambda: Accepted(transports, changed))
        await listener.open()
        addresses = {str(each[4][0]) for each in socket.getaddrinfo(host or None, place.port, type=socket.SOCK_STREAM)}
        for address in addresses:
            with socket.create_connection((address, place.port)):
                changed.clear()
                await changed.wait()
        await listener.close()
        assert len(transports) == len(addresses)
        for transport in transports:
            transport.close()

    asyncio.run(connect_to_each())
