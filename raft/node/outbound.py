"""One connection to another node: encodes the requests of the core, and decodes the responses."""

from __future__ import annotations

import asyncio
import errno
import logging
import re
from collections import deque
from collections.abc import Callable
from typing import assert_never, cast

from raft.core.events import Failure
from raft.core.messages import OutgoingRequest, Response
from raft.errors import CONNECT_ERRORS, AuthenticationError, DecodeError, LocalProtocolError
from raft.runtime.fault_log import FaultLog
from raft.types import Endpoint
from raft.wire.connection import (
    Authenticated,
    AuthenticationFailed,
    ClientConnection,
    ConnectionState,
    Event,
    InvalidDataReceived,
    ResponseReceived,
    VersionsNegotiated,
)
from raft.wire.mapping.partition import TopicPartition
from raft.wire.mapping.replica_messages import api_of, request_to_wire, response_from_wire
from raft.wire.messages.api_versions import ApiVersionsResponse
from raft.wire.protection import NO_PROTECTION, Protection

_logger = logging.getLogger(__name__)

_ERROR_NUMBER = re.compile(r"\[Errno (\d+)\]")
_CONTROLLERS_FEATURE = "metadata.version"
"""A feature of Apache Kafka's controllers and brokers. Its TestRaftServer has it too, but with another topic."""


def is_refusal(error: BaseException) -> bool:
    """Return whether every address of a host refused the connection: no process listens there.

    If the host has several addresses, asyncio joins the errors of all of them in the text of one.
    """
    if isinstance(error, ConnectionRefusedError):
        return True
    numbers = _ERROR_NUMBER.findall(str(error)) if isinstance(error, OSError) and error.errno is None else []
    return bool(numbers) and set(numbers) == {str(errno.ECONNREFUSED)}


