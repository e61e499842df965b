"""What comes over the network: messages of every version, requests and responses with their headers, streams of frames.

Frames are read as a node reads them: header, message, and, for what passes between replicas, on to the core's words.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Any

from raft.codec import Message, decode, encode
from raft.errors import DecodeError, LocalProtocolError
from raft.types import Uuid
from raft.wire.apis import APIS, Api
from raft.wire.frames import (
    FrameReader,
    UnsupportedRequest,
    decode_request,
    decode_response,
    encode_request,
    encode_response,
)
from raft.wire.mapping.fetches import client_fetch_from_wire, fetching_replica
from raft.wire.mapping.partition import TopicPartition
from raft.wire.mapping.replica_messages import request_from_wire, response_from_wire
from raft.wire.messages.begin_quorum_epoch import BeginQuorumEpochRequest, BeginQuorumEpochResponse
from raft.wire.messages.end_quorum_epoch import EndQuorumEpochRequest, EndQuorumEpochResponse
from raft.wire.messages.fetch import FetchRequest, FetchResponse
from raft.wire.messages.fetch_snapshot import FetchSnapshotResponse
from raft.wire.messages.vote import VoteRequest, VoteResponse
from raft.writers import WriteId, WriteKey, is_reserved
from tests.codec.everything import Everything
from tests.codec.samples import sample
from tests.fuzz import kafka_bytes
from tests.fuzz.decoder import Decoder, MemoryBound, Sample
from tests.fuzz.quorum_messages import peer_requests, peer_responses
from tests.wire.catalog import EDITIONS

OURS = TopicPartition(topic_name="__raft_performance_test", topic_id=Uuid("AAAAAAAAAAAAAAAAAAAAAg"))
"""The partition in the frames captured from Kafka."""

MAX_FRAME_BYTES = 1 << 16

_SIZE_BYTES = 4

_BOUND = MemoryBound(fixed_bytes=64 << 10, per_byte=64)
"""An unknown tag takes at least two bytes and a struct in an array three; they become tuples and objects."""

_SEND_ON_BOUND = MemoryBound(fixed_bytes=64 << 10, per_byte=4 * _BOUND.per_byte)
"""The bytes are read twice, and written in small pieces in between."""


def read_message(content: bytes, *, message_class: type[Message], version: int) -> Message:
    """Read a message."""
    return decode(message_class, version, content)


def send_on(content: bytes, *, message_class: type[Message], version: int) -> Message:
    """Read a message, write it and read it again."""
    message = decode(message_class, version, content)
    encoded = encode(message, version)
    assert encode(decode(message_class, version, encoded), version) == encoded, "it is not what it was when written"
    return message


def read_request(frame: bytes) -> object:
    """Read a request as a node does, that of a replica up to the core's message."""
    received = decode_request(frame)
    if isinstance(received, UnsupportedRequest):
        return received
    message, version = received.message, received.header.request_api_version
    match message:
        case FetchRequest() if fetching_replica(message, version) is None:
            return [client_fetch_from_wire(message, part) for topic in message.topics for part in topic.partitions]
        case VoteRequest() | BeginQuorumEpochRequest() | EndQuorumEpochRequest() | FetchRequest():
            return request_from_wire(message, OURS, version)
        case _:
            return message


def read_response(frame: bytes, *, api: Api[Any, Any], version: int) -> object:
    """Read a response as the node that sent the request does."""
    _correlation_id, message = decode_response(frame, api, version)
    match message:
        case (
            VoteResponse()
            | BeginQuorumEpochResponse()
            | EndQuorumEpochResponse()
            | FetchResponse()
            | FetchSnapshotResponse()
        ):
            return response_from_wire(message)
        case _:
            return message


def read_stream(stream: bytes) -> object:
    """Split a stream into frames, received in two pieces."""
    reader = FrameReader(MAX_FRAME_BYTES)
    half = len(stream) // 2
    return [frame for piece in (stream[:half], stream[half:]) for frame in reader.receive(piece)]


