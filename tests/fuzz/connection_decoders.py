"""The client side of a connection: received bytes become the same events in any pieces, or are invalid."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from raft.errors import DecodeError
from raft.wire.connection import ClientConnection, ConnectionState, Event, InvalidDataReceived
from raft.wire.frames import encode_response
from tests.fuzz.decoder import Decoder, MemoryBound, Sample
from tests.wire.connections import CLUSTER, CLUSTER_REQUEST, METADATA_REQUEST, about, ready, serving, versions

_BOUND = MemoryBound(fixed_bytes=64 << 10, per_byte=3 * 64)
"""The bytes are received and kept twice; see `tests.fuzz.wire_decoders`."""


def receive(stream: bytes, *, is_ready: bool) -> object:
    """Receive a stream in one piece, and byte by byte; the events must be the same."""
    whole = _received(_begun(is_ready=is_ready), [stream])
    in_bytes = _received(_begun(is_ready=is_ready), [stream[at : at + 1] for at in range(len(stream))])
    assert [type(event) for event in whole] == [type(event) for event in in_bytes]
    if whole and isinstance(whole[-1], InvalidDataReceived):
        assert whole[:-1] == in_bytes[:-1], "what came before the invalid data"
        raise whole[-1].error
    assert whole == in_bytes
    return whole


def _begun(*, is_ready: bool) -> ClientConnection[str]:
    if is_ready:
        return ready(in_flight=[METADATA_REQUEST, CLUSTER_REQUEST, METADATA_REQUEST])
    return ClientConnection(client_id="fuzzer", max_frame_bytes=1 << 16)


def _received(connection: ClientConnection[str], pieces: list[bytes]) -> list[Event[str]]:
    events: list[Event[str]] = []
    for piece in pieces:
        if connection.state is not ConnectionState.FAILED:
            events += connection.receive_data(piece)
    return events


def _samples() -> Iterator[Sample]:
    yield Sample(name="versions", content=versions(serving()), decode=partial(receive, is_ready=False))
    cluster = encode_response(CLUSTER, 0, correlation_id=2)
    content = about("a", to=1) + cluster + about("b", to=3)
    yield Sample(name="three responses", content=content, decode=partial(receive, is_ready=True))
    yield Sample(name="three responses, truncated", content=content[:-3], decode=partial(receive, is_ready=True))


CONNECTION_DECODERS = (
    Decoder(name="responses on a connection", samples=tuple(_samples()), refusals=(DecodeError,), bound=_BOUND),
)
