"""The other voter of a quorum of two, played by the test, which chooses its responses."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from types import TracebackType
from typing import Any, Self, TypeVar, cast

from raft.codec import Message
from raft.core import messages as core
from raft.node.listener import Listener
from raft.types import Endpoint, Epoch, LeaderAndEpoch
from raft.wire.apis import APIS
from raft.wire.frames import FrameReader, ReceivedRequest, decode_request, encode_response
from raft.wire.mapping.partition import TopicPartition
from raft.wire.mapping.replica_messages import request_from_wire, response_to_wire
from raft.wire.messages.api_versions import ApiVersion, ApiVersionsRequest, ApiVersionsResponse
from tests.node.harness.loop import LoopThread
from tests.node.harness.properties import TOPIC
from tests.node.harness.requests import TOPIC_ID
from tests.node.harness.waiting import eventually

OURS = TopicPartition(topic_name=TOPIC, topic_id=TOPIC_ID)

Sent = TypeVar("Sent")
Answer = core.Response | bytes | None
"""A response; bytes to send as they are; None for no response."""

Play = Callable[[core.OutgoingRequest], Answer]


class Peer:
    """Listens on the endpoint of the other voter.

    Args:
        thread: the thread of its event loop.
        endpoint: the endpoint to listen on.
        play: returns the response to a request of the node; called on the event loop.
    """

    def __init__(self, thread: LoopThread, endpoint: Endpoint, play: Play) -> None:
        self._thread = thread
        self._listener = Listener(endpoint, lambda: _Line(self))
        self.endpoint = endpoint
        self.play = play
        self.versions: Callable[[int], bytes | ApiVersionsResponse] = lambda _version: serving_all()
        self.received: list[core.OutgoingRequest] = []
        self.connections = 0
        self._open: set[asyncio.Transport] = set()

    def __enter__(self) -> Self:
        self._thread.run(self._listener.open())
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._thread.run(self._close())

    @property
    def has_connections(self) -> bool:
        """Whether the node is connected."""
        return bool(self._open)

    def hang_up(self) -> None:
        """Close every connection."""

        def close_all() -> None:
            for transport in list(self._open):
                transport.abort()

        self._thread.look(close_all)

    def wait_for_requests(self, request: type[Sent], *, times: int = 1) -> list[Sent]:
        """Wait until the node has sent so many requests of a class, and return all of them."""
        eventually(lambda: len(self._received(request)) >= times, f"{times} {request.__name__} in {self.received}")
        return self._received(request)

    def _received(self, request: type[Sent]) -> list[Sent]:
        return [each for each in self.received if isinstance(each, request)]

    async def _close(self) -> None:
        await self._listener.close()
        for _ in range(2):  # Connections that were being accepted are among the open ones a step later.
            await asyncio.sleep(0)
            for transport in self._open:
                transport.abort()


class _Line(asyncio.Protocol):
    """One connection from the node under test."""

    def __init__(self, peer: Peer) -> None:
        self._peer = peer
        self._frames = FrameReader(1 << 24)

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)
        self._peer.connections += 1
        self._peer._open.add(self._transport)

    def connection_lost(self, exc: Exception | None) -> None:
        self._peer._open.discard(self._transport)

    def data_received(self, data: bytes) -> None:
        for frame in self._frames.receive(data):
            received = decode_request(frame)
            assert isinstance(received, ReceivedRequest), "the node sends supported requests"
            self._transport.write(self._respond(received))

    def _respond(self, received: ReceivedRequest) -> bytes:
        version = received.header.request_api_version
        response: Any
        if isinstance(received.message, ApiVersionsRequest):
            response = self._peer.versions(version)
        else:
            request = request_from_wire(received.message, OURS, version)
            assert not isinstance(request, core.UnknownPartitionRequest), "nodes name their one partition"
            self._peer.received.append(request)
            response = _to_wire(received.message, self._peer.play(request), version)
        if isinstance(response, bytes):
            return response
        return encode_response(response, version, correlation_id=received.header.correlation_id)


def _to_wire(request: Message, response: Answer, version: int) -> Message | bytes:
    if response is None:
        return b""
    if isinstance(response, bytes):
        return response
    records = b"".join(batch.payload for batch in getattr(response, "batches", ()))
    return response_to_wire(request, response, OURS, version, records)


def serving_all() -> ApiVersionsResponse:
    """All that our nodes serve."""
    return ApiVersionsResponse(
        error_code=0,
        api_keys=tuple(
            ApiVersion(api_key=key, min_version=api.versions.lowest, max_version=api.versions.highest)
            for key, api in APIS.items()
        ),
    )


def friendly(request: core.OutgoingRequest) -> Answer:
    """Grant every vote, accept every leader, and have no records."""
    no_leader = LeaderAndEpoch(epoch=Epoch(max(request.epoch, 0)))
    match request:
        case core.VoteRequest():
            return core.VoteResponse(leader=no_leader, vote_granted=True)
        case core.BeginQuorumEpochRequest():
            return core.BeginQuorumEpochResponse(leader=request.leader)
        case core.EndQuorumEpochRequest():
            return core.EndQuorumEpochResponse(leader=no_leader)
        case core.FetchRequest() | core.RepairFetchRequest():
            return core.FetchResponse(error=6, leader=no_leader)
        case core.FetchSnapshotRequest():
            return core.RequestRefused(error=-1)
