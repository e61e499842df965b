"""One connection to another node: ApiVersions first, then requests, answers in their order."""

from __future__ import annotations

import asyncio
import errno
import logging
import re
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, cast

from raft.core.events import Failure
from raft.core.messages import IncomingResponse, OutgoingRequest
from raft.errors import CONNECT_ERRORS, DecodeError, ErrorCode, LocalProtocolError, error_name
from raft.types import Endpoint
from raft.wire.apis import API_VERSIONS, Api
from raft.wire.frames import FrameReader, decode_response, encode_request
from raft.wire.mapping.partition import TopicPartition
from raft.wire.mapping.peers import api_of, request_to_wire, response_from_wire
from raft.wire.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse

_logger = logging.getLogger(__name__)

_ERROR_NUMBER = re.compile(r"\[Errno (\d+)\]")
_SOFTWARE_NAME = "kraft-spark"
_CONTROLLERS_FEATURE = "metadata.version"
"""A feature of Apache Kafka's controllers and brokers; its TestRaftServer has it too, but hosts another topic."""


@dataclass(frozen=True, slots=True)
class _Sent:
    """A request whose answer is out. `number` is None for ApiVersions, which is our own."""

    number: int | None
    correlation_id: int
    api: Api[Any, Any]
    version: int


def is_refusal(error: BaseException) -> bool:
    """Whether every address of a host refused the connection: no process listens there.

    For a name with several addresses asyncio puts the errors of all of them into the text of one.
    """
    if isinstance(error, ConnectionRefusedError):
        return True
    numbers = _ERROR_NUMBER.findall(str(error)) if isinstance(error, OSError) and error.errno is None else []
    return bool(numbers) and set(numbers) == {str(errno.ECONNREFUSED)}


