"""The client for asyncio."""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import Callable
from types import TracebackType
from typing import Self, TypeVar, assert_never

from raft.client import calls, descriptions
from raft.client.asyncio_connection import AsyncioConnection
from raft.client.blocking import Client
from raft.client.driver import Arguments, AwaitExchange, Call, Driver, Sleep
from raft.client.exchange import Exchange
from raft.client.results import Appended, Fetched, FoundOffset, QuorumDescription
from raft.client.session import Session
from raft.client.settings import ClientSettings
from raft.client.steps import Result
from raft.config.paths import file_path
from raft.config.security import NO_SECURITY
from raft.security.client_protection import ClientProtection
from raft.security.references import Locate
from raft.types import Endpoint, Epoch, Offset, OffsetAndEpoch
from raft.writers import WriteId

_logger = logging.getLogger(__name__)


Method = TypeVar("Method", bound=Callable[..., object])


def _documented_as(original: Callable[..., object]) -> Callable[[Method], Method]:
    """Give a method the docstring of the method of `Client` that does the same."""

    def copy(method: Method) -> Method:
        method.__doc__ = original.__doc__
        return method

    return copy


class AsyncClient:
    """A client of one quorum, for one task at a time. Its methods are those of `Client`.

        async def main() -> None:
            async with AsyncClient("localhost:9092") as client:
                fetched = await client.fetch(Offset(0))

        asyncio.run(main())

    A task that is cancelled gives its request up: the connection is closed, and the next call opens another one.

    Args:
        settings: where the quorum is, and how long to wait for it; or only the nodes to ask first, as
            "host:port,host:port,...".
        epoch: the highest leader epoch known from before, such as from a checkpoint. Responses of leaders of lower
            epochs are not accepted.
        locate: finds the files that the settings name, such as certificates.
    """

    def __init__(self, settings: ClientSettings | str, *, epoch: Epoch = Epoch(0), locate: Locate = file_path) -> None:
        self.settings = settings = ClientSettings.of(settings) if isinstance(settings, str) else settings
        self._session = Session(settings, epoch=epoch, turn=os.getpid(), report=_logger.warning)
        self._driver = Driver(self._session, self._open_connection)
        self._protection = ClientProtection(settings.security or NO_SECURITY, locate, _logger.warning)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close all connections; a later call opens new ones."""
        self._driver.close()

    @property
    def cluster_id(self) -> str | None:
        """The id of the cluster; None before the first response."""
        return self._session.cluster_id

    @property
    def epoch(self) -> Epoch:
        """The highest leader epoch seen."""
        return self._session.epoch

    @_documented_as(Client.append)
    async def append(self, batch: bytes, *, transactional_id: str | None = None) -> Appended:
        return await self.call(calls.append, batch, transactional_id=transactional_id)

    @_documented_as(Client.abort_write)
    async def abort_write(self, write: WriteId) -> None:
        await self.call(calls.abort_write, write)

    @_documented_as(Client.new_producer_id)
    async def new_producer_id(self) -> int:
        return await self.call(calls.new_producer_id)

    @_documented_as(Client.fetch)
    async def fetch(self, start_offset: Offset, *, max_bytes: int = 1 << 20, max_wait_ms: int = 500) -> Fetched:
        return await self.call(calls.fetch_committed, start_offset, max_bytes=max_bytes, max_wait_ms=max_wait_ms)

    @_documented_as(Client.find_offset)
    async def find_offset(self, timestamp: int) -> FoundOffset | None:
        return await self.call(calls.find_offset, timestamp)

    @_documented_as(Client.end_of_epoch)
    async def end_of_epoch(self, epoch: Epoch) -> OffsetAndEpoch | None:
        return await self.call(calls.end_of_epoch, epoch)

    @_documented_as(Client.describe_quorum)
    async def describe_quorum(self) -> QuorumDescription:
        return await self.call(descriptions.describe_quorum)

    async def call(self, begin: Call[Arguments, Result], *args: Arguments.args, **kwargs: Arguments.kwargs) -> Result:
        """Carry out one of `raft.client.calls`; it raises what that raises.

        Args:
            begin: the call.
            args: its arguments after session and deadline.
            kwargs: its keyword arguments.
        """
        clock = asyncio.get_running_loop().time
        waits = self._driver.call(int(clock() * 1000), begin, *args, **kwargs)
        try:
            wait = next(waits)
            while True:
                match wait:
                    case AwaitExchange():
                        await wait.transport.wait(wait.until_ms)
                    case Sleep():
                        await asyncio.sleep(wait.until_ms / 1000 - clock())
                    case _:
                        assert_never(wait)
                wait = waits.send(int(clock() * 1000))
        except StopIteration as end:
            result: Result = end.value
            return result
        finally:
            waits.close()

    def _open_connection(self, endpoint: Endpoint) -> AsyncioConnection:
        protection = self._protection.of_connection(endpoint.host)
        return AsyncioConnection(endpoint, Exchange(self.settings.client_id, protection))
