"""The requests to one node over one connection, one at a time, without a socket or a clock."""

from __future__ import annotations

from typing import assert_never

from raft.client.failures import CLOSED_AFTER_HANDSHAKE, CLOSED_AT_ONCE, CLOSED_BY_NODE
from raft.codec import Message
from raft.errors import LocalProtocolError
from raft.wire.connection import (
    Authenticated,
    AuthenticationFailed,
    ClientConnection,
    ConnectionState,
    InvalidDataReceived,
    ResponseReceived,
    VersionsNegotiated,
)
from raft.wire.frames import MAX_RESPONSE_BYTES
from raft.wire.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse
from raft.wire.protection import NO_PROTECTION, Protection


class Exchange:
    """Turns a request into bytes to send, and received bytes into its response.

    `raft.client.driver` begins the requests. The owner of the socket moves the bytes: it sends what `data_to_send`
    returns once the socket is open, after a request was begun and after data was received. It calls `fail` when the
    connection is lost.

    Args:
        client_id: how the node's logs name this client.
        protection: of the connection.

    Attributes:
        is_in_flight: whether a request was begun that has neither a response nor an error.
        deadline_ms: when the last request begun times out, on the driver's clock.
        response: the response to the last request begun; None while it is in flight, and if it failed.
        is_connected: whether the connection was opened, and the node did not close it before its first response.
        error: what ended the connection; None while it can be used. It stays: the next request needs a new exchange.
    """

    def __init__(self, client_id: str, protection: Protection = NO_PROTECTION) -> None:
        self.is_in_flight = False
        self.deadline_ms = 0
        self.response: Message | None = None
        self.error: Exception | None = None
        self._connection = ClientConnection[None](
            client_id=client_id, max_frame_bytes=MAX_RESPONSE_BYTES, protection=protection
        )
        self._protection = protection
        self._is_open = False
        self._is_closed_at_once = False
        self._authenticated_ms: int | None = None
        self._versions: ApiVersionsResponse | None = None
        self._waiting: Message | None = None

    @property
    def is_connected(self) -> bool:
        """Whether the other side has accepted the connection, and has not ended it."""
        return self._is_open and not self._is_closed_at_once

    def begin(self, request: Message, *, now_ms: int, deadline_ms: int) -> None:
        """Begin a request. On a connection that has ended already, it fails with `error` at once.

        The response to ApiVersions is the one that the node sent when the connection was opened.

        Args:
            request: the request; none may be in flight.
            now_ms: the driver's clock.
            deadline_ms: when it times out, on the driver's clock. The driver ends it then.
        """
        assert not self.is_in_flight, "a connection has one request in flight at a time"
        self.deadline_ms, self.response = deadline_ms, None
        if self.error is None:
            self.is_in_flight, self._waiting = True, request
            self._authenticate_again(now_ms)
            self._send_waiting()

    def data_to_send(self) -> bytes:
        """Return the bytes to send next, each only once; empty if there are none."""
        self._is_open = True  # The owner of the socket calls this only then.
        return self._connection.data_to_send()

    def receive_data(self, data: bytes) -> None:
        """Receive bytes from the node; empty bytes mean that it closed the connection."""
        if not data:
            self.fail(ConnectionError(self._closing()))
        if self.error is not None:
            return
        for event in self._connection.receive_data(data):
            match event:
                case ResponseReceived():
                    self._finish(event.message)
                case VersionsNegotiated():
                    self._versions = event.response
                case Authenticated():
                    pass  # The request that waits is sent below.
                case InvalidDataReceived() | AuthenticationFailed():
                    self.fail(event.error)
                case _:
                    assert_never(event)
        # Only now: if invalid data follows the versions, the request fails with the connection and is not sent.
        self._send_waiting()

    def fail(self, error: Exception) -> None:
        """End the connection, and the request in flight. Only the first error counts."""
        if self.error is None:
            self.error = error
        self.is_in_flight, self._waiting = False, None

    def _closing(self) -> str:
        """Say that the node has closed the connection."""
        if self._versions is not None:
            return CLOSED_BY_NODE
        self._is_closed_at_once = True
        channel, has_sasl = self._protection.channel, self._protection.authenticator is not None
        return CLOSED_AT_ONCE if channel is None or not channel.is_open or has_sasl else CLOSED_AFTER_HANDSHAKE

    def _authenticate_again(self, now_ms: int) -> None:
        """Prove the name of the client again if the session ends soon (KIP-368)."""
        if self._authenticated_ms is None:
            self._authenticated_ms = now_ms  # The connection is opened after its first request was begun.
            return
        if self._connection.must_reauthenticate(after_ms=now_ms - self._authenticated_ms):
            self._authenticated_ms = now_ms
            self._connection.reauthenticate()

    def _send_waiting(self) -> None:
        """Send the request that waits for the versions of the node, if they are known."""
        if self._waiting is None or self._versions is None or self._connection.state is not ConnectionState.READY:
            return
        request, self._waiting = self._waiting, None
        if isinstance(request, ApiVersionsRequest):
            self._finish(self._versions)
            return
        try:
            self._connection.send_request(request, tag=None)
        except LocalProtocolError as error:
            self.fail(error)

    def _finish(self, response: Message) -> None:
        self.is_in_flight, self.response = False, response