class OutboundConnection(asyncio.Protocol):
    """Carries one node's requests to another.

    Args:
        ours: the partition that requests are about.
        client_id: stands in the other side's logs.
        max_frame_bytes: largest answer that is read.
        refuses_controllers: whether requests to a controller of an Apache Kafka cluster fail before they are sent.
        answered, failed: told what became of each request, once.
    """

    def __init__(
        self,
        ours: TopicPartition,
        *,
        client_id: str,
        max_frame_bytes: int,
        refuses_controllers: bool,
        answered: Callable[[int, IncomingResponse], None],
        failed: Callable[[int, Failure], None],
    ) -> None:
        self._ours = ours
        self._client_id = client_id
        self._frames = FrameReader(max_frame_bytes)
        self._refuses_controllers = refuses_controllers
        self._answered = answered
        self._failed = failed
        self._transport: asyncio.Transport | None = None
        self._versions: dict[int, tuple[int, int]] | None = None
        self._unsent: deque[tuple[int, OutgoingRequest]] = deque()
        self._sent: deque[_Sent] = deque()
        self._next_correlation_id = 0
        self._where = "a node"
        self.is_closed = False

    async def connect(self, endpoint: Endpoint) -> None:
        """Open the connection; requests that wait fail if that cannot be done."""
        self._where = str(endpoint)
        try:
            await asyncio.get_running_loop().create_connection(lambda: self, endpoint.host, endpoint.port)
        except CONNECT_ERRORS as error:
            _logger.debug("cannot connect to %s: %s", endpoint, error)
            self._abandon(Failure.CONNECTION_REFUSED if is_refusal(error) else Failure.DISCONNECTED)

    def send(self, number: int, request: OutgoingRequest) -> None:
        """Send a request as soon as the connection is ready for it."""
        self._unsent.append((number, request))
        if self._versions is not None:
            self._send_waiting()

    def close(self) -> None:
        """Drop the connection; requests without an answer fail."""
        if self._transport is not None:
            self._transport.abort()
        self._abandon()

    # What asyncio calls

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Ask first which versions the other side knows."""
        # No check of the class: uvloop's transports are of another family.
        tcp = cast("asyncio.Transport", transport)
        self._transport = tcp
        if self.is_closed:
            tcp.abort()
            return
        self._ask_versions(API_VERSIONS.versions.highest)

    def data_received(self, data: bytes) -> None:
        """Take in answers; bytes that are none end the connection."""
        try:
            for frame in self._frames.receive(data):
                self._on_frame(frame)
        except DecodeError as error:
            _logger.warning("%s: %s; the connection is closed", self._where, error)
            self.close()

    def connection_lost(self, exc: Exception | None) -> None:
        """Whatever had no answer yet fails."""
        if exc is not None:
            _logger.debug("connection to %s lost: %s", self._where, exc)
        self._abandon()

    # The rest is ours

    def _ask_versions(self, version: int) -> None:
        request = ApiVersionsRequest(client_software_name=_SOFTWARE_NAME, client_software_version="0.1.0")
        self._write(None, API_VERSIONS, version, request)

    def _on_frame(self, frame: bytes) -> None:
        if not self._sent:
            raise DecodeError("an answer to no request")
        sent = self._sent[0]
        is_old = sent.number is None and frame[4:6] == ErrorCode.UNSUPPORTED_VERSION.to_bytes(2, "big")
        correlation_id, message = decode_response(frame, sent.api, 0 if is_old else sent.version)
        if correlation_id != sent.correlation_id:
            raise DecodeError(f"an answer to request {correlation_id}, where {sent.correlation_id} was next")
        response = response_from_wire(message) if sent.number is not None else None
        # Only now, that the answer is read, has the request one: else it fails with the connection.
        self._sent.popleft()
        if sent.number is not None and response is not None:
            self._answered(sent.number, response)
        elif is_old and sent.version > 0:
            self._ask_versions(0)
        else:
            self._learn_versions(message)

    def _learn_versions(self, message: ApiVersionsResponse) -> None:
        if message.error_code:
            raise DecodeError(f"ApiVersions is answered with {error_name(message.error_code)}")
        is_controller = any(feature.name == _CONTROLLERS_FEATURE for feature in message.supported_features)
        if is_controller and self._refuses_controllers:
            self._abandon(Failure.KAFKA_CONTROLLER)
            self.close()
            return
        self._versions = {api.api_key: (api.min_version, api.max_version) for api in message.api_keys}
        self._send_waiting()

    def _send_waiting(self) -> None:
        while self._unsent and not self.is_closed:
            number, request = self._unsent.popleft()
            api = api_of(request)
            version = self._common_version(api)
            if version is None:
                self._failed(number, Failure.UNSUPPORTED_VERSION)
                continue
            try:
                self._write(number, api, version, request_to_wire(request, self._ours, version))
            except LocalProtocolError as error:
                _logger.info("%s: %s", self._where, error)
                self._failed(number, Failure.UNSUPPORTED_VERSION)

    def _common_version(self, api: Api[Any, Any]) -> int | None:
        """The highest version that both sides know (COMPAT-1)."""
        assert self._versions is not None, "versions are asked for first"
        lowest, highest = self._versions.get(api.key, (1, 0))
        version = min(highest, api.versions.highest)
        return version if version >= max(lowest, api.versions.lowest) else None

    def _write(self, number: int | None, api: Api[Any, Any], version: int, message: Any) -> None:
        assert self._transport is not None, "connected before anything is sent"
        correlation_id = self._next_correlation_id
        frame = encode_request(message, version, correlation_id=correlation_id, client_id=self._client_id)
        self._next_correlation_id += 1
        self._sent.append(_Sent(number, correlation_id, api, version))
        self._transport.write(frame)

    def _abandon(self, failure: Failure = Failure.DISCONNECTED) -> None:
        """Fail everything that has no answer, once."""
        self.is_closed = True
        numbers = [sent.number for sent in self._sent if sent.number is not None]
        numbers += [number for number, _ in self._unsent]
        self._sent.clear()
        self._unsent.clear()
        for number in numbers:
            self._failed(number, failure)
