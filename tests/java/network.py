"""The network between the nodes of a quorum, to be cut: each node is reached through a port of this process.

    raft-client-2 ----> front of node 1 ----> node 1
                  (2 to 1)            <---- (1 to 2)

A connection belongs to the node that opened it, as the client id of its first request tells: `raft-client-2`, of
Kafka's nodes and ours alike. So both ends of every link are known, though all of it is loopback. Whoever else connects,
a client or a test, is never cut off.

The nodes have to advertise their fronts: every answer that names a leader says where it listens.
"""

from __future__ import annotations

import asyncio
import re
import socket
import struct
import threading
from collections import defaultdict
from collections.abc import Collection, Coroutine
from contextlib import suppress
from dataclasses import dataclass
from enum import Enum
from itertools import product
from types import TracebackType
from typing import Any, Self, TypeVar

from raft.types import Endpoint, NodeId

_SIZE_AND_START = struct.Struct(">ihhih")
"""Size of the frame, API key, version, correlation id, length of the client id."""

_NODE = re.compile(rb"raft-client-(\d+)")
_AT_ONCE = struct.pack("ii", 1, 0)
_READ_BYTES = 1 << 16
_STEP_S = 10

Result = TypeVar("Result")


class Cut(Enum):
    """Ways in which a node loses touch with the others.

    What is held is not lost: as with TCP, it arrives late, when the network is whole again.
    """

    SILENT = "nothing arrives, either way, and nobody is told"
    DEAF = "nothing reaches the node, but what it says arrives"
    MUTE = "nothing that the node says arrives, but it hears the others"
    RESET = "connections are reset, also new ones"


@dataclass(frozen=True, slots=True)
class _Carried:
    """One connection between two nodes."""

    ends: frozenset[NodeId | None]
    writers: tuple[asyncio.StreamWriter, ...]


class Network:
    """All links between some nodes, carried by a thread of its own.

        with Network() as network:
            front = network.front(NodeId(1), Endpoint("127.0.0.1", 9093))
            network.isolate(NodeId(1), Cut.SILENT)
            network.heal()

    The end of the block drops every connection.
    """

    def __init__(self) -> None:
        self._thread = threading.Thread(target=self._run, name="network", daemon=True)
        self._is_running = threading.Event()

    def __enter__(self) -> Self:
        self._thread.start()
        assert self._is_running.wait(_STEP_S), "the thread of the network runs"
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._loop.call_soon_threadsafe(self._is_over.set)
        self._thread.join(_STEP_S)

    def front(self, node_id: NodeId, node: Endpoint) -> Endpoint:
        """Open the port by which the others reach a node."""
        return self._do(self._open(node_id, node))

    def isolate(self, node_id: NodeId, how: Cut) -> None:
        """Cut a node off from all others."""
        self._do(self._isolate(node_id, how))

    def heal(self) -> None:
        """Undo every cut."""
        self._do(self._heal())

    def _do(self, step: Coroutine[Any, Any, Result]) -> Result:
        return asyncio.run_coroutine_threadsafe(step, self._loop).result(_STEP_S)

    # The thread's side

    def _run(self) -> None:
        asyncio.run(self._stay())

    async def _stay(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._is_over = asyncio.Event()
        self._servers: dict[NodeId, asyncio.Server] = {}
        self._carried: set[_Carried] = set()
        self._refusing: set[NodeId] = set()
        self._lanes: defaultdict[tuple[NodeId | None, NodeId | None], asyncio.Event] = defaultdict(_open_lane)
        self._is_running.set()
        await self._is_over.wait()
        for server in self._servers.values():
            server.close()
        # asyncio.run ends the connections; their tasks take their sockets with them.

    async def _open(self, node_id: NodeId, node: Endpoint) -> Endpoint:
        async def carry(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            with suppress(OSError, asyncio.IncompleteReadError, asyncio.CancelledError):
                await self._carry(reader, writer, node_id, node)
            writer.transport.abort()

        server = self._servers[node_id] = await asyncio.start_server(carry, "127.0.0.1", 0)
        host, port = server.sockets[0].getsockname()
        return Endpoint(host, port)

    async def _carry(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, node_id: NodeId, node: Endpoint
    ) -> None:
        """Carry one connection to a node, from its first request to its end."""
        hello, opener = await _introduction(reader)
        there, back = self._lanes[opener, node_id], self._lanes[node_id, opener]
        if opener is not None and self._refusing & {opener, node_id}:
            _reset(writer)
            return
        await there.wait()
        node_reader, node_writer = await asyncio.open_connection(node.host, node.port)
        carried = _Carried(frozenset([opener, node_id]), (writer, node_writer))
        self._carried.add(carried)
        try:
            node_writer.write(hello)
            await _first_to_end(_pump(reader, node_writer, there), _pump(node_reader, writer, back))
        finally:
            self._carried.discard(carried)
            node_writer.transport.abort()

    async def _isolate(self, node_id: NodeId, how: Cut) -> None:
        others = self._servers.keys() - {node_id}
        if how in (Cut.SILENT, Cut.DEAF):
            self._close_lanes(others, {node_id})
        if how in (Cut.SILENT, Cut.MUTE):
            self._close_lanes({node_id}, others)
        if how is Cut.RESET:
            self._refusing.add(node_id)
            for carried in self._carried:
                if node_id in carried.ends and None not in carried.ends:
                    _reset(*carried.writers)

    def _close_lanes(self, sources: Collection[NodeId], destinations: Collection[NodeId]) -> None:
        for lane in product(sources, destinations):
            self._lanes[lane].clear()

    async def _heal(self) -> None:
        self._refusing.clear()
        for lane in self._lanes.values():
            lane.set()


def _open_lane() -> asyncio.Event:
    lane = asyncio.Event()
    lane.set()
    return lane


def _reset(*writers: asyncio.StreamWriter) -> None:
    """Close connections so that the other side gets an error, not the end of a stream."""
    for writer in writers:
        writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _AT_ONCE)
        writer.transport.abort()


async def _introduction(reader: asyncio.StreamReader) -> tuple[bytes, NodeId | None]:
    """Read the beginning of the first request; return it, and which node sends it (None: none)."""
    start = await reader.readexactly(_SIZE_AND_START.size)
    (*_, length) = _SIZE_AND_START.unpack(start)
    client_id = await reader.readexactly(max(length, 0))
    found = _NODE.fullmatch(client_id)
    return start + client_id, NodeId(int(found[1])) if found else None


async def _pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, lane: asyncio.Event) -> None:
    """Carry bytes one way while that lane is open. The end of the stream is news too, and waits like any other."""
    while data := await reader.read(_READ_BYTES):
        await lane.wait()
        writer.write(data)
        await writer.drain()
    await lane.wait()


async def _first_to_end(*pumps: Coroutine[Any, Any, None]) -> None:
    """Run both ways until one of them is over; nobody here closes half a connection."""
    tasks = [asyncio.ensure_future(pump) for pump in pumps]
    try:
        done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        for task in done:
            task.result()
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
