"""Frames: a size, a header, a message.

    int32 size      of the header and the message, in bytes
    header          request: API key, version, correlation id, client id; response: correlation id
    message

This module does no I/O: it converts bytes to messages and messages to bytes.
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
"""Largest response that is accepted: the largest value of the size field. A fetch returns at least one whole batch,
and the log may have batches from a time when message.max.bytes was larger. Memory is allocated for the received part of
a frame, not for its announced size."""

_SIZE = struct.Struct(">i")
_REQUEST_START = struct.Struct(">hhi")


_SMALL_PART_BYTES = 4096
"""A part that is received after a smaller one is appended to it: one object for each of many small parts would take
more memory than their bytes."""


class FrameReader:
    """Splits a stream of bytes into frames.

    The received parts are joined when a frame is complete, so that a large frame is copied once.

    Args:
        max_frame_bytes: the largest frame that is accepted, in bytes.

    Attributes:
        max_frame_bytes: see there. It may change between two frames.
    """

    def __init__(self, max_frame_bytes: int) -> None:
        self.max_frame_bytes = max_frame_bytes
        self._size = b""
        self._frame_bytes: int | None = None
        self._parts: list[bytes] = []
        self._received_bytes = 0

    @property
    def has_partial_frame(self) -> bool:
        """Whether a frame is partly received."""
        return bool(self._size) or self._frame_bytes is not None

    @property
    def announced_bytes(self) -> int:
        """The announced size of the frame that is partly received, in bytes; 0 while it is unknown."""
        return self._frame_bytes or 0

    @property
    def received_bytes(self) -> int:
        """How many bytes are received of the frame that is partly received."""
        return self._received_bytes

    @property
    def begin(self) -> bytes:
        """The first two bytes of the frame that is partly received, or fewer. In a request they are the API key."""
        return self._parts[0][:2] if self._parts else b""

    def receive_one_frame(self, data: bytes) -> bytes | None:
        """Receive bytes if they are exactly one frame, as most requests and responses are; return it without its size.

        Returns:
            None if the bytes are anything else. Then they are not received.
        """
        if self.has_partial_frame or len(data) < _SIZE.size:
            return None
        (size,) = _SIZE.unpack_from(data)
        if size != len(data) - _SIZE.size or size > self.max_frame_bytes:
            return None
        return data[_SIZE.size :]

    def receive(self, data: bytes) -> Iterator[bytes]:
        """Receive bytes, and yield the complete frames without their sizes. The caller iterates to the end.

        Raises:
            DecodeError: a size is negative or above the limit; raised after the frames before it. The caller closes the
                connection, because the stream has no valid frames any more.
        """
        frame = self.receive_one_frame(data)
        if frame is not None:
            yield frame
            return
        position = 0
        while True:
            if self._frame_bytes is None:
                position = self._take_size(data, position)
                if self._frame_bytes is None:
                    return
            size = self._frame_bytes
            if not 0 <= size <= self.max_frame_bytes:
                raise DecodeError(f"received a frame of {size} bytes, expected 0 to {self.max_frame_bytes}")
            end = min(len(data), position + size - self._received_bytes)
            self._keep(data[position:end])
            position = end
            if self._received_bytes < size:
                return
            frame = b"".join(self._parts)
            self._parts, self._received_bytes, self._frame_bytes = [], 0, None
            yield frame

    def _keep(self, part: bytes) -> None:
        self._received_bytes += len(part)
        if self._parts and len(self._parts[-1]) < _SMALL_PART_BYTES:
            self._parts[-1] += part
        else:
            self._parts.append(part)

    def _take_size(self, data: bytes, position: int) -> int:
        """Read the missing bytes of the next frame's size at `position`; return the position after them."""
        end = position + _SIZE.size - len(self._size)
        self._size += data[position:end]
        if len(self._size) == _SIZE.size:
            (self._frame_bytes,) = _SIZE.unpack(self._size)
            self._size = b""
        return min(end, len(data))


@dataclass(frozen=True, slots=True, kw_only=True)
class ReceivedRequest:
    """A request in a version that the node serves."""

    api: Api[Any, Any]
    header: RequestHeader
    message: Message


@dataclass(frozen=True, slots=True, kw_only=True)
class UnsupportedRequest:
    """A request that cannot be decoded, because the node does not serve that API or that version of it.

    If the API is ApiVersions, the node responds in version 0 with error 35 and the versions that it serves (COMPAT-4).
    To other APIs it cannot respond in a form that the client expects.
    """

    api_key: int
    version: int
    correlation_id: int


def decode_request(frame: bytes) -> ReceivedRequest | UnsupportedRequest:
    """Decode a frame from a client or another node. Bytes after the message are ignored: librdkafka leaves some.

    Raises:
        DecodeError: the frame is too short or malformed.
    """
    if len(frame) < _REQUEST_START.size:
        raise DecodeError(f"received a request of {len(frame)} bytes, expected at least {_REQUEST_START.size}")
    api_key, version, correlation_id = _REQUEST_START.unpack_from(frame)
    api = APIS.get(api_key)
    if api is None or version not in api.versions:
        return UnsupportedRequest(api_key=api_key, version=version, correlation_id=correlation_id)
    header, position = decode_prefix(RequestHeader, api.request_header_version(version), frame)
    return ReceivedRequest(api=api, header=header, message=decode(api.request, version, frame, position))


def decode_response(frame: bytes, api: Api[Any, Response], version: int) -> tuple[int, Response]:
    """Decode a frame with the response to a request of this API and version.

    Returns:
        The correlation id, which identifies the request, and the response.

    Raises:
        DecodeError: the frame is too short or malformed.
    """
    header, position = decode_prefix(ResponseHeader, api.response_header_version(version), frame)
    return header.correlation_id, decode(api.response, version, frame, position)


def encode_request(request: Message, version: int, *, correlation_id: int, client_id: str | None) -> bytes:
    """Encode a request as a frame, with its size.

    Raises:
        LocalProtocolError: the version cannot express the request (COMPAT-2).
    """
    api = api_of(request)
    start = _REQUEST_START.pack(api.key, version, correlation_id)
    rest = _header_after_start(api.request_header_version(version), client_id)
    return b"".join(_framed([start, rest, *encode_pieces(request, version)]))


@lru_cache(maxsize=64)
def _header_after_start(header_version: int, client_id: str | None) -> bytes:
    """Return the part of a request header after the correlation id. A client has few of these and many requests."""
    header = RequestHeader(request_api_key=0, request_api_version=0, correlation_id=0, client_id=client_id)
    return encode(header, header_version)[_REQUEST_START.size :]


def encode_response(response: Message, version: int, *, correlation_id: int) -> bytes:
    """Encode the response to a request of this version as a frame, with its size.

    Raises:
        LocalProtocolError: the version cannot express the response.
    """
    return b"".join(response_pieces(response, version, correlation_id=correlation_id))


def response_pieces(response: Message, version: int, *, correlation_id: int) -> list[bytes]:
    """Encode a response like `encode_response`, but as pieces to send one after the other: records are not copied."""
    header = ResponseHeader(correlation_id=correlation_id)
    header_version = api_of(response).response_header_version(version)
    return _framed(encode_pieces(header, header_version) + encode_pieces(response, version))


def _framed(pieces: list[bytes]) -> list[bytes]:
    return [_SIZE.pack(sum(map(len, pieces))), *pieces]
