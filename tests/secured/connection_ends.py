"""An event loop of asyncio that leaves no connection open when it ends, whatever the program that ran in it does.

aiokafka closes its connections without waiting for their end. With TLS, a connection stays open until the node has
closed it too; on a busy machine that is after the loop has ended. Python then warns of the open socket, in any later
test.
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

Result = TypeVar("Result")


class _Loop(asyncio.SelectorEventLoop):
    """Remembers the connections that were opened."""

    def __init__(self) -> None:
        super().__init__()
        self._opened: list[asyncio.Transport] = []

    async def create_connection(self, *arguments: Any, **options: Any) -> Any:
        transport, protocol = await super().create_connection(*arguments, **options)
        self._opened.append(transport)
        return transport, protocol

    async def abort_connections(self) -> None:
        """End all connections, without waiting for their other ends."""
        for transport in self._opened:
            transport.abort()
        await asyncio.sleep(0)


def run(program: Coroutine[Any, Any, Result]) -> Result:
    """Run a program as `asyncio.run` does, then end the connections that it has left open."""
    with asyncio.Runner(loop_factory=_Loop) as runner:
        try:
            return runner.run(program)
        finally:
            loop = runner.get_loop()
            assert isinstance(loop, _Loop)
            runner.run(loop.abort_connections())
