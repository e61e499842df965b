"""One connection through a proxy, which carries bytes between a caller and a node."""

from __future__ import annotations

import asyncio
import socket
import struct
from collections.abc import Awaitable, Callable, Collection
from contextlib import suppress

from raft.types import Endpoint

Direction = tuple[int, int]
"""From which party, to which party; see `Network`."""

_READ_BYTES = 1 << 16
_HEADER_START = struct.Struct(">ihhih")
"""The begin of every request: size, API key, version, correlation id, length of the client id."""

_RESET_ON_CLOSE = struct.pack("ii", 1, 0)


class Connection:
    """Forwards bytes in both directions while they are open. It belongs to the task that makes it.

    Args:
        called: the id of the node.
        reader, writer: the streams of the caller.
        enter: raises ConnectionResetError if connections in this direction are refused.
        way: returns once this direction is open.
        party_of: returns the party that has this client id.

    Attributes:
        caller: the party that has opened it; None until it is known.
    """

    def __init__(
        self,
        called: int,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        *,
        enter: Callable[[Direction], None],
        way: Callable[[Direction], Awaitable[None]],
        party_of: Callable[[bytes], int],
    ) -> None:
        self.called = called
        self.caller: int | None = None
        self._reader = reader
        self._writers = [writer]
        self._enter = enter
        self._way = way
        self._party_of = party_of
        self._held: set[Direction] = set()
        self._is_half_open = False
        self._task = asyncio.current_task()

    async def serve(self, node: Endpoint) -> None:
        """Forward bytes until the connection ends."""
        # The node refuses it, or one side ends or resets it: the other side gets the end of the connection.
        with suppress(OSError, asyncio.IncompleteReadError, asyncio.CancelledError):
            try:
                await self._carry(node)
            except ConnectionResetError:
                self._prepare_reset()
            finally:
                for writer in self._writers:
                    writer.transport.abort()

    def is_held(self, directions: Collection[Direction]) -> bool:
        """Whether bytes are held back in one of these directions."""
        return not self._held.isdisjoint(directions)

    def reset(self) -> None:
        """Reset it on both sides at once."""
        self._prepare_reset()
        if self._task is not None:
            self._task.cancel()

    def half_open(self) -> None:
        """Close it on the side of the node alone: the caller is not notified, and what it sends is lost."""
        self._is_half_open = True
        for writer in self._writers[1:]:
            writer.transport.abort()

    def _prepare_reset(self) -> None:
        """Have both sides get an error when it is closed, instead of the end of the stream."""
        for writer in self._writers:
            # A socket that is closed cannot be reset.
            with suppress(OSError):
                writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET_ON_CLOSE)

    async def _carry(self, node: Endpoint) -> None:
        start = b"" if self.caller is not None else await self._read_caller()
        assert self.caller is not None, "it is known now"
        there, back = (self.caller, self.called), (self.called, self.caller)
        self._enter(there)
        await self._wait_for_way(there)
        reader, writer = await asyncio.open_connection(node.host, node.port)
        self._writers.append(writer)
        writer.write(start)
        async with asyncio.TaskGroup() as both_ways:
            both_ways.create_task(self._pump(self._reader, writer, there))
            both_ways.create_task(self._pump(reader, self._writers[0], back, is_response=True))

    async def _read_caller(self) -> bytes:
        """Read who the caller is; return what was read for that."""
        start = await self._reader.readexactly(_HEADER_START.size)
        client_id = await self._reader.readexactly(max(_HEADER_START.unpack(start)[-1], 0))
        self.caller = self._party_of(client_id)
        return start + client_id

    async def _pump(
        self,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        direction: Direction,
        *,
        is_response: bool = False,
    ) -> None:
        # A reset of one side is forwarded as the end of the stream.
        with suppress(OSError):
            while data := await reader.read(_READ_BYTES):
                await self._wait_for_way(direction)
                if not self._is_half_open:
                    writer.write(data)
                    await writer.drain()
        await self._wait_for_way(direction)
        if not (self._is_half_open and is_response):
            writer.close()
            with suppress(OSError):
                await writer.wait_closed()

    async def _wait_for_way(self, direction: Direction) -> None:
        self._held.add(direction)
        await self._way(direction)
        self._held.discard(direction)
