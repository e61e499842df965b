"""A connection to a node on which a test sends any API, any version and any bytes."""

from __future__ import annotations

import socket
import ssl
from types import TracebackType
from typing import Self, TypeVar

from raft.codec import Message
from raft.types import Endpoint
from raft.wire.apis import APIS, Api
from raft.wire.frames import decode_response, encode_request
from raft.wire.messages.sasl import (
    SaslAuthenticateRequest,
    SaslAuthenticateResponse,
    SaslHandshakeRequest,
    SaslHandshakeResponse,
)
from raft.wire.protection import Authenticator
from tests.hang import HANG_S

Response = TypeVar("Response", bound=Message)


class Wire:
    """One socket. Requests may be pipelined; their responses are received in the order of the requests.

    Args:
        endpoint: of the node.
        receive_buffer_bytes: how much the kernel buffers of what is not received; None for its default.
        tls: encrypts the connection; None sends the bytes as they are.
        within_s: how long to wait for the node; shorter for one that may be suspended.
    """

    def __init__(
        self,
        endpoint: Endpoint,
        *,
        receive_buffer_bytes: int | None = None,
        tls: ssl.SSLContext | None = None,
        within_s: float = HANG_S,
    ) -> None:
        self._socket = socket.socket()
        if receive_buffer_bytes is not None:
            self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer_bytes)
        self._within_s = within_s
        self._socket.settimeout(within_s)
        try:
            self._socket.connect((endpoint.host, endpoint.port))
        except OSError:
            self._socket.close()
            raise
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if tls is not None:
            self._socket = tls.wrap_socket(self._socket, server_hostname=endpoint.host)
        self._in_flight: list[tuple[Api[Message, Message], int, int]] = []
        self._next_correlation_id = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._socket.close()

    def ask(self, request: Message, version: int, response_class: type[Response]) -> Response:
        """Send a request and return its response, which is of this class."""
        self.send(request, version)
        return self.receive(response_class)

    def send(self, request: Message, version: int) -> None:
        """Send a request whose response is received later."""
        api = APIS[request.__schema__.api_key or 0]
        self._in_flight.append((api, version, self._next_correlation_id))
        self.send_bytes(encode_request(request, version, correlation_id=self._next_correlation_id, client_id="test"))
        self._next_correlation_id += 1

    def send_with_half_of_another(self, request: Message, version: int) -> None:
        """Send a request and the first half of another one in one write."""
        api = APIS[request.__schema__.api_key or 0]
        self._in_flight.append((api, version, self._next_correlation_id))
        frame = encode_request(request, version, correlation_id=self._next_correlation_id, client_id="test")
        self._next_correlation_id += 1
        self.send_bytes(frame + frame[: len(frame) // 2])

    def send_bytes(self, data: bytes) -> None:
        """Send bytes as they are."""
        self._socket.sendall(data)

    def receive(self, response_class: type[Response]) -> Response:
        """Receive the response to the oldest request without one."""
        api, version, expected_id = self._in_flight.pop(0)
        correlation_id, message = decode_response(self.frame(), api, version)
        assert correlation_id == expected_id, "responses have the order of their requests"
        assert isinstance(message, response_class)
        return message

    def forget_oldest(self) -> None:
        """Expect no response to the oldest request without one."""
        self._in_flight.pop(0)

    def prove(self, proof: Authenticator) -> SaslAuthenticateResponse:
        """Prove a name by SASL; return the last response, which may refuse it."""
        chosen = self.ask(SaslHandshakeRequest(mechanism=proof.mechanism), 1, SaslHandshakeResponse)
        assert chosen.error_code == 0, "the listener has the mechanism"
        token = proof.respond(b"")
        while token is not None:
            response = self.ask(SaslAuthenticateRequest(auth_bytes=token), 2, SaslAuthenticateResponse)
            if response.error_code:
                return response
            token = proof.respond(response.auth_bytes)
        return response

    def certificate_serial(self) -> str:
        """The serial number of the node's certificate, in hexadecimal digits."""
        assert isinstance(self._socket, ssl.SSLSocket), "the connection has TLS"
        certificate = self._socket.getpeercert()
        assert certificate is not None
        return str(certificate["serialNumber"])

    def first_bytes(self) -> bytes:
        """Receive the first bytes of the next response, and not the rest."""
        return self._socket.recv(1 << 10)

    def frame(self) -> bytes:
        """Receive one frame, without its size."""
        return self._exactly(int.from_bytes(self._exactly(4), "big"))

    def stop_waiting_after(self, seconds: float) -> None:
        """Raise TimeoutError from now on when sending or receiving takes longer."""
        self._socket.settimeout(seconds)

    def is_closed_by_node(self, *, within_s: float = HANG_S) -> bool:
        """Whether the node closes the connection in time. What it sends before that is ignored."""
        self._socket.settimeout(within_s)
        try:
            while self._socket.recv(1 << 16):
                pass
        except ConnectionError:
            return True
        except TimeoutError:
            return False
        return True

    def is_silent(self, *, for_s: float) -> bool:
        """Whether the node neither sends anything nor closes the connection for so long."""
        self._socket.settimeout(for_s)
        try:
            self._socket.recv(1, socket.MSG_PEEK)
        except TimeoutError:
            return True
        finally:
            self._socket.settimeout(self._within_s)
        return False

    def _exactly(self, size_bytes: int) -> bytes:
        data = bytearray()
        while len(data) < size_bytes:
            received = self._socket.recv(size_bytes - len(data))
            if not received:
                raise ConnectionError("the node closed the connection")
            data += received
        return bytes(data)
