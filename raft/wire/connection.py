"""The client side of a connection in the Kafka protocol, without a socket: bytes in, events out, requests to bytes.

    NEGOTIATING     ApiVersions is in flight; other requests cannot be sent yet. With TLS, the handshake comes first
         |
    AUTHENTICATING  only with SASL: the client proves its name
         |          VersionsNegotiated
       READY        any number of requests may be in flight; the node responds in their order. With SASL,
         |          `reauthenticate` leads to AUTHENTICATING again, and Authenticated back
         |          InvalidDataReceived, possible in each state: data that cannot be decoded, or any data while no
         |          request is in flight. Or AuthenticationFailed
      FAILED        final: the stream has no valid frames any more, so the caller closes the socket

The caller moves the bytes:

    connection = ClientConnection[str](client_id="reader", max_frame_bytes=1 << 20)
    socket.sendall(connection.data_to_send())
    while data := socket.recv(65_536):
        for event in connection.receive_data(data):
            match event:
                case VersionsNegotiated() if connection.state is ConnectionState.READY:
                    connection.send_request(MetadataRequest(topics=None), tag="which topics")
                case ResponseReceived():
                    print(event.tag, event.message)
                case InvalidDataReceived() | AuthenticationFailed():
                    raise event.error
        socket.sendall(connection.data_to_send())

Rules: COMPAT-1 (the highest version that both sides support), COMPAT-2 (a request that this version cannot express is
not sent), COMPAT-4 (ApiVersions is sent again in an older version). Source: KIP-35, KIP-511, KIP-152 (SASL), KIP-368
(authentication again); Kafka NetworkClient and SaslClientAuthenticator.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from enum import Enum
from typing import Any, Generic, TypeAlias, TypeVar

from raft.codec import Message
from raft.errors import AuthenticationError, DecodeError, ErrorCode, LocalProtocolError, error_name
from raft.version import __version__
from raft.wire.apis import API_VERSIONS, SASL_AUTHENTICATE, SASL_HANDSHAKE, Api, api_of
from raft.wire.frames import FrameReader, decode_response, encode_request
from raft.wire.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse
from raft.wire.messages.sasl import (
    SaslAuthenticateRequest,
    SaslAuthenticateResponse,
    SaslHandshakeRequest,
    SaslHandshakeResponse,
)
from raft.wire.negotiation import asks_for_sasl, common_versions, older_version
from raft.wire.protection import NO_PROTECTION, Authenticator, Protection
from raft.wire.response_limits import MAX_UNKNOWN_BYTES, response_limit_bytes
from raft.wire.sasl_exchange import NO_SASL, SaslExchange

Tag = TypeVar("Tag")

_SOFTWARE_NAME = "kraft-spark"
_CORRELATION_IDS = 1 << 31
"""How many correlation ids there are: an int32 holds them, and after the last one they begin at 0 again."""

_USED_PART_OF_SESSION = 0.85
"""After this part of its session a client proves its name again, as Kafka's clients do."""

_LOWEST_SASL_VERSION = {SASL_HANDSHAKE.key: 1, SASL_AUTHENTICATE.key: 0}
"""After version 0 of SaslHandshake the messages of SASL would be sent without SaslAuthenticate."""

_ERROR_CODE = slice(4, 6)
"""The position of the error code in an ApiVersions response of any version: after the correlation id."""


class ConnectionState(Enum):
    """What a connection can do now. See the diagram of the module."""

    NEGOTIATING = "negotiating"
    AUTHENTICATING = "authenticating"
    READY = "ready"
    FAILED = "failed"


@dataclass(frozen=True, slots=True, kw_only=True)
class VersionsNegotiated:
    """The node has sent the APIs and versions that it serves. From now on requests can be sent."""

    response: ApiVersionsResponse


