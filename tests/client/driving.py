"""The two drivers of a session, blocking and asyncio, with one interface."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from raft.client import AsyncClient, Client, ClientSettings
from raft.types import Endpoint


class Blocking:
    """The blocking driver."""

    def __init__(self, settings: ClientSettings) -> None:
        self.client = Client(settings)

    def call(self, begin: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        return self.client.call(begin, *args, **kwargs)

    def close(self) -> None:
        self.client.close()

    def end(self) -> None:
        self.client.close()


class Asynchronous:
    """The asyncio driver, on its own event loop."""

    def __init__(self, settings: ClientSettings) -> None:
        self._runner = asyncio.Runner()
        self.client = AsyncClient(settings)

    def call(self, begin: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        return self._runner.run(self.client.call(begin, *args, **kwargs))

    def close(self) -> None:
        self._runner.run(self._close())

    def end(self) -> None:
        self.close()
        self._runner.close()

    async def _close(self) -> None:
        self.client.close()
        await asyncio.sleep(0)


Driver = Blocking | Asynchronous
Drive = Callable[[ClientSettings], Driver]


def settings_of(*servers: Endpoint, api_timeout_ms: int = 10_000, request_timeout_ms: int = 2_000) -> ClientSettings:
    return ClientSettings(
        bootstrap_servers=servers, api_timeout_ms=api_timeout_ms, request_timeout_ms=request_timeout_ms
    )
