"""The events of a connection: one table of (state, bytes, events), with the bytes split at every position."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from raft.errors import ErrorCode
from raft.wire.connection import ClientConnection, ConnectionState, Event, InvalidDataReceived, VersionsNegotiated
from raft.wire.frames import encode_response
from raft.wire.messages.api_versions import SupportedFeature
from tests.codec.strategies import MANY
from tests.wire.connections import (
    CLUSTER,
    CLUSTER_REQUEST,
    MAX_FRAME_BYTES,
    METADATA_REQUEST,
    about,
    got,
    metadata,
    negotiating,
    negotiating_in_version_0,
    negotiating_in_version_3,
    ready,
    refusal,
    requests_in,
    serving,
    versions,
)

NEGOTIATING, READY, FAILED = ConnectionState.NEGOTIATING, ConnectionState.READY, ConnectionState.FAILED


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """The events of a connection that receives bytes.

    Fields:
        begin: makes the connection.
        data: the received bytes.
        events: the events.
        error: a pattern of the error with which the connection fails then; None if it does not.
        state: the state afterwards, if it does not fail.
        next_version: the version of the ApiVersions request that is sent then; None if nothing is sent.
    """

    begin: Callable[[], ClientConnection[str]]
    data: bytes
    events: tuple[Event[str], ...] = ()
    error: str | None = None
    state: ConnectionState = READY
    next_version: int | None = None


def one_in_flight() -> ClientConnection[str]:
    return ready(in_flight=[METADATA_REQUEST])


def two_in_flight() -> ClientConnection[str]:
    return ready(in_flight=[METADATA_REQUEST, METADATA_REQUEST])


def two_apis_in_flight() -> ClientConnection[str]:
    return ready(in_flight=[CLUSTER_REQUEST, METADATA_REQUEST])


def resized(frame: bytes) -> bytes:
    """The frame with the size that it has."""
    return len(frame[4:]).to_bytes(4, "big") + frame[4:]


TOO_LARGE = (MAX_FRAME_BYTES + 1).to_bytes(4, "big")
GARBAGE = b"\xff" * 20
UNREQUESTED_GARBAGE = "a frame of -1 bytes|no request is in flight"
"""If the size is received in parts, the first part is invalid already."""
VERSIONS = VersionsNegotiated(response=serving())
SERVING_WITH_FEATURE = replace(
    serving(), supported_features=(SupportedFeature(name="metadata.version", min_version=1, max_version=7),)
)
REFUSAL_NAMING_METADATA = replace(serving(), error_code=ErrorCode.UNSUPPORTED_VERSION)
X, Y = got("a", metadata("x")), got("b", metadata("y"))

ROWS = {
    "negotiating: versions": Row(begin=negotiating, data=versions(serving()), events=(VERSIONS,)),
    "negotiating: versions, and a response to no request": Row(
        begin=negotiating,
        data=versions(serving()) + about("x", to=1),
        events=(VERSIONS,),
        error="received a response, but no request is in flight",
    ),
    "negotiating: versions, then garbage": Row(
        begin=negotiating, data=versions(serving()) + GARBAGE, events=(VERSIONS,), error=UNREQUESTED_GARBAGE
    ),
    "negotiating: version not supported": Row(
        begin=negotiating, data=versions(refusal(), version=0), state=NEGOTIATING, next_version=0
    ),
    "negotiating: version not supported, highest is 3": Row(
        begin=negotiating, data=versions(refusal(highest=3), version=0), state=NEGOTIATING, next_version=3
    ),
    "negotiating: version not supported, highest is the refused one": Row(
        begin=negotiating, data=versions(refusal(highest=4), version=0), state=NEGOTIATING, next_version=0
    ),
    "negotiating: version not supported, highest is negative": Row(
        begin=negotiating, data=versions(refusal(highest=-1), version=0), state=NEGOTIATING, next_version=0
    ),
    "negotiating: version not supported, another API is named": Row(
        begin=negotiating, data=versions(REFUSAL_NAMING_METADATA, version=0), state=NEGOTIATING, next_version=0
    ),
    "negotiating: version not supported, to another request": Row(
        begin=negotiating, data=versions(refusal(), to=9, version=0), error="response to request 9, expected one to 0"
    ),
    "negotiating: refused": Row(
        begin=negotiating,
        data=versions(refusal(ErrorCode.CLUSTER_AUTHORIZATION_FAILED)),
        error="received error CLUSTER_AUTHORIZATION_FAILED in response to ApiVersions",
    ),
    "negotiating: versions, to another request": Row(
        begin=negotiating, data=versions(serving(), to=9), error="response to request 9, expected one to 0"
    ),
    "negotiating: another message": Row(
        begin=negotiating, data=about("x", to=0), error="cannot decode ApiVersionsResponse"
    ),
    "negotiating: empty frame": Row(begin=negotiating, data=bytes(4), error="cannot decode ResponseHeader"),
    "negotiating in version 3: versions with features": Row(
        begin=negotiating_in_version_3,
        data=versions(SERVING_WITH_FEATURE, to=1, version=3),
        events=(VersionsNegotiated(response=SERVING_WITH_FEATURE),),
    ),
    "negotiating in version 3: version not supported, highest is 3 again": Row(
        begin=negotiating_in_version_3,
        data=versions(refusal(highest=3), to=1, version=0),
        state=NEGOTIATING,
        next_version=0,
    ),
    "negotiating in version 0: versions": Row(
        begin=negotiating_in_version_0, data=versions(serving(), to=1, version=0), events=(VERSIONS,)
    ),
    "negotiating in version 0: version not supported": Row(
        begin=negotiating_in_version_0,
        data=versions(refusal(), to=1, version=0),
        error="received error UNSUPPORTED_VERSION in response to ApiVersions",
    ),
    "ready: nothing": Row(begin=ready, data=b""),
    "ready: response to no request": Row(begin=ready, data=about("x", to=1), error="no request is in flight"),
    "one in flight: response": Row(begin=one_in_flight, data=about("x", to=1), events=(X,)),
    "ready: part of a response to no request": Row(begin=ready, data=b"\x00", error="no request is in flight"),
    "one in flight: response and a part of a frame": Row(
        begin=one_in_flight, data=about("x", to=1) + b"\x00\x00", events=(X,), error="no request is in flight"
    ),
    "one in flight: response, then garbage": Row(
        begin=one_in_flight, data=about("x", to=1) + GARBAGE, events=(X,), error=UNREQUESTED_GARBAGE
    ),
    "two in flight: first response and a part of the second": Row(
        begin=two_in_flight, data=about("x", to=1) + b"\x00\x00", events=(X,)
    ),
    "one in flight: response twice": Row(
        begin=one_in_flight, data=about("x", to=1) * 2, events=(X,), error="no request is in flight"
    ),
    "one in flight: to an earlier request": Row(
        begin=one_in_flight, data=about("x", to=0), error="response to request 0, expected one to 1"
    ),
    "one in flight: to a later request": Row(
        begin=one_in_flight, data=about("x", to=2), error="response to request 2, expected one to 1"
    ),
    "one in flight: to a negative correlation id": Row(
        begin=one_in_flight, data=about("x", to=-1), error="response to request -1, expected one to 1"
    ),
    "one in flight: message cut short in its frame": Row(
        begin=one_in_flight, data=resized(about("x", to=1)[:-1]), error="cannot decode MetadataResponse"
    ),
    "one in flight: garbage behind the message in its frame": Row(
        begin=one_in_flight, data=resized(about("x", to=1) + GARBAGE), events=(X,)
    ),
    "one in flight: oversized": Row(begin=one_in_flight, data=TOO_LARGE, error="a frame of 1001 bytes"),
    "one in flight: negative size": Row(begin=one_in_flight, data=GARBAGE, error="a frame of -1 bytes"),
    "two in flight: first response": Row(begin=two_in_flight, data=about("x", to=1), events=(X,)),
    "two in flight: both responses": Row(begin=two_in_flight, data=about("x", to=1) + about("y", to=2), events=(X, Y)),
    "two in flight: out of order": Row(
        begin=two_in_flight,
        data=about("y", to=2) + about("x", to=1),
        error="response to request 2, expected one to 1",
    ),
    "two in flight: second one oversized": Row(
        begin=two_in_flight, data=about("x", to=1) + TOO_LARGE, events=(X,), error="a frame of 1001 bytes"
    ),
    "two APIs in flight: both responses": Row(
        begin=two_apis_in_flight,
        data=encode_response(CLUSTER, 0, correlation_id=1) + about("y", to=2),
        events=(got("a", CLUSTER), Y),
    ),
}

EVERY_ROW = pytest.mark.parametrize("row", [pytest.param(row, id=name) for name, row in ROWS.items()])


def one_piece(data: bytes) -> list[bytes]:
    return [data]


def byte_by_byte(data: bytes) -> list[bytes]:
    return [data[at : at + 1] for at in range(len(data))]


def received(connection: ClientConnection[str], pieces: Sequence[bytes]) -> tuple[tuple[Event[str], ...], str | None]:
    """The events of the pieces until the connection fails, and the error with which it fails."""
    events: list[Event[str]] = []
    for piece in pieces:
        for event in connection.receive_data(piece):
            if isinstance(event, InvalidDataReceived):
                return tuple(events), str(event.error)
            events.append(event)
    return tuple(events), None


def is_expected(error: str | None, row: Row) -> bool:
    if error is None or row.error is None:
        return error == row.error
    return re.search(row.error, error) is not None


@EVERY_ROW
@pytest.mark.parametrize("cut", [one_piece, byte_by_byte])
@pytest.mark.rule("COMPAT-4")
def test_connection_turns_bytes_into_events(row: Row, cut: Callable[[bytes], list[bytes]]) -> None:
    connection = row.begin()

    events, error = received(connection, cut(row.data))

    assert events == row.events
    assert is_expected(error, row), error
    assert connection.state is (row.state if row.error is None else FAILED)
    sent = [request.header.request_api_version for request in requests_in(connection.data_to_send())]
    assert sent == ([] if row.next_version is None else [row.next_version])


@EVERY_ROW
def test_connection_waits_for_more_when_bytes_are_truncated_at_any_length(row: Row) -> None:
    for length in range(len(row.data)):
        connection = row.begin()

        events, error = received(connection, one_piece(row.data[:length]))

        assert events == row.events[: len(events)], f"the first {length} bytes"
        assert error is None or is_expected(error, row), f"the first {length} bytes: {error}"


@MANY
@given(st.sampled_from(sorted(ROWS)), st.lists(st.integers(0, 200)))
def test_connection_returns_the_same_events_wherever_the_bytes_are_split(name: str, cuts: list[int]) -> None:
    row = ROWS[name]
    ends = [*sorted(cuts), len(row.data)]
    pieces = [row.data[start:end] for start, end in zip([0, *ends[:-1]], ends, strict=True)]

    events, error = received(row.begin(), pieces)

    assert events == row.events
    assert is_expected(error, row)
