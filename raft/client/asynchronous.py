"""The driver of a session for asyncio."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from types import TracebackType
from typing import Concatenate, ParamSpec, Self, assert_never

from raft.client.asyncio_connection import AsyncioConnection
from raft.client.failures import in_words
from raft.client.session import Deadline, Session
from raft.client.settings import ClientSettings
from raft.client.steps import Ask, Await, GiveUp, Operation, Outcome, Pause, Result, Step
from raft.errors import CONNECT_ERRORS, LocalProtocolError, ProtocolError
from raft.types import Endpoint, Epoch

Arguments = ParamSpec("Arguments")


class AsyncClient:
    """A client of one quorum, for one task at a time.

        async with AsyncClient(settings) as client:
            appended = await client.call(calls.append, batch)

    Args:
        settings: where the quorum is.
        epoch: the highest leader epoch known from before.
    """

    def __init__(self, settings: ClientSettings, *, epoch: Epoch = Epoch(0)) -> None:
        self.settings = settings
        self._session = Session(settings, epoch=epoch)
        self._connections: dict[Endpoint, AsyncioConnection] = {}

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close all connections; a later call opens new ones."""
        for connection in self._connections.values():
            connection.close()
        self._connections.clear()

    async def call(
        self,
        begin: Callable[Concatenate[Session, Deadline, Arguments], Operation[Result]],
        *args: Arguments.args,
        **kwargs: Arguments.kwargs,
    ) -> Result:
        """Carry out one of `raft.client.calls`; it raises what that raises."""
        deadline = Deadline(started_ms=_now_ms(), timeout_ms=self.settings.api_timeout_ms)
        operation = begin(self._session, deadline, *args, **kwargs)
        try:
            step = next(operation)
            while True:
                step = operation.send(await self._carry_out(step))
        except StopIteration as end:
            result: Result = end.value
            return result
        finally:
            self._give_up_requests()

    def _give_up_requests(self) -> None:
        """Close the connections whose request is still in flight, after an error or a cancellation."""
        for endpoint in [endpoint for endpoint, connection in self._connections.items() if connection.is_asking]:
            self._close(endpoint)

    async def _carry_out(self, step: Step) -> Outcome:
        match step:
            case Pause():
                await asyncio.sleep(step.duration_ms / 1000)
            case GiveUp():
                self._close(step.endpoint)
            case Ask() | Await():
                return await self._wait(step)
            case _:
                assert_never(step)
        return Outcome(now_ms=_now_ms())

    async def _wait(self, step: Ask | Await) -> Outcome:
        """Wait for an answer, of a new request or of the one in flight."""
        try:
            connection = self._connections.get(step.endpoint)
            if connection is None:
                connection = AsyncioConnection(step.endpoint, self.settings.client_id)
                self._connections[step.endpoint] = connection
            if isinstance(step, Ask):
                connection.begin(step.request, step.timeout_ms)
            answer = await connection.wait(step.patience_ms)
        except LocalProtocolError:
            raise
        except (*CONNECT_ERRORS, ProtocolError) as error:
            self._close(step.endpoint)
            return Outcome(now_ms=_now_ms(), failure=in_words(error))
        return Outcome(now_ms=_now_ms(), answer=answer, is_pending=answer is None)

    def _close(self, endpoint: Endpoint) -> None:
        connection = self._connections.pop(endpoint, None)
        if connection is not None:
            connection.close()


def _now_ms() -> int:
    return int(asyncio.get_running_loop().time() * 1000)