@dataclass(frozen=True, slots=True, kw_only=True)
class ResponseReceived(Generic[Tag]):
    """The response to the oldest request in flight.

    Fields:
        tag: the tag that `ClientConnection.send_request` was called with.
        api, version: of the request, and so of the response.
        message: the response.
    """

    tag: Tag
    api: Api[Any, Any]
    version: int
    message: Message


@dataclass(frozen=True, slots=True, kw_only=True)
class Authenticated:
    """The client has proved its name again. Requests can be sent again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class InvalidDataReceived:
    """The node has sent invalid data instead of the response to the oldest request in flight. No event follows."""

    error: DecodeError


@dataclass(frozen=True, slots=True, kw_only=True)
class AuthenticationFailed:
    """One side has not proved its name to the other one. No event follows."""

    error: AuthenticationError


Event: TypeAlias = (
    VersionsNegotiated | ResponseReceived[Tag] | Authenticated | InvalidDataReceived | AuthenticationFailed
)


class ClientConnection(Generic[Tag]):
    """Encodes requests, and finds the request of each response.

    Args:
        client_id: names this client in the logs of the node.
        max_frame_bytes: the largest response with records that is accepted, without the four bytes of its size. Others
            have at most 100 MiB, and 1 MiB until both sides have proved who they are.
        protection: its TLS and SASL.

    Attributes:
        session_lifetime_ms: how long after the last authentication the node accepts requests; None for no limit.
    """

    def __init__(self, *, client_id: str, max_frame_bytes: int, protection: Protection = NO_PROTECTION) -> None:
        self.session_lifetime_ms: int | None = None
        self._channel = protection.channel
        self._new_authenticator = protection.authenticator
        self._sasl: SaslExchange | None = None
        self._versions: ApiVersionsResponse | None = None
        self._client_id = client_id
        self._max_frame_bytes = max_frame_bytes
        self._frames = FrameReader(max_frame_bytes)
        self._state = ConnectionState.NEGOTIATING
        self._common_versions: dict[int, tuple[int, int]] = {}
        self._in_flight: deque[tuple[int, Api[Any, Any], int, Any]] = deque()
        self._next_correlation_id = 0
        self._outgoing: list[bytes] = []
        self._api_versions_version = API_VERSIONS.versions.highest
        self._api_versions_id = self._send_api_versions()

    @property
    def state(self) -> ConnectionState:
        """The state of the connection."""
        return self._state

    def version_for(self, api: Api[Any, Any]) -> int | None:
        """The highest version of an API that both sides support (COMPAT-1); None if there is none.

        Args:
            api: the API. While the versions are being negotiated, no version of any API is known.
        """
        common = self._common_versions.get(api.key)
        return None if common is None else common[1]

    def send_request(self, request: Message, *, tag: Tag, version: int | None = None) -> None:
        """Send a request: `data_to_send` returns its bytes next.

        Args:
            request: a request that has a response, so not Produce with acks=0.
            tag: names the request in its `ResponseReceived`.
            version: the version to send it in; None for the highest that both sides support.

        Raises:
            LocalProtocolError: the connection is not READY; the request is one of SASL; the version, or every version,
                is not supported by both sides; or the version cannot express the request (COMPAT-2). The connection is
                unchanged.
        """
        if self._state is not ConnectionState.READY:
            raise LocalProtocolError(f"cannot send {type(request).__name__}: the connection is {self._state.value}")
        api = api_of(request)
        if not isinstance(request, api.request):
            raise LocalProtocolError(f"{type(request).__name__} is not a request")
        if api.key in _LOWEST_SASL_VERSION:
            raise LocalProtocolError(f"cannot send {api.name}: only the connection itself authenticates")
        common = self._common_versions.get(api.key)
        if common is None:
            raise LocalProtocolError(f"the node does not serve {api.name} in any version known here")
        lowest, highest = common
        if version is None:
            version = highest
        elif not lowest <= version <= highest:
            raise LocalProtocolError(
                f"cannot send {api.name} in version {version}: both sides support versions {lowest} to {highest}"
            )
        self._in_flight.append((self._send(request, version), api, version, tag))

    def must_reauthenticate(self, after_ms: float) -> bool:
        """Whether it is time to prove the name of the client again (KIP-368).

        Args:
            after_ms: how long ago it was proved last.
        """
        lifetime_ms = self.session_lifetime_ms
        if lifetime_ms is None or self._state is not ConnectionState.READY:
            return False
        return after_ms >= lifetime_ms * _USED_PART_OF_SESSION

    def reauthenticate(self) -> None:
        """Prove the name of the client again, before the node ends the session (KIP-368). No request can be sent then.

        The responses to requests in flight come before the event `Authenticated`.

        Raises:
            LocalProtocolError: the connection is not READY, or has no SASL.
        """
        if self._state is not ConnectionState.READY or self._new_authenticator is None:
            raise LocalProtocolError(f"cannot authenticate again: the connection is {self._state.value}")
        self._begin_authentication(self._new_authenticator())

    def data_to_send(self) -> bytes:
        """Return the bytes to send next, each only once; empty if there are none."""
        channel = self._channel
        if channel is None:
            return self._take_outgoing()
        if channel.is_open:
            channel.send(self._take_outgoing())
        return channel.data_to_send()

    def _take_outgoing(self) -> bytes:
        data = b"".join(self._outgoing)
        self._outgoing.clear()
        return data

    def receive_data(self, data: bytes) -> list[Event[Tag]]:
        """Receive bytes from the node, split at any position, and return the events that they complete, in order.

        Invalid data raises no error: it is the last event, after the events of the valid data before it. The connection
        has FAILED when this returns, so no request can be sent while the events before the last one are handled.
        `data_to_send` may return new bytes afterwards, if ApiVersions is sent again.

        Raises:
            LocalProtocolError: the connection has FAILED already.
        """
        if self._state is ConnectionState.FAILED:
            raise LocalProtocolError("cannot receive data: the connection has failed")
        events: list[Event[Tag]] = []
        try:
            if self._channel is not None:
                data = self._channel.receive(data)
            self._frames.max_frame_bytes = self._limit_bytes()
            for frame in self._frames.receive(data):
                event = self._on_frame(frame)
                self._frames.max_frame_bytes = self._limit_bytes()
                if event is not None:
                    events.append(event)
            if self._frames.has_partial_frame:
                self._check_in_flight()
        except DecodeError as error:
            self._fail()
            events.append(InvalidDataReceived(error=error))
        except AuthenticationError as error:
            self._fail()
            events.append(AuthenticationFailed(error=error))
        except Exception as error:
            is_ready = self._state is ConnectionState.READY
            self._fail()
            if is_ready:
                raise
            # The other side was not checked to the end. The connection must not be used, whatever the reason is.
            failure = AuthenticationError(f"cannot find out who the node is: {error!r}")
            failure.__cause__ = error
            events.append(AuthenticationFailed(error=failure))
        return events

    def _limit_bytes(self) -> int:
        """Return how large the next response may be: that to the oldest request in flight."""
        key = self._in_flight[0][1].key if self._in_flight else None
        if self._state is ConnectionState.NEGOTIATING or key is None or key in _LOWEST_SASL_VERSION:
            return min(self._max_frame_bytes, MAX_UNKNOWN_BYTES)
        limit_bytes = response_limit_bytes(key)
        return self._max_frame_bytes if limit_bytes is None else min(self._max_frame_bytes, limit_bytes)

    def _fail(self) -> None:
        self._state = ConnectionState.FAILED
        self._in_flight.clear()
        self._outgoing.clear()

    def _on_frame(self, frame: bytes) -> Event[Tag] | None:
        if self._state is ConnectionState.NEGOTIATING:
            return self._on_versions(frame)
        self._check_in_flight()
        correlation_id, api, version, tag = self._in_flight.popleft()
        message = _decode(frame, api, version, correlation_id)
        match message:
            case SaslHandshakeResponse() | SaslAuthenticateResponse():
                return self._on_sasl(message)
            case _:
                return ResponseReceived(tag=tag, api=api, version=version, message=message)

    def _check_in_flight(self) -> None:
        """Check that received data belongs to the response to a request.

        Raises:
            DecodeError: no request is in flight. A node could send any amount of such data, which would stay in memory.
        """
        if self._state is not ConnectionState.NEGOTIATING and not self._in_flight:
            raise DecodeError("received a response, but no request is in flight")

    def _on_versions(self, frame: bytes) -> Event[Tag] | None:
        """Read the response to ApiVersions; None if the request is sent again in an older version (COMPAT-4)."""
        is_too_new = frame[_ERROR_CODE] == ErrorCode.UNSUPPORTED_VERSION.to_bytes(2, "big")
        version = 0 if is_too_new else self._api_versions_version
        response = _decode(frame, API_VERSIONS, version, self._api_versions_id)
        assert isinstance(response, ApiVersionsResponse), "decoded as the response to ApiVersions"
        if is_too_new and self._api_versions_version > 0:
            self._api_versions_version = older_version(response, refused=self._api_versions_version)
            self._api_versions_id = self._send_api_versions()
            return None
        if response.error_code:
            raise DecodeError(f"received error {error_name(response.error_code)} in response to ApiVersions")
        self._common_versions = dict(common_versions(response))
        self._versions = response
        if self._new_authenticator is not None:
            self._begin_authentication(self._new_authenticator())
            return None
        if asks_for_sasl(response):
            raise AuthenticationError(
                "the node asks for SASL: expected security.protocol=SASL_PLAINTEXT or SASL_SSL, and the name and "
                "password of a user; a quorum of `kraft dev` or QuorumService has them in its client.properties"
            )
        return self._become_ready()

    def _become_ready(self) -> VersionsNegotiated | Authenticated:
        self._state = ConnectionState.READY
        versions, self._versions = self._versions, None
        return Authenticated() if versions is None else VersionsNegotiated(response=versions)

    def _begin_authentication(self, authenticator: Authenticator) -> None:
        self._state = ConnectionState.AUTHENTICATING
        self._sasl = SaslExchange(authenticator)
        self._send_sasl(self._sasl.first_request)

    def _on_sasl(self, response: SaslHandshakeResponse | SaslAuthenticateResponse) -> Event[Tag] | None:
        sasl = self._sasl
        assert sasl is not None, "an authentication is under way"
        request = sasl.next_request(response)
        if request is not None:
            self._send_sasl(request)
            return None
        self.session_lifetime_ms, self._sasl = sasl.session_lifetime_ms, None
        return self._become_ready()

    def _send_sasl(self, request: SaslHandshakeRequest | SaslAuthenticateRequest) -> None:
        api = api_of(request)
        version = self.version_for(api)
        if version is None or version < _LOWEST_SASL_VERSION[api.key]:
            raise AuthenticationError(NO_SASL)
        self._in_flight.append((self._send(request, version), api, version, None))

    def _send_api_versions(self) -> int:
        request = ApiVersionsRequest(client_software_name=_SOFTWARE_NAME, client_software_version=__version__)
        return self._send(request, self._api_versions_version)

    def _send(self, request: Message, version: int) -> int:
        """Encode a request; return its correlation id."""
        correlation_id = self._next_correlation_id
        self._outgoing.append(
            encode_request(request, version, correlation_id=correlation_id, client_id=self._client_id)
        )
        self._next_correlation_id = (correlation_id + 1) % _CORRELATION_IDS
        return correlation_id


def _decode(frame: bytes, api: Api[Any, Any], version: int, expected_id: int) -> Message:
    message: Message
    correlation_id, message = decode_response(frame, api, version)
    if correlation_id != expected_id:
        raise DecodeError(f"received a response to request {correlation_id}, expected one to {expected_id}")
    return message
