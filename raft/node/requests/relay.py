"""Handing a client's DescribeQuorum on to the leader, as Kafka's brokers do.

Java's AdminClient, told of brokers, sends DescribeQuorum to any of them, and then again and again to the one that it is
connected to: a follower that answered 6 would never be left for the leader.

Source: KafkaApis.handle (DESCRIBE_QUORUM is forwarded to the controller); KafkaAdminClient.describeMetadataQuorum,
NetworkClient.leastLoadedNode.
"""

from __future__ import annotations

import asyncio
import logging
import struct

from raft.codec import Message
from raft.errors import CONNECT_ERRORS, DecodeError
from raft.node.respond import Respond
from raft.types import Endpoint
from raft.wire.apis import APIS
from raft.wire.frames import decode_response, encode_request
from raft.wire.headers import RequestHeader

_logger = logging.getLogger(__name__)

_CLIENT_ID = "raft-relay"
_LONGEST_S = 2.0
_MAX_FRAME_BYTES = 1 << 20
_SIZE = struct.Struct(">i")

_running: set[asyncio.Task[None]] = set()


def is_relayed(header: RequestHeader) -> bool:
    """Whether a node has handed the request on; it is not handed on twice, or two that err might play ping-pong."""
    return header.client_id == _CLIENT_ID


def relay_to_leader(leader: Endpoint, request: Message, version: int, respond: Respond, otherwise: Message) -> None:
    """Answer with what the leader answers; with `otherwise` if it gives no answer in time."""

    async def relay() -> None:
        try:
            async with asyncio.timeout(_LONGEST_S):
                answer = await _ask(leader, request, version)
        except (*CONNECT_ERRORS, asyncio.IncompleteReadError, DecodeError) as error:
            _logger.debug("the leader at %s did not answer what was handed on: %r", leader, error)
            answer = otherwise
        respond(answer)

    task = asyncio.get_running_loop().create_task(relay())
    _running.add(task)
    task.add_done_callback(_running.discard)


async def _ask(leader: Endpoint, request: Message, version: int) -> Message:
    reader, writer = await asyncio.open_connection(leader.host, leader.port)
    try:
        writer.write(encode_request(request, version, correlation_id=0, client_id=_CLIENT_ID))
        (size,) = _SIZE.unpack(await reader.readexactly(_SIZE.size))
        if not 0 <= size <= _MAX_FRAME_BYTES:
            raise DecodeError(f"an answer of {size} bytes")
        frame = await reader.readexactly(size)
        answer: Message = decode_response(frame, APIS[request.__schema__.api_key or 0], version)[1]
        return answer
    finally:
        writer.close()
