"""A connection of the asyncio driver between two requests."""

from __future__ import annotations

import asyncio
from contextlib import suppress

import pytest

from raft.client import AsyncClient
from raft.client.session import Deadline, Session
from raft.client.steps import Ask, Operation, Reply
from raft.types import Endpoint
from raft.wire.frames import ReceivedRequest, decode_request, encode_response
from raft.wire.messages.api_versions import ApiVersionsRequest
from raft.wire.messages.metadata import MetadataRequest
from tests.client.driving import settings_of
from tests.client.table import metadata
from tests.hang import HANG_S
from tests.node.harness.peer import serving_all
from tests.node.harness.properties import HOST

LARGE_FRAME_BYTES = 60 << 20


class NodeWithUnrequestedData:
    """A node that sends data which responds to no request, after its responses to ApiVersions and Metadata."""

    def __init__(self, unrequested: bytes) -> None:
        self._unrequested = unrequested
        self.is_disconnected = asyncio.Event()

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Serve one connection until the client closes it."""
        with suppress(ConnectionError):
            for _ in range(2):
                size = int.from_bytes(await reader.readexactly(4), "big")
                request = decode_request(await reader.readexactly(size))
                assert isinstance(request, ReceivedRequest)
                header = request.header
                response = serving_all() if isinstance(request.message, ApiVersionsRequest) else metadata()
                writer.write(
                    encode_response(response, header.request_api_version, correlation_id=header.correlation_id)
                )
            await writer.drain()
            writer.write(self._unrequested)
            await reader.read()
        writer.close()
        self.is_disconnected.set()


@pytest.mark.parametrize(
    "unrequested",
    [
        pytest.param(b"\x00", id="one byte"),
        pytest.param(LARGE_FRAME_BYTES.to_bytes(4, "big") + b"the beginning", id="beginning of a large frame"),
    ],
)
def test_idle_connection_is_closed_when_the_node_sends_data_without_a_request(unrequested: bytes) -> None:
    async def ask_and_wait_until_disconnected() -> Reply:
        def ask(_session: Session, _deadline: Deadline) -> Operation[Reply]:
            return (yield Ask(endpoint=endpoint, request=MetadataRequest(topics=None), timeout_ms=10_000))

        node = NodeWithUnrequestedData(unrequested)
        server = await asyncio.start_server(node.serve, HOST, 0)
        endpoint = Endpoint(HOST, server.sockets[0].getsockname()[1])
        async with server, AsyncClient(settings_of(endpoint)) as client:
            outcome = await client.call(ask)
            async with asyncio.timeout(HANG_S):
                await node.is_disconnected.wait()
        return outcome

    assert asyncio.run(ask_and_wait_until_disconnected()).response == metadata()
