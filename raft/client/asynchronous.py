"""The driver of a session for asyncio."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from types import TracebackType
from typing import Concatenate, ParamSpec, Self

from raft.client.failures import in_words
from raft.client.session import Deadline, Session
from raft.client.settings import ClientSettings
from raft.client.steps import Ask, Operation, Outcome, Pause, Result
from raft.client.wire_connection import WireConnection
from raft.codec import Message
from raft.errors import CONNECT_ERRORS, LocalProtocolError, ProtocolError
from raft.types import Endpoint, Epoch
from raft.wire.messages.api_versions import ApiVersionsRequest

Arguments = ParamSpec("Arguments")

_READ_BYTES = 1 << 18


class _Connection:
    """A stream to one node."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, client_id: str) -> None:
        self._reader = reader
        self._writer = writer
        self._wire = WireConnection(client_id)

    @classmethod
    async def open(cls, endpoint: Endpoint, client_id: str) -> _Connection:
        reader, writer = await asyncio.open_connection(endpoint.host, endpoint.port)
        connection = cls(reader, writer, client_id)
        try:
            hello: bytes | None = connection._wire.hello()
            while hello is not None:
                hello = connection._wire.on_hello(await connection._exchange(hello))
        except BaseException:
            connection.close()
            raise
        return connection

    async def ask(self, request: Message) -> Message:
        if isinstance(request, ApiVersionsRequest) and self._wire.served is not None:
            return self._wire.served  # asked at the beginning
        return self._wire.answer(await self._exchange(self._wire.request(request)))

    def close(self) -> None:
        self._writer.close()

    async def _exchange(self, data: bytes) -> bytes:
        self._writer.write(data)
        await self._writer.drain()
        while True:
            received = await self._reader.read(_READ_BYTES)
            if not received:
                raise ConnectionError("the node closed the connection")
            frames = self._wire.frames(received)
            if frames:
                return frames[0]


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
        self._connections: dict[Endpoint, _Connection] = {}

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

    async def _carry_out(self, step: Ask | Pause) -> Outcome:
        if isinstance(step, Pause):
            await asyncio.sleep(step.duration_ms / 1000)
            return Outcome(now_ms=_now_ms())
        try:
            async with asyncio.timeout(step.timeout_ms / 1000):
                answer = await self._ask(step)
        except LocalProtocolError:
            raise
        except (*CONNECT_ERRORS, ProtocolError) as error:
            connection = self._connections.pop(step.endpoint, None)
            if connection is not None:
                connection.close()
            return Outcome(now_ms=_now_ms(), failure=in_words(error))
        return Outcome(now_ms=_now_ms(), answer=answer)

    async def _ask(self, step: Ask) -> Message:
        connection = self._connections.get(step.endpoint)
        if connection is None:
            connection = await _Connection.open(step.endpoint, self.settings.client_id)
            self._connections[step.endpoint] = connection
        return await connection.ask(step.request)


def _now_ms() -> int:
    return int(asyncio.get_running_loop().time() * 1000)
