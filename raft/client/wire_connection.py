"""One connection of a client, without its socket: versions are asked for first, then one request at a time."""

from __future__ import annotations

from collections.abc import Generator
from typing import Any

from raft.codec import Message
from raft.errors import DecodeError, ErrorCode, LocalProtocolError, error_name
from raft.wire.apis import API_VERSIONS, APIS, Api
from raft.wire.frames import MAX_ANSWER_BYTES, FrameReader, decode_response, encode_request
from raft.wire.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse


class WireConnection:
    """Turns requests into bytes and bytes into answers, in the versions that both sides know (COMPAT-1).

    Attributes:
        served: what the node said of itself at the beginning; None before.
    """

    def __init__(self, client_id: str) -> None:
        self._client_id = client_id
        self._frames = FrameReader(MAX_ANSWER_BYTES)
        self._versions: dict[int, tuple[int, int]] | None = None
        self.served: ApiVersionsResponse | None = None
        self._next_correlation_id = 0
        self._asked: tuple[Api[Any, Any], int] | None = None

    def hello(self, version: int = API_VERSIONS.versions.highest) -> bytes:
        """The bytes to send first."""
        request = ApiVersionsRequest(client_software_name="kraft-spark", client_software_version="0.1.0")
        return self._encode(API_VERSIONS, version, request)

    def on_hello(self, answer: bytes) -> bytes | None:
        """Take the answer to `hello`; return what to send instead, to a node that does not know its version."""
        is_old = answer[4:6] == ErrorCode.UNSUPPORTED_VERSION.to_bytes(2, "big")
        if is_old and self._asked != (API_VERSIONS, 0):
            return self.hello(0)
        message = self._decode(answer)
        assert isinstance(message, ApiVersionsResponse), "the answer to ApiVersions"
        if message.error_code:
            raise DecodeError(f"ApiVersions is answered with {error_name(message.error_code)}")
        self.served = message
        self._versions = {api.api_key: (api.min_version, api.max_version) for api in message.api_keys}
        return None

    def request(self, request: Message) -> bytes:
        """The bytes of a request.

        Raises:
            LocalProtocolError: there is no version of it that both sides know.
        """
        assert self._versions is not None, "versions are asked for first"
        api = APIS[request.__schema__.api_key or 0]
        lowest, highest = self._versions.get(api.key, (1, 0))
        version = min(highest, api.versions.highest)
        if version < max(lowest, api.versions.lowest):
            raise LocalProtocolError(f"the node does not serve {api.name} in any version known here")
        return self._encode(api, version, request)

    def converse(self, request: Message) -> Generator[bytes, bytes, Message]:
        """Ask a node: yields bytes to send, is sent the frame that answers them, and returns the answer.

        The versions are asked for first, on a new connection. ApiVersions is answered from there.

        Raises:
            DecodeError: a frame is no answer.
            LocalProtocolError: there is no version of the request that both sides know.
        """
        if self.served is None:
            hello: bytes | None = self.hello()
            while hello is not None:
                hello = self.on_hello((yield hello))
        if isinstance(request, ApiVersionsRequest):
            assert self.served is not None, "versions were asked for"
            return self.served
        return self.answer((yield self.request(request)))

    def frames(self, data: bytes) -> list[bytes]:
        """The whole answers in what came in.

        Raises:
            DecodeError: the bytes are no answers.
        """
        return list(self._frames.receive(data))

    def answer(self, frame: bytes) -> Message:
        """Read the answer to the last request.

        Raises:
            DecodeError: it is none.
        """
        return self._decode(frame)

    def _encode(self, api: Api[Any, Any], version: int, request: Message) -> bytes:
        self._asked = (api, version)
        self._next_correlation_id += 1
        return encode_request(request, version, correlation_id=self._next_correlation_id, client_id=self._client_id)

    def _decode(self, frame: bytes) -> Message:
        assert self._asked is not None, "answers follow requests"
        api, version = self._asked
        correlation_id, message = decode_response(frame, api, version)
        if correlation_id != self._next_correlation_id:
            raise DecodeError(f"an answer to request {correlation_id}, where {self._next_correlation_id} was next")
        assert isinstance(message, Message), "a response"
        return message