class OutboundConnection(asyncio.Protocol):
    """Sends one node's requests to another node. Several may be in flight.

    Args:
        ours: the partition that the requests name.
        client_id: names this node in the logs of the other one.
        max_frame_bytes: the largest response that is accepted.
        refuses_controllers: whether requests to a controller of an Apache Kafka cluster fail before they are sent.
        on_response: called with the number of a request and its response.
        failed: called with the number of a request that gets no response, and why. Each request has one of both calls.
        is_expected: whether this node still waits for the response to the request of a number. A request that had to
            wait, until the connection was ready, may be pointless by then, and is not sent.
        protection: of the connection.
        faults: logs why the nodes have not accepted each other.
    """

    def __init__(
        self,
        ours: TopicPartition,
        *,
        client_id: str,
        max_frame_bytes: int,
        refuses_controllers: bool,
        on_response: Callable[[int, Response], None],
        failed: Callable[[int, Failure], None],
        is_expected: Callable[[int], bool],
        protection: Protection = NO_PROTECTION,
        faults: FaultLog | None = None,
    ) -> None:
        self._ours = ours
        self._connection = ClientConnection[int](
            client_id=client_id, max_frame_bytes=max_frame_bytes, protection=protection
        )
        self._faults = faults
        self._authenticated_s = 0.0
        self._refuses_controllers = refuses_controllers
        self._on_response = on_response
        self._failed = failed
        self._is_expected = is_expected
        self._transport: asyncio.Transport | None = None
        self._unsent: deque[tuple[int, OutgoingRequest]] = deque()
        self._in_flight: deque[int] = deque()
        self._where = "unknown"
        self.is_closed = False

    async def connect(self, endpoint: Endpoint) -> None:
        """Open the connection. If that fails, the requests that wait for it fail."""
        self._where = str(endpoint)
        try:
            await asyncio.get_running_loop().create_connection(lambda: self, endpoint.host, endpoint.port)
        except CONNECT_ERRORS as error:
            _logger.debug("cannot connect to %s: %s", endpoint, error)
            self._abandon(Failure.CONNECTION_REFUSED if is_refusal(error) else Failure.DISCONNECTED)

    def send(self, number: int, request: OutgoingRequest) -> None:
        """Send a request, as soon as the connection is ready for it."""
        self._unsent.append((number, request))
        self._authenticate_again()
        if self._connection.state is ConnectionState.READY:
            self._send_waiting()

    def close(self) -> None:
        """Close the connection. The requests without a response fail."""
        if self._transport is not None:
            self._transport.abort()
        self._abandon()

    # Called by asyncio

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Send ApiVersions to learn which versions the other node supports."""
        # The class is not checked, because the transports of uvloop do not derive from asyncio.Transport.
        tcp = cast("asyncio.Transport", transport)
        self._transport = tcp
        if self.is_closed:
            tcp.abort()
            return
        self._authenticated_s = asyncio.get_running_loop().time()
        self._write()

    def data_received(self, data: bytes) -> None:
        """Read responses; invalid data closes the connection."""
        try:
            for event in self._connection.receive_data(data):
                # The handling of a response may close the connection; then the requests after it have failed.
                if not self.is_closed:
                    self._on_event(event)
            self._write()
        except DecodeError as error:
            _logger.warning("closed the connection to %s: %s", self._where, error)
            self.close()
        except AuthenticationError as error:
            self._write()  # With TLS, the other node is told what was wrong.
            if self._faults is not None:
                self._faults.report("no connection to %s: %s", self._where, error)
            self.close()

    def connection_lost(self, exc: Exception | None) -> None:
        """Fail the requests without a response."""
        if exc is not None:
            _logger.debug("connection to %s lost: %s", self._where, exc)
        self._abandon()

    # Internal

    def _on_event(self, event: Event[int]) -> None:
        match event:
            case ResponseReceived():
                response = response_from_wire(event.message)
                # Only now: a request whose response cannot be decoded fails with the connection.
                self._in_flight.popleft()
                self._on_response(event.tag, response)
            case VersionsNegotiated():
                self._on_versions(event.response)
            case Authenticated():
                self._send_waiting()
            case InvalidDataReceived() | AuthenticationFailed():
                raise event.error
            case _:
                assert_never(event)

    def _on_versions(self, response: ApiVersionsResponse) -> None:
        is_controller = any(feature.name == _CONTROLLERS_FEATURE for feature in response.supported_features)
        if is_controller and self._refuses_controllers:
            self._abandon(Failure.KAFKA_CONTROLLER)
            self.close()
        else:
            self._send_waiting()

    def _authenticate_again(self) -> None:
        """Prove the name of this node again if the session ends soon (KIP-368)."""
        now_s = asyncio.get_running_loop().time()
        if self._connection.must_reauthenticate(after_ms=(now_s - self._authenticated_s) * 1000):
            self._authenticated_s = now_s
            self._connection.reauthenticate()
            self._write()

    def _send_waiting(self) -> None:
        # If invalid data follows the versions, the connection has failed here; the requests fail with its last event.
        while self._unsent and self._connection.state is ConnectionState.READY and not self.is_closed:
            number, request = self._unsent.popleft()
            if not self._is_expected(number):
                self._failed(number, Failure.NOT_SENT)
                continue
            version = self._connection.version_for(api_of(request))
            if version is None:
                self._failed(number, Failure.UNSUPPORTED_VERSION)
                continue
            try:
                self._connection.send_request(request_to_wire(request, self._ours, version), tag=number)
            except LocalProtocolError as error:
                _logger.info("cannot send a request to %s: %s", self._where, error)
                self._failed(number, Failure.UNSUPPORTED_VERSION)
            else:
                self._in_flight.append(number)
        self._write()

    def _write(self) -> None:
        data = self._connection.data_to_send()
        if data and self._transport is not None and not self.is_closed:
            self._transport.write(data)

    def _abandon(self, failure: Failure = Failure.DISCONNECTED) -> None:
        """Fail all requests without a response, each once."""
        self.is_closed = True
        numbers = [*self._in_flight, *(number for number, _ in self._unsent)]
        self._in_flight.clear()
        self._unsent.clear()
        for number in numbers:
            self._failed(number, failure)
