"""Frames: a size, a header, a message.

    int32 size      of what follows
    header          request: API key, version, correlation id, client id; response: correlation id
    message

No input or output: bytes in, messages out, and the other way round.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from raft.codec import Message, decode, decode_prefix, encode, encode_pieces
from raft.errors import DecodeError
from raft.wire.apis import APIS, Api, Response, api_of
from raft.wire.headers import RequestHeader, ResponseHeader

MAX_RESPONSE_BYTES = (1 << 31) - 1
"""Largest answer that is read: whatever the size field can say. A fetch answers with a whole batch, whatever size was
asked for, and the log may hold batches from the days of a larger message.max.bytes. Memory is taken for what has come,
not for what is announced."""

_SIZE = struct.Struct(">i")
_REQUEST_START = struct.Struct(">hhi")


_SMALL_PART_BYTES = 4096
"""A part that follows a smaller one is appended to it: one object for each of many small parts would take more memory
than their bytes."""


class FrameReader:
    """Cuts a stream of bytes into frames.

    What comes in is kept as it came, and put together when a frame is complete, so that a large one is copied once.

    Args:
        max_frame_bytes: the largest frame that is let in.
    """

    def __init__(self, max_frame_bytes: int) -> None:
        self._max_frame_bytes = max_frame_bytes
        self._size = b""
        self._frame_bytes: int | None = None
        self._parts: list[bytes] = []
        self._received_bytes = 0

    @property
    def has_partial_frame(self) -> bool:
        """Whether the stream stopped, for now, inside a frame."""
        return bool(self._size) or self._frame_bytes is not None

    @property
    def announced_bytes(self) -> int:
        """Size of the frame that has begun to come in; 0 while that is not known."""
        return self._frame_bytes or 0

    @property
    def received_bytes(self) -> int:
        """How much has come of the frame that has begun to come in."""
        return self._received_bytes

    @property
    def begin(self) -> bytes:
        """The first two bytes, which hold a request's API key, of the frame that has begun to come in; fewer if no
        more have come.
        """
        return self._parts[0][:2] if self._parts else b""

    def receive(self, data: bytes) -> Iterator[bytes]:
        """Take what came in, and hand out the frames that are complete, without their sizes; to be iterated to its end.

        Raises:
            DecodeError: a size is negative or above the limit, as soon as it is seen and after all frames before it.
                The stream has no frames any more; close the connection.
        """
        if self._is_one_frame(data):
            yield data[_SIZE.size :]
            return
        position = 0
        while True:
            if self._frame_bytes is None:
                position = self._take_size(data, position)
                if self._frame_bytes is None:
                    return
            size = self._frame_bytes
            if not 0 <= size <= self._max_frame_bytes:
                raise DecodeError(f"a frame of {size} bytes, where up to {self._max_frame_bytes} are allowed")
            end = min(len(data), position + size - self._received_bytes)
            self._keep(data[position:end])
            position = end
            if self._received_bytes < size:
                return
            frame = b"".join(self._parts)
            self._parts, self._received_bytes, self._frame_bytes = [], 0, None
            yield frame

    def _is_one_frame(self, data: bytes) -> bool:
        """Whether this is exactly one frame, as most requests and answers come in: then it need not be put together."""
        if self.has_partial_frame or len(data) < _SIZE.size:
            return False
        (size,) = _SIZE.unpack_from(data)
        return bool(size == len(data) - _SIZE.size and size <= self._max_frame_bytes)

    def _keep(self, part: bytes) -> None:
        self._received_bytes += len(part)
        if self._parts and len(self._parts[-1]) < _SMALL_PART_BYTES:
            self._parts[-1] += part
        else:
            self._parts.append(part)

    def _take_size(self, data: bytes, position: int) -> int:
        """Take what is missing of the next frame's size from `position` on; return where the rest begins."""
        end = position + _SIZE.size - len(self._size)
        self._size += data[position:end]
        if len(self._size) == _SIZE.size:
            (self._frame_bytes,) = _SIZE.unpack(self._size)
            self._size = b""
        return min(end, len(data))


@dataclass(frozen=True, slots=True, kw_only=True)
class ReceivedRequest:
    """A request of a version that we serve."""

    api: Api[Any, Any]
    header: RequestHeader
    message: Message


@dataclass(frozen=True, slots=True, kw_only=True)
class UnsupportedRequest:
    """A request that cannot be read, because we do not serve that API or that version of it.

    If the API is ApiVersions, error 35 in a response of version 0 tells the client what to ask instead (COMPAT-4); any
    other answer would be in a form that the client does not expect.
    """

    api_key: int
    version: int
    correlation_id: int


def decode_request(frame: bytes) -> ReceivedRequest | UnsupportedRequest:
    """Read a frame that a client or peer sent. Bytes behind the message are ignored: librdkafka leaves some.

    Raises:
        DecodeError: the frame is cut short or malformed.
    """
    if len(frame) < _REQUEST_START.size:
        raise DecodeError(f"a request of {len(frame)} bytes, less than any header")
    api_key, version, correlation_id = _REQUEST_START.unpack_from(frame)
    api = APIS.get(api_key)
    if api is None or version not in api.versions:
        return UnsupportedRequest(api_key=api_key, version=version, correlation_id=correlation_id)
    header, position = decode_prefix(RequestHeader, api.request_header_version(version), frame)
    return ReceivedRequest(api=api, header=header, message=decode(api.request, version, frame, position))


def decode_response(frame: bytes, api: Api[Any, Response], version: int) -> tuple[int, Response]:
    """Read a frame that answers a request of this API and version.

    Returns:
        The correlation id, by which the caller finds that request, and the response.

    Raises:
        DecodeError: the frame is cut short or malformed.
    """
    header, position = decode_prefix(ResponseHeader, api.response_header_version(version), frame)
    return header.correlation_id, decode(api.response, version, frame, position)


def encode_request(request: Message, version: int, *, correlation_id: int, client_id: str | None) -> bytes:
    """Write a request as a frame, its size included.

    Raises:
        LocalProtocolError: the version cannot say what the request says (COMPAT-2).
    """
    api = api_of(request)
    start = _REQUEST_START.pack(api.key, version, correlation_id)
    rest = _header_after_start(api.request_header_version(version), client_id)
    return b"".join(_framed([start, rest, *encode_pieces(request, version)]))


@lru_cache(maxsize=64)
def _header_after_start(header_version: int, client_id: str | None) -> bytes:
    """What follows the correlation id in the header of a request. A client has few of these and many requests."""
    header = RequestHeader(request_api_key=0, request_api_version=0, correlation_id=0, client_id=client_id)
    return encode(header, header_version)[_REQUEST_START.size :]


def encode_response(response: Message, version: int, *, correlation_id: int) -> bytes:
    """Write the response to a request of this version as a frame, its size included.

    Raises:
        LocalProtocolError: the version cannot say what the response says.
    """
    return b"".join(response_pieces(response, version, correlation_id=correlation_id))


def response_pieces(response: Message, version: int, *, correlation_id: int) -> list[bytes]:
    """Write a response like `encode_response`, as pieces to be sent one after the other: records are not copied."""
    header = ResponseHeader(correlation_id=correlation_id)
    header_version = api_of(response).response_header_version(version)
    return _framed(encode_pieces(header, header_version) + encode_pieces(response, version))


def _framed(pieces: list[bytes]) -> list[bytes]:
    return [_SIZE.pack(sum(map(len, pieces))), *pieces]
