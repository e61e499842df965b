"""The network between nodes and clients, which can be cut: a proxy stands in front of each node, of Kafka's or ours.

A node names its proxy as the place where it listens, so that all who turn to it come this way. Who that is, a
connection tells by itself: each request begins with a client id, and that of node 2 is `raft-client-2`.

A cut holds back the bytes of one direction, as a network does that drops packets: nobody is told, new connections get
no answer, and no end of a connection is passed on. When the cut ends, what was held goes on its way late, as if
sent again by the kernel, or the connections that waited are reset.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Iterable
from types import TracebackType
from typing import Self

from raft.types import Endpoint
from tests.network.connection import Connection, Direction
from tests.node.harness.loop import LoopThread
from tests.node.harness.properties import HOST

CLIENTS = 0
"""All clients together; nodes have their ids, from 1 on."""

_NODES_CLIENT_ID = b"raft-client-"


class Network:
    """Proxies in front of some nodes.

        with Network() as network:
            endpoint = network.open(1, Endpoint("127.0.0.1", 9093))
            network.cut({(1, 2), (2, 1)})

    The end of the block drops every connection.
    """

    def __init__(self) -> None:
        self._thread = LoopThread()
        self._connections: set[Connection] = set()
        self._cuts: dict[Direction, asyncio.Event] = {}
        self._refused: set[Direction] = set()
        self._servers: dict[int, asyncio.Server] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._thread.run(self._close())
        self._thread.close()

    def open(self, node_id: int, listener: Endpoint) -> Endpoint:
        """Put a proxy in front of a node, which need not run yet; return where others reach it."""
        self._servers[node_id] = self._thread.run(self._open(node_id, listener))
        return self.endpoint(node_id)

    def endpoint(self, node_id: int) -> Endpoint:
        """Where others reach a node."""
        return Endpoint(HOST, self._servers[node_id].sockets[0].getsockname()[1])

    def cut(self, directions: Iterable[Direction]) -> None:
        """Hold back all bytes that go in these directions."""

        def cut() -> None:
            for direction in directions:
                assert direction not in self._cuts, f"{direction} is cut already"
                self._cuts[direction] = asyncio.Event()

        self._thread.look(cut)

    def refuse(self, directions: Collection[Direction]) -> None:
        """Reset all connections that were opened in these directions, and those that will be."""

        def refuse() -> None:
            self._refused.update(directions)
            for connection in self._connections:
                if (connection.caller, connection.called) in self._refused:
                    connection.reset()

        self._thread.look(refuse)

    def heal(self, directions: Collection[Direction], *, delivers_late: bool) -> None:
        """End a cut, or a refusal.

        Args:
            directions: as they were cut.
            delivers_late: whether what was held back arrives now; else the connections that wait are reset.
        """

        def heal() -> None:
            if not delivers_late:
                for connection in self._connections:
                    if connection.is_held(directions):
                        connection.reset()
            for direction in directions:
                self._refused.discard(direction)
                if direction in self._cuts:
                    self._cuts.pop(direction).set()

        self._thread.look(heal)

    def reset(self, parties: Collection[int]) -> None:
        """Break all connections between these; both sides are told."""
        self._do_between(parties, Connection.reset)

    def half_open(self, parties: Collection[int]) -> None:
        """Break all connections between these; only the side that was called is told, the caller never hears again."""
        self._do_between(parties, Connection.half_open)

    def _do_between(self, parties: Collection[int], do: Callable[[Connection], None]) -> None:
        def do_all() -> None:
            for connection in self._connections:
                if connection.caller in parties and connection.called in parties:
                    do(connection)

        self._thread.look(do_all)

    async def _open(self, node_id: int, listener: Endpoint) -> asyncio.Server:
        async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            connection = Connection(node_id, reader, writer, enter=self._enter, way=self._way, party_of=_party_of)
            self._connections.add(connection)
            try:
                await connection.serve(listener)
            finally:
                self._connections.discard(connection)

        return await asyncio.start_server(serve, HOST)

    async def _close(self) -> None:
        for server in self._servers.values():
            server.close()
        for connection in self._connections:
            connection.reset()
        while self._connections:
            await asyncio.sleep(0)

    def _enter(self, direction: Direction) -> None:
        if direction in self._refused:
            raise ConnectionResetError

    async def _way(self, direction: Direction) -> None:
        """Return when nothing is in the way."""
        while (cut := self._cuts.get(direction)) is not None:
            await cut.wait()


def _party_of(client_id: bytes) -> int:
    return int(client_id.removeprefix(_NODES_CLIENT_ID)) if client_id.startswith(_NODES_CLIENT_ID) else CLIENTS
