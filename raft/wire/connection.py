"""The client side of a connection in the Kafka protocol, without a socket: bytes in, events out, requests to bytes.

    NEGOTIATING     ApiVersions is in flight; other requests cannot be sent yet
         |          VersionsNegotiated
       READY        any number of requests may be in flight; the node responds in their order
         |          InvalidDataReceived, also possible while negotiating: data that cannot be decoded, or any data
         |          while no request is in flight
      FAILED        final: the stream has no valid frames any more, so the caller closes the socket

The caller moves the bytes:

    connection = Connection[str](client_id="reader", max_frame_bytes=1 << 20)
    socket.sendall(connection.data_to_send())
    while data := socket.recv(65_536):
        for event in connection.receive_data(data):
            match event:
                case VersionsNegotiated() if connection.state is ConnectionState.READY:
                    connection.send_request(MetadataRequest(topics=None), tag="which topics")
                case ResponseReceived():
                    print(event.tag, event.message)
                case InvalidDataReceived():
                    raise event.error
        socket.sendall(connection.data_to_send())

Rules: COMPAT-1 (the highest version that both sides support), COMPAT-2 (a request that this version cannot express is
not sent), COMPAT-4 (ApiVersions is sent again in an older version). Source: KIP-35, KIP-511; Kafka NetworkClient.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum
from typing import Any, Generic, TypeAlias, TypeVar

from raft import __version__
from raft.codec import Message
from raft.errors import DecodeError, ErrorCode, LocalProtocolError, error_name
from raft.wire.apis import API_VERSIONS, APIS, Api, api_of
from raft.wire.frames import FrameReader, decode_response, encode_request
from raft.wire.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse

Tag = TypeVar("Tag")

_SOFTWARE_NAME = "kraft-spark"
_CORRELATION_IDS = 1 << 31
"""How many correlation ids there are: an int32 holds them, and after the last one they begin at 0 again."""

_ERROR_CODE = slice(4, 6)
"""The position of the error code in an ApiVersions response of any version: after the correlation id."""


class ConnectionState(Enum):
    """What a connection can do now. See the diagram of the module."""

    NEGOTIATING = "negotiating"
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
        tag: the tag that `Connection.send_request` was called with.
        api, version: of the request, and so of the response.
        message: the response.
    """

    tag: Tag
    api: Api[Any, Any]
    version: int
    message: Message


@dataclass(frozen=True, slots=True, kw_only=True)
class InvalidDataReceived:
    """The node has sent invalid data instead of the response to the oldest request in flight. No event follows."""

    error: DecodeError


Event: TypeAlias = VersionsNegotiated | ResponseReceived[Tag] | InvalidDataReceived


class Connection(Generic[Tag]):
    """Encodes requests, and finds the request of each response.

    Args:
        client_id: names this client in the logs of the node.
        max_frame_bytes: the largest response that is accepted, without the four bytes of its size.
    """

    def __init__(self, *, client_id: str, max_frame_bytes: int) -> None:
        self._client_id = client_id
        self._frames = FrameReader(max_frame_bytes)
        self._state = ConnectionState.NEGOTIATING
        self._common_versions: dict[int, tuple[int, int]] = {}
        self._in_flight: deque[tuple[int, Api[Any, Any], int, Tag]] = deque()
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
            LocalProtocolError: the connection is not READY; the version, or every version, is not supported by both
                sides; or the version cannot express the request (COMPAT-2). The connection is unchanged.
        """
        if self._state is not ConnectionState.READY:
            raise LocalProtocolError(f"cannot send {type(request).__name__}: the connection is {self._state.value}")
        api = api_of(request)
        if not isinstance(request, api.request):
            raise LocalProtocolError(f"{type(request).__name__} is not a request")
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

    def data_to_send(self) -> bytes:
        """Return the bytes to send next, each only once; empty if there are none."""
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
            for frame in self._frames.receive(data):
                event = self._on_frame(frame)
                if event is not None:
                    events.append(event)
            if self._frames.has_partial_frame:
                self._check_in_flight()
        except DecodeError as error:
            self._state = ConnectionState.FAILED
            self._in_flight.clear()
            self._outgoing.clear()
            events.append(InvalidDataReceived(error=error))
        return events

    def _on_frame(self, frame: bytes) -> Event[Tag] | None:
        if self._state is ConnectionState.NEGOTIATING:
            return self._on_versions(frame)
        self._check_in_flight()
        correlation_id, api, version, tag = self._in_flight.popleft()
        message = _decode(frame, api, version, correlation_id)
        return ResponseReceived(tag=tag, api=api, version=version, message=message)

    def _check_in_flight(self) -> None:
        """Check that received data belongs to the response to a request.

        Raises:
            DecodeError: no request is in flight. A node could send any amount of such data, which would stay in memory.
        """
        if self._state is ConnectionState.READY and not self._in_flight:
            raise DecodeError("received a response, but no request is in flight")

    def _on_versions(self, frame: bytes) -> VersionsNegotiated | None:
        """Read the response to ApiVersions; None if the request is sent again in an older version (COMPAT-4)."""
        is_too_new = frame[_ERROR_CODE] == ErrorCode.UNSUPPORTED_VERSION.to_bytes(2, "big")
        version = 0 if is_too_new else self._api_versions_version
        response = _decode(frame, API_VERSIONS, version, self._api_versions_id)
        assert isinstance(response, ApiVersionsResponse), "decoded as the response to ApiVersions"
        if is_too_new and self._api_versions_version > 0:
            self._api_versions_version = _older_version(response, refused=self._api_versions_version)
            self._api_versions_id = self._send_api_versions()
            return None
        if response.error_code:
            raise DecodeError(f"received error {error_name(response.error_code)} in response to ApiVersions")
        self._common_versions = dict(_common_versions(response))
        self._state = ConnectionState.READY
        return VersionsNegotiated(response=response)

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


def _older_version(refusal: ApiVersionsResponse, *, refused: int) -> int:
    """Return the highest version of ApiVersions that a refusal names; 0 if it names none below the refused one."""
    for served in refusal.api_keys:
        if served.api_key == API_VERSIONS.key and 0 <= served.max_version < refused:
            return served.max_version
    return 0


def _common_versions(response: ApiVersionsResponse) -> Iterator[tuple[int, tuple[int, int]]]:
    """Yield the key of each API that both sides support, with the lowest and the highest common version (COMPAT-1)."""
    for served in response.api_keys:
        if served.api_key in APIS:
            ours = APIS[served.api_key].versions
            lowest, highest = max(served.min_version, ours.lowest), min(served.max_version, ours.highest)
            if lowest <= highest:
                yield served.api_key, (lowest, highest)


def _decode(frame: bytes, api: Api[Any, Any], version: int, expected_id: int) -> Message:
    message: Message
    correlation_id, message = decode_response(frame, api, version)
    if correlation_id != expected_id:
        raise DecodeError(f"received a response to request {correlation_id}, expected one to {expected_id}")
    return message
