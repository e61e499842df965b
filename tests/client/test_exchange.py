"""The requests to one node, one at a time: what is sent when, and their results."""

from __future__ import annotations

import sys

import pytest

from raft.client.exchange import Exchange
from raft.errors import DecodeError, LocalProtocolError
from raft.wire.apis import API_VERSIONS, METADATA
from raft.wire.frames import ReceivedRequest, decode_request, encode_response
from raft.wire.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse
from raft.wire.messages.metadata import MetadataRequest
from tests.client.table import metadata
from tests.node.harness.peer import serving_all

REQUEST = MetadataRequest(topics=None)
VERSIONS = encode_response(serving_all(), API_VERSIONS.versions.highest, correlation_id=0)
RESPONSE = encode_response(metadata(), METADATA.versions.highest, correlation_id=1)


def sent(exchange: Exchange) -> str | None:
    """The name of the request that is sent; None if none is."""
    data = exchange.data_to_send()
    if not data:
        return None
    request = decode_request(data[4:])
    assert isinstance(request, ReceivedRequest)
    return type(request.message).__name__


def begun(*, versions: bool = True) -> Exchange:
    """An exchange with a request in flight, whether the versions are known or not."""
    exchange = Exchange("me")
    exchange.begin(REQUEST, now_ms=0, deadline_ms=7)
    exchange.data_to_send()
    if versions:
        exchange.receive_data(VERSIONS)
        exchange.data_to_send()
    return exchange


def test_exchange_sends_the_request_when_the_versions_are_known() -> None:
    exchange = Exchange("me")
    exchange.begin(REQUEST, now_ms=0, deadline_ms=7)

    assert (sent(exchange), sent(exchange)) == ("ApiVersionsRequest", None)
    exchange.receive_data(VERSIONS)
    assert (sent(exchange), sent(exchange)) == ("MetadataRequest", None)
    exchange.receive_data(RESPONSE)
    assert (exchange.response, exchange.is_in_flight, exchange.error) == (metadata(), False, None)


def test_exchange_does_not_keep_a_request_that_it_has_sent() -> None:
    """An append of many mebibytes would stay in memory as long as the connection."""
    request = MetadataRequest(topics=None)
    references = sys.getrefcount(request)
    exchange = Exchange("me")

    exchange.begin(request, now_ms=0, deadline_ms=7)
    exchange.receive_data(VERSIONS)
    exchange.data_to_send()

    assert sys.getrefcount(request) == references


def test_exchange_sends_the_next_request_at_once() -> None:
    exchange = begun()
    exchange.receive_data(RESPONSE)

    exchange.begin(REQUEST, now_ms=0, deadline_ms=8)

    assert sent(exchange) == "MetadataRequest"
    assert (exchange.response, exchange.is_in_flight, exchange.deadline_ms) == (None, True, 8)


@pytest.mark.parametrize("is_first", [True, False])
def test_exchange_responds_to_api_versions_with_what_the_node_said_first(is_first: bool) -> None:
    exchange = Exchange("me") if is_first else begun()
    if is_first:
        exchange.begin(ApiVersionsRequest(), now_ms=0, deadline_ms=7)
        exchange.receive_data(VERSIONS)
    else:
        exchange.receive_data(RESPONSE)
        exchange.begin(ApiVersionsRequest(), now_ms=0, deadline_ms=7)

    assert (exchange.response, exchange.is_in_flight) == (serving_all(), False)
    assert sent(exchange) == ("ApiVersionsRequest" if is_first else None)


@pytest.mark.parametrize("versions", [True, False], ids=["sent", "negotiating"])
@pytest.mark.parametrize(
    ("data", "error", "words"),
    [
        pytest.param(b"", ConnectionError, "the node closed the connection", id="end"),
        pytest.param(b"\xff" * 8, DecodeError, "a frame of -1 bytes", id="garbage"),
    ],
)
def test_request_fails_when_the_connection_fails(
    versions: bool, data: bytes, error: type[Exception], words: str
) -> None:
    exchange = begun(versions=versions)

    exchange.receive_data(data)

    assert (exchange.response, exchange.is_in_flight) == (None, False)
    assert isinstance(exchange.error, error)
    assert words in str(exchange.error)


def test_request_fails_as_the_connection_does_when_invalid_data_follows_the_versions() -> None:
    exchange = begun(versions=False)

    exchange.receive_data(VERSIONS + b"\xff" * 8)

    assert isinstance(exchange.error, DecodeError)
    assert (exchange.response, exchange.is_in_flight, sent(exchange)) == (None, False, None)


def test_request_fails_when_the_node_does_not_serve_it() -> None:
    exchange = begun(versions=False)

    exchange.receive_data(encode_response(ApiVersionsResponse(error_code=0, api_keys=()), 4, correlation_id=0))

    assert isinstance(exchange.error, LocalProtocolError)
    assert not exchange.is_in_flight


def test_exchange_keeps_its_first_error() -> None:
    exchange = begun()
    first = ConnectionResetError(104, "reset")
    exchange.fail(first)

    exchange.fail(ConnectionError("later"))
    exchange.receive_data(RESPONSE)
    exchange.begin(REQUEST, now_ms=0, deadline_ms=9)

    assert exchange.error is first
    assert (exchange.response, exchange.is_in_flight, sent(exchange)) == (None, False, None)


def test_exchange_has_one_request_in_flight() -> None:
    with pytest.raises(AssertionError, match="one request in flight at a time"):
        begun().begin(REQUEST, now_ms=0, deadline_ms=7)
