"""One connection through a proxy: bytes from the caller to the node, and back."""

from __future__ import annotations

import asyncio
import socket
import struct
from collections.abc import Awaitable, Callable, Collection
from contextlib import suppress

from raft.types import Endpoint

Direction = tuple[int, int]
"""From whom, to whom."""

_READ_BYTES = 1 << 16
_HEAD = struct.Struct(">ihhih")
"""Size, API key, version, correlation id, length of the client id: so begins every request."""

_RESET_ON_CLOSE = struct.pack("ii", 1, 0)


class Connection:
    """Carries bytes both ways, as long as there is a way. It belongs to the task that makes it.

    Args:
        called: the node.
        reader, writer: of the one who called.
        enter: raises ConnectionResetError if it may not be opened in a direction.
        way: returns when bytes may go in a direction.
        party_of: who has a client id.
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
        """Return when it has ended."""
        # Refused by the node, ended before it began, or reset: the other side learns it from the end of the connection.
        with suppress(OSError, asyncio.IncompleteReadError, asyncio.CancelledError):
            try:
                await self._carry(node)
            except ConnectionResetError:
                self._prepare_reset()
            finally:
                for writer in self._writers:
                    writer.transport.abort()

    def is_held(self, directions: Collection[Direction]) -> bool:
        """Whether something waits to go in one of these directions."""
        return not self._held.isdisjoint(directions)

    def reset(self) -> None:
        """Break it, at once and noticeably."""
        self._prepare_reset()
        if self._task is not None:
            self._task.cancel()

    def half_open(self) -> None:
        """Break it on the node's side alone: the caller is not told, and whatever it says is lost."""
        self._is_half_open = True
        for writer in self._writers[1:]:
            writer.transport.abort()

    def _prepare_reset(self) -> None:
        """Let both sides get an error when it is closed, not the end of a stream."""
        for writer in self._writers:
            # A side that is closed already cannot be reset.
            with suppress(OSError):
                writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET_ON_CLOSE)

    async def _carry(self, node: Endpoint) -> None:
        head = await self._reader.readexactly(_HEAD.size)
        client_id = await self._reader.readexactly(max(_HEAD.unpack(head)[-1], 0))
        self.caller = self._party_of(client_id)
        there, back = (self.caller, self.called), (self.called, self.caller)
        self._enter(there)
        await self._wait_for_way(there)
        reader, writer = await asyncio.open_connection(node.host, node.port)
        self._writers.append(writer)
        writer.write(head + client_id)
        async with asyncio.TaskGroup() as both_ways:
            both_ways.create_task(self._pump(self._reader, writer, there))
            both_ways.create_task(self._pump(reader, self._writers[0], back, is_back=True))

    async def _pump(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, direction: Direction, *, is_back: bool = False
    ) -> None:
        # A connection that breaks ends there, too, and that is passed on like any end.
        with suppress(OSError):
            while data := await reader.read(_READ_BYTES):
                await self._wait_for_way(direction)
                if not self._is_half_open:
                    writer.write(data)
                    await writer.drain()
        await self._wait_for_way(direction)
        if not (self._is_half_open and is_back):
            writer.close()
            with suppress(OSError):
                await writer.wait_closed()

    async def _wait_for_way(self, direction: Direction) -> None:
        self._held.add(direction)
        await self._way(direction)
        self._held.discard(direction)