def read_transactional_id(content: bytes) -> WriteId:
    """Read a transactional id as a leader does: that of a multipart write names the write, with this text only.

    Raises:
        ValueError: it is not one of a multipart write.
    """
    name = content.decode(errors="replace")
    write = WriteId.parse(name)
    if write is None:
        raise ValueError(f"{name!r} is not the transactional id of a write")
    assert write.transactional_id == name, "another text for the same write"
    assert is_reserved(name), "a producer could have the transactional id of a write"
    return write


def _message_samples(read: Callable[..., Message]) -> Iterator[Sample]:
    everything = [(Everything, version) for version in Everything.__schema__.versions]
    editions: list[tuple[type[Message], int]] = [*EDITIONS, *everything]
    for message_class, version in editions:
        yield Sample(
            name=f"{message_class.__name__} v{version}",
            content=encode(sample(message_class, version), version),
            decode=partial(read, message_class=message_class, version=version),
        )


def _request_frame(name: str, frame: bytes) -> Sample:
    return Sample(name=name, content=frame, decode=read_request)


def _requests() -> Iterator[Sample]:
    for api in APIS.values():
        for version in api.versions:
            request = sample(api.request, version)
            yield _request_frame(f"{api.name} v{version}", _frames([request], version, "client")[0])
            for message in peer_requests(api, version, OURS):
                for frame in _frames([message], version, None):
                    yield _request_frame(f"{api.name} v{version} of a replica", frame)
    for frame in kafka_bytes.REQUESTS:
        yield _request_frame("a request of Kafka", frame)


def _frames(requests: Iterable[Message], version: int, client_id: str | None) -> list[bytes]:
    """Return the requests as frames without the size field, except those that a version cannot express."""
    frames = []
    for request in requests:
        try:
            frame = encode_request(request, version, correlation_id=1, client_id=client_id)
        except LocalProtocolError:
            continue
        frames.append(frame[_SIZE_BYTES:])
    return frames


def _response_frame(name: str, api: Api[Any, Any], version: int, frame: bytes) -> Sample:
    return Sample(
        name=f"{name}{api.name} v{version}", content=frame, decode=partial(read_response, api=api, version=version)
    )


def _responses() -> Iterator[Sample]:
    for api in APIS.values():
        for version in api.versions:
            of_peers = tuple(peer_responses(api, version, OURS))
            for message in of_peers or (sample(api.response, version),):
                frame = encode_response(message, version, correlation_id=1)[_SIZE_BYTES:]
                yield _response_frame("", api, version, frame)
    for api, version, frame in kafka_bytes.RESPONSES:
        yield _response_frame("Kafka's ", api, version, frame)


def _streams() -> Iterator[Sample]:
    frames = [len(frame).to_bytes(_SIZE_BYTES, "big") + frame for frame in kafka_bytes.REQUESTS]
    yield Sample(name="three frames", content=b"".join(frames[:3]), decode=read_stream)
    yield Sample(name="frames, the last one truncated", content=b"".join(frames)[:-20], decode=read_stream)


WIRE_DECODERS = (
    Decoder(
        name="messages", samples=tuple(_message_samples(read_message)), refusals=(DecodeError,), bound=_BOUND, share=4
    ),
    Decoder(
        name="messages sent on",
        samples=tuple(_message_samples(send_on)),
        refusals=(DecodeError,),
        bound=_SEND_ON_BOUND,
        share=2,
    ),
    Decoder(name="requests", samples=tuple(_requests()), refusals=(DecodeError,), bound=_BOUND, share=4),
    Decoder(name="responses", samples=tuple(_responses()), refusals=(DecodeError,), bound=_BOUND, share=4),
    Decoder(
        name="transactional ids",
        samples=(
            Sample(
                name="of a write",
                content=WriteKey("a query", 1 << 40).write_id.transactional_id.encode(),
                decode=read_transactional_id,
            ),
        ),
        refusals=(ValueError,),
        bound=_BOUND,
        words=(b"kraft-write", b":", b"0", b"-1", b"+1", b"1_0", b"\xd9\xa3", b"9" * 5000, b"\n", b" "),
    ),
    Decoder(name="streams of frames", samples=tuple(_streams()), refusals=(DecodeError,), bound=_BOUND),
)
