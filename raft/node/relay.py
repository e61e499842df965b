"""Handing a client's DescribeQuorum on to the leader, as Kafka's brokers do.

Java's AdminClient, told of brokers, sends DescribeQuorum to any of them, and then again and again to the one that it is
connected to: a follower that answered 6 would never be left for the leader.

There is one connection to the leader, however many ask: a question that is under way already answers for all who put
the same one meanwhile.

Source: KafkaApis.handle (DESCRIBE_QUORUM is forwarded to the controller); KafkaAdminClient.describeMetadataQuorum,
NetworkClient.leastLoadedNode.
"""

from __future__ import annotations

import asyncio
import logging
import struct
from collections.abc import Callable
from dataclasses import dataclass

from raft.codec import Message
from raft.errors import CONNECT_ERRORS, DecodeError
from raft.runtime.requests.relay import RELAY_CLIENT_ID
from raft.types import Endpoint
from raft.wire.apis import APIS
from raft.wire.frames import decode_response, encode_request

_logger = logging.getLogger(__name__)

_LONGEST_S = 2.0
_MAX_FRAME_BYTES = 1 << 20
_MOST_WAITING = 1000
_SIZE = struct.Struct(">i")

_FAILURES = (*CONNECT_ERRORS, asyncio.IncompleteReadError, DecodeError)


@dataclass(frozen=True, slots=True)
class _Asker:
    """Whom to tell."""

    answered: Callable[[Message], None]
    otherwise: Callable[[], None]


class Relay:
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
        answered: Callable[[Message], None],
        otherwise: Callable[[], None],
    ) -> None:
        """Call `answered` with what the leader answers; `otherwise` if it does not in time, or too many ask."""
        waiting = self._asked.setdefault((leader, request, version), [])
        if sum(map(len, self._asked.values())) >= _MOST_WAITING:
            otherwise()
            return
        waiting.append(_Asker(answered, otherwise))
        if self._task is None:
            self._task = asyncio.get_running_loop().create_task(self._work())

    def close(self) -> None:
        """Give up what is under way."""
        if self._task is not None:
            self._task.cancel()

    async def _work(self) -> None:
        connection: tuple[Endpoint, asyncio.StreamReader, asyncio.StreamWriter] | None = None
        try:
            while self._asked:
                leader, request, version = question = next(iter(self._asked))
                answer: Message | None = None
                try:
                    async with asyncio.timeout(_LONGEST_S):
                        if connection is None or connection[0] != leader:
                            _close(connection)
                            connection = None
                            connection = (leader, *await asyncio.open_connection(leader.host, leader.port))
                        answer = await _exchange(connection[1], connection[2], request, version)
                except _FAILURES as error:
                    _logger.debug("the leader at %s did not answer what was handed on: %r", leader, error)
                    _close(connection)
                    connection = None
                for asker in self._asked.pop(question):
                    if answer is None:
                        asker.otherwise()
                    else:
                        asker.answered(answer)
        finally:
            _close(connection)
            self._task = None


async def _exchange(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter, request: Message, version: int
) -> Message:
    writer.write(encode_request(request, version, correlation_id=0, client_id=RELAY_CLIENT_ID))
    (size,) = _SIZE.unpack(await reader.readexactly(_SIZE.size))
    if not 0 <= size <= _MAX_FRAME_BYTES:
        raise DecodeError(f"an answer of {size} bytes")
    frame = await reader.readexactly(size)
    answer: Message = decode_response(frame, APIS[request.__schema__.api_key or 0], version)[1]
    return answer


def _close(connection: tuple[Endpoint, asyncio.StreamReader, asyncio.StreamWriter] | None) -> None:
    if connection is not None:
        connection[2].close()
