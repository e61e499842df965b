"""The network between nodes and clients, with faults: a proxy stands in front of each node, of Kafka's or ours.

A node advertises its proxy as its address, so that nodes and clients connect to the proxy. The first request of a
connection shows which of them it is: the header of a request has a client id, and that of node 2 is `raft-client-2`.
The first bytes of a connection with TLS do not show it. Then the caller is found by the port of its socket.

A cut holds back the bytes of one direction, as a network that drops packets: no side is notified, new connections get
no response, and the end of a connection is not forwarded. When the cut ends, the bytes held back are delivered late, as
if the kernel had sent them again, or the connections that wait are reset.
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
"""All clients are one party; each node is a party with its id, from 1 up."""

_NODES_CLIENT_ID = b"raft-client-"

CallerOf = Callable[[int, int], int]
"""Returns the party that has a socket on this machine, by its port and the port that it is connected to."""


class Network:
    """Proxies in front of some nodes.

        with Network() as network:
            endpoint = network.open(1, Endpoint("127.0.0.1", 9093))
            network.cut({(1, 2), (2, 1)})

    The end of the block closes every connection.
    """

    def __init__(self) -> None:
        self._thread = LoopThread()
        self._connections: set[Connection] = set()
        self._cuts: dict[Direction, asyncio.Event] = {}
        self._refused: set[Direction] = set()
        self._servers: dict[int, list[asyncio.Server]] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._thread.run(self._close())
        self._thread.close()

    def open(self, node_id: int, listener: Endpoint, *, caller_of: CallerOf | None = None) -> Endpoint:
        """Open a proxy for a node, which need not run yet; return the address of the proxy.

        Args:
            node_id: the node.
            listener: where it listens.
            caller_of: finds the caller of a connection; None to read it from the first request.
        """
        server = self._thread.run(self._open(node_id, listener, caller_of))
        self._servers.setdefault(node_id, []).append(server)
        return _endpoint_of(server)

    def endpoint(self, node_id: int) -> Endpoint:
        """The address of the first proxy of a node."""
        return _endpoint_of(self._servers[node_id][0])

    def cut(self, directions: Iterable[Direction]) -> None:
        """Hold back all bytes that go in these directions."""

        def cut() -> None:
            for direction in directions:
                assert direction not in self._cuts, f"bytes in direction {direction} are held back already"
                self._cuts[direction] = asyncio.Event()

        self._thread.look(cut)

    def refuse(self, directions: Collection[Direction]) -> None:
        """Reset all connections that were opened in these directions, and new ones."""

        def refuse() -> None:
            self._refused.update(directions)
            for connection in self._connections:
                if (connection.caller, connection.called) in self._refused:
                    connection.reset()

        self._thread.look(refuse)

    def heal(self, directions: Collection[Direction], *, delivers_late: bool) -> None:
        """End a cut, or a refusal.

        Args:
            directions: those of the cut or the refusal.
            delivers_late: whether bytes that were held back are delivered now; else their connections are reset.
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
        """Reset all connections between these parties on both sides."""
        self._do_between(parties, Connection.reset)

    def half_open(self, parties: Collection[int]) -> None:
        """Close all connections between these parties on the side that accepted them; the caller is not notified."""
        self._do_between(parties, Connection.half_open)

    def _do_between(self, parties: Collection[int], do: Callable[[Connection], None]) -> None:
        def do_all() -> None:
            for connection in self._connections:
                if connection.caller in parties and connection.called in parties:
                    do(connection)

        self._thread.look(do_all)

    async def _open(self, node_id: int, listener: Endpoint, caller_of: CallerOf | None) -> asyncio.Server:
        async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            connection = Connection(node_id, reader, writer, enter=self._enter, way=self._way, party_of=_party_of)
            if caller_of is not None:
                peer, own = writer.get_extra_info("peername"), writer.get_extra_info("sockname")
                connection.caller = caller_of(peer[1], own[1])
            self._connections.add(connection)
            try:
                await connection.serve(listener)
            finally:
                self._connections.discard(connection)

        return await asyncio.start_server(serve, HOST)

    async def _close(self) -> None:
        for servers in self._servers.values():
            for server in servers:
                server.close()
        for connection in self._connections:
            connection.reset()
        while self._connections:
            await asyncio.sleep(0)

    def _enter(self, direction: Direction) -> None:
        if direction in self._refused:
            raise ConnectionResetError

    async def _way(self, direction: Direction) -> None:
        """Return once the direction is not cut."""
        while (cut := self._cuts.get(direction)) is not None:
            await cut.wait()


def _endpoint_of(server: asyncio.Server) -> Endpoint:
    return Endpoint(HOST, server.sockets[0].getsockname()[1])


def _party_of(client_id: bytes) -> int:
    return int(client_id.removeprefix(_NODES_CLIENT_ID)) if client_id.startswith(_NODES_CLIENT_ID) else CLIENTS
