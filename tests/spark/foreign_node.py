"""A node that is not of this project: it speaks Kafka's protocol, leads, and does not judge the keys of writes."""

from __future__ import annotations

import socketserver
import threading
from types import TracebackType
from typing import Self

from raft.codec import Message
from raft.wire.apis import APIS
from raft.wire.frames import FrameReader, ReceivedRequest, decode_request, encode_response
from raft.wire.messages.api_versions import ApiVersion, ApiVersionsRequest, ApiVersionsResponse
from raft.wire.messages.metadata import (
    MetadataRequest,
    MetadataResponse,
    MetadataResponseBroker,
    MetadataResponsePartition,
    MetadataResponseTopic,
)

CLUSTER_ID = "Some-other-Kafka-A-id-"
_LARGEST_FRAME = 1 << 20


class ForeignNode:
    """Serves ApiVersions and Metadata, and notes what else it is asked."""

    def __init__(self) -> None:
        node = self
        self.asked: list[str] = []

        class Handler(socketserver.BaseRequestHandler):
            def handle(self) -> None:
                frames = FrameReader(_LARGEST_FRAME)
                while data := self.request.recv(_LARGEST_FRAME):
                    for frame in frames.receive(data):
                        self.request.sendall(node._answer(frame))

        self._server = socketserver.ThreadingTCPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, name="foreign node")

    @property
    def servers(self) -> str:
        """Where it listens."""
        return f"127.0.0.1:{self._server.server_address[1]}"

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def _answer(self, frame: bytes) -> bytes:
        request = decode_request(frame)
        assert isinstance(request, ReceivedRequest), "clients ask for what is served"
        response: Message
        match request.message:
            case ApiVersionsRequest():
                response = _versions()
            case MetadataRequest():
                response = self._metadata()
            case other:
                self.asked.append(type(other).__name__)
                raise ConnectionError(f"{type(other).__name__} is not served")
        header = request.header
        return encode_response(response, header.request_api_version, correlation_id=header.correlation_id)

    def _metadata(self) -> MetadataResponse:
        host, port = self._server.server_address[:2]
        partition = MetadataResponsePartition(
            error_code=0, partition_index=0, leader_id=1, leader_epoch=1, replica_nodes=(1,), isr_nodes=(1,)
        )
        topic = MetadataResponseTopic(error_code=0, name="events", partitions=(partition,))
        broker = MetadataResponseBroker(node_id=1, host=str(host), port=int(port))
        return MetadataResponse(brokers=(broker,), cluster_id=CLUSTER_ID, controller_id=1, topics=(topic,))


def _versions() -> ApiVersionsResponse:
    served = (
        ApiVersion(api_key=key, min_version=api.versions.lowest, max_version=api.versions.highest)
        for key, api in APIS.items()
    )
    return ApiVersionsResponse(error_code=0, api_keys=tuple(served))
