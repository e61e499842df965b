"""Requests that a node forwards to the leader, in the version of the client; equal requests are sent once."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from raft.codec import Message
from raft.config.security import NO_SECURITY
from raft.local.ports import free_ports
from raft.node.leader_relay import _MAX_WAITING, LeaderRelay
from raft.security.client_protection import ClientProtection
from raft.types import Endpoint
from raft.wire.apis import DESCRIBE_QUORUM
from raft.wire.frames import FrameReader, ReceivedRequest, decode_request, encode_response
from raft.wire.headers import RELAY_CLIENT_ID
from raft.wire.messages.api_versions import ApiVersion, ApiVersionsRequest, ApiVersionsResponse
from raft.wire.messages.describe_quorum import (
    DescribeQuorumRequest,
    DescribeQuorumRequestPartition,
    DescribeQuorumRequestTopic,
    DescribeQuorumResponse,
)
from tests.hang import HANG_S
from tests.node.harness.properties import HOST

REQUEST = DescribeQuorumRequest(topics=())
RESPONSE = DescribeQuorumResponse(error_code=0, topics=(), nodes=())


class Leader:
    """Serves DescribeQuorum up to a version, and counts its connections and requests."""

    def __init__(self, highest_version: int, *, garbage: bytes | None = None) -> None:
        self._api_versions = ApiVersionsResponse(
            error_code=0,
            api_keys=(ApiVersion(api_key=DESCRIBE_QUORUM.key, min_version=0, max_version=highest_version),),
        )
        self._garbage = garbage
        self.connections = 0
        self.versions: list[int] = []
        self.were_forwarded: list[bool] = []

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        frames = FrameReader(1 << 20)
        while data := await reader.read(1 << 16):
            for frame in frames.receive(data):
                request = decode_request(frame)
                assert isinstance(request, ReceivedRequest)
                writer.write(self._respond(request))
        writer.close()

    def _respond(self, request: ReceivedRequest) -> bytes:
        header = request.header
        response: Message = self._api_versions
        if not isinstance(request.message, ApiVersionsRequest):
            self.versions.append(header.request_api_version)
            self.were_forwarded.append(header.client_id == RELAY_CLIENT_ID)
            if self._garbage is not None:
                return self._garbage
            response = RESPONSE
        return encode_response(response, header.request_api_version, correlation_id=header.correlation_id)


@asynccontextmanager
async def listening(leader: Leader) -> AsyncIterator[Endpoint]:
    server = await asyncio.start_server(leader.serve, HOST, 0)
    async with server:
        yield Endpoint(HOST, server.sockets[0].getsockname()[1])


def new_relay() -> LeaderRelay:
    return LeaderRelay(ClientProtection(NO_SECURITY))


async def forwarded(relay: LeaderRelay, endpoint: Endpoint, *versions: int) -> list[Message | None]:
    """The responses to requests of these versions, sent at the same time; None where there is none."""
    loop = asyncio.get_running_loop()
    waiting: list[asyncio.Future[Message | None]] = [loop.create_future() for _ in versions]
    for version, future in zip(versions, waiting, strict=True):
        relay.ask(
            endpoint,
            REQUEST,
            version,
            on_response=future.set_result,
            otherwise=lambda future=future: future.set_result(None),  # type: ignore[misc]
        )
    async with asyncio.timeout(HANG_S):
        return await asyncio.gather(*waiting)


@pytest.mark.parametrize("version", [*DESCRIBE_QUORUM.versions])
@pytest.mark.rule("DESCRIBE-13", "DESCRIBE-14")
def test_relay_forwards_a_request_in_the_version_of_the_client(version: int) -> None:
    async def run() -> None:
        leader = Leader(DESCRIBE_QUORUM.versions.highest)
        async with listening(leader) as endpoint:
            assert await forwarded(new_relay(), endpoint, version) == [RESPONSE]

        assert leader.versions == [version]
        assert leader.were_forwarded == [True], "the leader of a moment ago must not forward it again"

    asyncio.run(run())


@pytest.mark.rule("DESCRIBE-14")
def test_relay_sends_the_same_request_once_and_others_on_the_same_connection() -> None:
    async def run() -> None:
        leader = Leader(DESCRIBE_QUORUM.versions.highest)
        async with listening(leader) as endpoint:
            assert await forwarded(new_relay(), endpoint, 2, 1, 2, 0) == [RESPONSE] * 4

        assert leader.versions == [2, 1, 0]
        assert leader.connections == 1

    asyncio.run(run())


@pytest.mark.rule("DESCRIBE-13")
def test_relay_forwards_nothing_in_a_version_that_the_leader_does_not_support() -> None:
    async def run() -> None:
        leader = Leader(1)
        async with listening(leader) as endpoint:
            assert await forwarded(new_relay(), endpoint, 2, 1) == [None, RESPONSE]

        assert leader.versions == [1]

    asyncio.run(run())


@pytest.mark.parametrize("garbage", [b"\xff" * 8, encode_response(RESPONSE, 2, correlation_id=9)])
@pytest.mark.rule("DESCRIBE-13")
def test_relay_gives_no_response_when_the_leader_sends_invalid_data(garbage: bytes) -> None:
    async def run() -> None:
        leader = Leader(2, garbage=garbage)
        async with listening(leader) as endpoint:
            assert await forwarded(new_relay(), endpoint, 2) == [None]

    asyncio.run(run())


@pytest.mark.rule("DESCRIBE-13")
def test_relay_gives_no_response_when_no_node_listens() -> None:
    async def run() -> None:
        assert await forwarded(new_relay(), Endpoint(HOST, free_ports(1)[0]), 2) == [None]

    asyncio.run(run())


@pytest.mark.rule("DESCRIBE-14")
def test_relay_refuses_requests_above_its_limit_and_keeps_nothing_of_them() -> None:
    def request(number: int) -> DescribeQuorumRequest:
        partition = DescribeQuorumRequestPartition(partition_index=number)
        return DescribeQuorumRequest(topics=(DescribeQuorumRequestTopic(topic_name="", partitions=(partition,)),))

    async def run() -> None:
        refused: list[int] = []
        leader = Leader(DESCRIBE_QUORUM.versions.highest)
        async with listening(leader) as endpoint:
            relay = new_relay()
            for number in range(_MAX_WAITING + 5):
                relay.ask(
                    endpoint,
                    request(number),
                    2,
                    on_response=lambda _: None,
                    otherwise=lambda number=number: refused.append(number),  # type: ignore[misc]
                )
            assert refused == [*range(_MAX_WAITING, _MAX_WAITING + 5)]
            assert await forwarded(relay, endpoint, 2) == [None], "the relay is full"
            async with asyncio.timeout(HANG_S):
                while relay._waiting:
                    await asyncio.sleep(0)
            assert await forwarded(relay, endpoint, 1) == [RESPONSE], "the relay is empty again"

        assert leader.versions == [2] * _MAX_WAITING + [1]

    asyncio.run(run())
