"""Forwards a client's DescribeQuorum to the leader, as Kafka's brokers do.

Java's AdminClient, if it is given brokers, sends DescribeQuorum to any of them, and repeats it on the connection that
it has: a follower that responded with NOT_LEADER_OR_FOLLOWER would be asked again and again.

There is one connection to the leader for all clients. A request that is in flight already is not sent again: its
response goes to every client that sent the same one meanwhile.

Source: KafkaApis.handle (DESCRIBE_QUORUM is forwarded to the controller); KafkaAdminClient.describeMetadataQuorum,
NetworkClient.leastLoadedNode.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from dataclasses import dataclass

from raft.codec import Message
from raft.errors import CONNECT_ERRORS, ProtocolError
from raft.runtime.requests.relay import RELAY_CLIENT_ID
from raft.types import Endpoint
from raft.wire.connection import Connection, ConnectionState, InvalidDataReceived, ResponseReceived, VersionsNegotiated

_logger = logging.getLogger(__name__)

_LONGEST_S = 2.0
_MAX_FRAME_BYTES = 1 << 20
_MOST_WAITING = 1000
_READ_BYTES = 1 << 16

_FAILURES = (*CONNECT_ERRORS, ProtocolError)


@dataclass(frozen=True, slots=True)
class _Asker:
    """Whom to tell."""

    on_response: Callable[[Message], None]
    otherwise: Callable[[], None]


class LeaderRelay:
    """Puts questions to the leader, one after the other."""

    def __init__(self) -> None:
        self._asked: dict[tuple[Endpoint, Message, int], list[_Asker]] = {}
        self._task: asyncio.Task[None] | None = None

    def ask(
        self,
        leader: Endpoint,
        request: Message,
        version: int,
        *,
        on_response: Callable[[Message], None],
        otherwise: Callable[[], None],
    ) -> None:
        """Call `answered` with what the leader answers; `otherwise` if it does not in time, or too many ask."""
        waiting = self._asked.setdefault((leader, request, version), [])
        if sum(map(len, self._asked.values())) >= _MOST_WAITING:
            otherwise()
            return
        waiting.append(_Asker(on_response, otherwise))
        if self._task is None:
            self._task = asyncio.get_running_loop().create_task(self._work())

    def close(self) -> None:
        """Give up what is under way."""
        if self._task is not None:
            self._task.cancel()

    async def _work(self) -> None:
        connection: _LeaderConnection | None = None
        try:
            while self._asked:
                leader, request, version = question = next(iter(self._asked))
                answer: Message | None = None
                try:
                    async with asyncio.timeout(_LONGEST_S):
                        if connection is None or connection.leader != leader:
                            _close(connection)
                            connection = None
                            streams = await asyncio.open_connection(leader.host, leader.port)
                            connection = _LeaderConnection(leader, *streams)
                        answer = await connection.ask(request, version)
                except _FAILURES as error:
                    _logger.debug("the leader at %s did not respond to a forwarded request: %r", leader, error)
                    _close(connection)
                    connection = None
                for asker in self._asked.pop(question):
                    if answer is None:
                        asker.otherwise()
                    else:
                        asker.on_response(answer)
        finally:
            _close(connection)
            self._task = None


class _LeaderConnection:
    """A connection to the leader, with one request in flight at a time."""

    def __init__(self, leader: Endpoint, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.leader = leader
        self.writer = writer
        self._reader = reader
        self._connection = Connection[None](client_id=RELAY_CLIENT_ID, max_frame_bytes=_MAX_FRAME_BYTES)

    async def ask(self, request: Message, version: int) -> Message:
        """Send a request in the version that the client chose, and return the response.

        Raises:
            OSError: the connection is lost.
            ProtocolError: the leader does not support the version, or its response cannot be decoded.
        """
        if self._connection.state is ConnectionState.NEGOTIATING:
            await self._next_event()
        self._connection.send_request(request, tag=None, version=version)
        event = await self._next_event()
        assert isinstance(event, ResponseReceived), "versions are negotiated once"
        return event.message

    async def _next_event(self) -> VersionsNegotiated | ResponseReceived[None]:
        while True:
            self.writer.write(self._connection.data_to_send())
            data = await self._reader.read(_READ_BYTES)
            if not data:
                raise ConnectionError("the leader closed the connection")
            for event in self._connection.receive_data(data):
                if isinstance(event, InvalidDataReceived):
                    raise event.error
                return event


def _close(connection: _LeaderConnection | None) -> None:
    if connection is not None:
        connection.writer.close()
