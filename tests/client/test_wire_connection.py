"""One connection of a client, without its socket."""

from __future__ import annotations

from typing import Any

import pytest

from raft.client.wire_connection import WireConnection
from raft.codec import Message
from raft.errors import DecodeError, ErrorCode, LocalProtocolError
from raft.wire.apis import API_VERSIONS, APIS
from raft.wire.frames import MAX_ANSWER_BYTES, ReceivedRequest, decode_request, encode_response
from raft.wire.messages.api_versions import ApiVersion, ApiVersionsRequest, ApiVersionsResponse
from raft.wire.messages.metadata import MetadataRequest, MetadataResponse

METADATA_KEY = 3


def received(data: bytes) -> ReceivedRequest:
    """The request as a node reads it."""
    request = decode_request(data[4:])
    assert isinstance(request, ReceivedRequest)
    return request


def answer_to(data: bytes, response: Message, *, version: int | None = None, late_by: int = 0) -> bytes:
    """The frame that answers a request."""
    header = received(data).header
    own = header.request_api_version if version is None else version
    return encode_response(response, own, correlation_id=header.correlation_id - late_by)[4:]


def serving(lowest: int, highest: int) -> ApiVersionsResponse:
    return ApiVersionsResponse(
        error_code=0, api_keys=(ApiVersion(api_key=METADATA_KEY, min_version=lowest, max_version=highest),)
    )


def connected(lowest: int = 0, highest: int = 99) -> WireConnection:
    connection = WireConnection("me")
    assert connection.on_hello(answer_to(connection.hello(), serving(lowest, highest))) is None
    return connection


@pytest.mark.rule("COMPAT-1")
def test_client_asks_for_versions_first() -> None:
    hello = received(WireConnection("me").hello())

    assert isinstance(hello.message, ApiVersionsRequest)
    assert hello.header.request_api_version == API_VERSIONS.versions.highest
    assert hello.header.client_id == "me"


@pytest.mark.parametrize(("highest", "used"), [(0, 0), (9, 9), (99, APIS[METADATA_KEY].versions.highest)])
@pytest.mark.rule("COMPAT-1")
def test_highest_version_that_both_know_is_used(highest: int, used: int) -> None:
    request = MetadataRequest(topics=())

    assert received(connected(0, highest).request(request)).header.request_api_version == used


@pytest.mark.parametrize(("lowest", "highest"), [(50, 60), (1, 0)])
def test_request_that_the_node_does_not_serve_is_not_sent(lowest: int, highest: int) -> None:
    with pytest.raises(LocalProtocolError, match="does not serve Metadata in any version known here"):
        connected(lowest, highest).request(MetadataRequest(topics=()))


def test_api_that_the_node_does_not_name_is_not_sent() -> None:
    with pytest.raises(LocalProtocolError, match="does not serve ApiVersions"):
        connected().request(ApiVersionsRequest())


@pytest.mark.rule("COMPAT-4")
def test_node_that_knows_only_the_oldest_versions_is_asked_again_in_those() -> None:
    refusal = ApiVersionsResponse(error_code=ErrorCode.UNSUPPORTED_VERSION, api_keys=())
    connection = WireConnection("me")

    again = connection.on_hello(answer_to(connection.hello(), refusal, version=0))

    assert again is not None
    assert received(again).header.request_api_version == 0
    assert connection.on_hello(answer_to(again, serving(0, 9))) is None
    assert received(connection.request(MetadataRequest(topics=()))).header.request_api_version == 9


@pytest.mark.parametrize("code", [ErrorCode.UNSUPPORTED_VERSION, ErrorCode.CLUSTER_AUTHORIZATION_FAILED])
def test_node_that_refuses_to_tell_its_versions_is_none(code: ErrorCode) -> None:
    connection = WireConnection("me")
    hello = connection.hello(0)

    with pytest.raises(DecodeError, match=f"ApiVersions is answered with {code.name}"):
        connection.on_hello(answer_to(hello, ApiVersionsResponse(error_code=code, api_keys=())))


def test_answer_is_read_in_the_version_of_its_request() -> None:
    connection = connected(0, 9)
    request = connection.request(MetadataRequest(topics=()))
    response = MetadataResponse(brokers=(), cluster_id="c", topics=())

    assert connection.answer(answer_to(request, response)) == response


@pytest.mark.parametrize("late_by", [1, -1])
def test_answer_to_another_request_is_none(late_by: int) -> None:
    connection = connected(0, 9)
    request = connection.request(MetadataRequest(topics=()))
    response = MetadataResponse(brokers=(), topics=())

    with pytest.raises(DecodeError, match="an answer to request"):
        connection.answer(answer_to(request, response, late_by=late_by))


def test_answers_may_come_in_pieces() -> None:
    connection = connected(0, 9)
    frame = encode_response(MetadataResponse(brokers=(), topics=()), 9, correlation_id=2)

    pieces = [connection.frames(frame[at : at + 1]) for at in range(len(frame))]

    assert pieces == [[]] * (len(frame) - 1) + [[frame[4:]]]


def test_answers_of_any_size_are_waited_for() -> None:
    connection = connected()

    assert MAX_ANSWER_BYTES == (1 << 31) - 1, "all that a size can say"
    assert connection.frames(MAX_ANSWER_BYTES.to_bytes(4, "big") + b"the beginning") == []


def test_answer_of_a_negative_size_is_refused() -> None:
    with pytest.raises(DecodeError, match="a frame of -1 bytes"):
        connected().frames(b"\xff\xff\xff\xff")


@pytest.mark.parametrize("early", [lambda c: c.request(MetadataRequest(topics=())), lambda c: c.answer(b"")])
def test_versions_come_first(early: Any) -> None:
    with pytest.raises(AssertionError, match=r"versions are asked for first|answers follow requests"):
        early(WireConnection("me"))
