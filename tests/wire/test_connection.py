"""The requests of a connection: versions first, then in the highest version that both sides support."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest

import raft
from raft.codec import Message
from raft.errors import DecodeError, LocalProtocolError
from raft.wire import connection as module
from raft.wire.apis import API_VERSIONS, FETCH, FETCH_SNAPSHOT, METADATA, Api
from raft.wire.connection import (
    ClientConnection,
    ConnectionState,
    InvalidDataReceived,
    ResponseReceived,
    VersionsNegotiated,
)
from raft.wire.frames import MAX_RESPONSE_BYTES, encode_response
from raft.wire.headers import RequestHeader
from raft.wire.messages.api_versions import ApiVersion, ApiVersionsRequest, ApiVersionsResponse
from raft.wire.messages.describe_cluster import DescribeClusterRequest
from raft.wire.messages.fetch import FetchRequest
from raft.wire.messages.fetch_snapshot import FetchSnapshotRequest
from raft.wire.messages.metadata import MetadataRequest, MetadataResponse
from tests.wire.connections import (
    CLUSTER_REQUEST,
    MAX_FRAME_BYTES,
    METADATA_REQUEST,
    about,
    got,
    metadata,
    negotiating,
    negotiating_in_version_0,
    ready,
    requests_in,
    serving,
    versions,
)

GARBAGE = b"\xff" * 20


def sole_header(connection: ClientConnection[str]) -> RequestHeader:
    (request,) = requests_in(connection.data_to_send())
    return request.header


@pytest.mark.rule("COMPAT-1")
def test_connection_sends_api_versions_first() -> None:
    (hello,) = requests_in(ClientConnection[str](client_id="me", max_frame_bytes=MAX_FRAME_BYTES).data_to_send())

    assert hello.message == ApiVersionsRequest(
        client_software_name="kraft-spark", client_software_version=raft.__version__
    )
    assert hello.header.request_api_version == API_VERSIONS.versions.highest
    assert hello.header.client_id == "me"


def test_software_version_has_the_form_that_kafka_accepts() -> None:
    """Kafka's brokers refuse others with INVALID_REQUEST (ApiVersionsRequest.isValid)."""
    assert re.fullmatch(r"[a-zA-Z0-9](?:[a-zA-Z0-9\-.]*[a-zA-Z0-9])?", raft.__version__)


@pytest.mark.parametrize(
    ("highest", "version"),
    [(0, 0), (9, 9), (99, METADATA.versions.highest)],
    ids=["oldest", "older than ours", "newer than ours"],
)
@pytest.mark.rule("COMPAT-1")
def test_connection_sends_the_highest_version_that_both_support(highest: int, version: int) -> None:
    connection = ready(0, highest)

    connection.send_request(MetadataRequest(topics=()), tag="a")

    assert connection.version_for(METADATA) == version
    assert sole_header(connection).request_api_version == version


def test_connection_sends_the_version_that_the_caller_chooses() -> None:
    connection = ready(3, 9)

    connection.send_request(MetadataRequest(topics=None), tag="a", version=3)

    assert sole_header(connection).request_api_version == 3
    response = encode_response(metadata("x"), 3, correlation_id=1)
    expected = ResponseReceived(tag="a", api=METADATA, version=3, message=metadata("x"))
    assert connection.receive_data(response) == [expected]


@pytest.mark.parametrize("version", [2, 10, 99, -1])
def test_connection_refuses_version_when_not_both_support_it(version: int) -> None:
    connection = ready(3, 9)

    with pytest.raises(LocalProtocolError, match=f"version {version}: both sides support versions 3 to 9"):
        connection.send_request(METADATA_REQUEST, tag="a", version=version)


@pytest.mark.parametrize(("lowest", "highest"), [(50, 60), (1, 0)], ids=["newer only", "none"])
def test_connection_refuses_request_when_no_version_is_common(lowest: int, highest: int) -> None:
    connection = ready(lowest, highest)

    with pytest.raises(LocalProtocolError, match="does not serve Metadata in any version known here"):
        connection.send_request(MetadataRequest(topics=()), tag="a")

    assert connection.version_for(METADATA) is None
    assert connection.data_to_send() == b""


def test_connection_refuses_request_when_the_node_does_not_name_its_api() -> None:
    with pytest.raises(LocalProtocolError, match="does not serve ApiVersions"):
        ready().send_request(ApiVersionsRequest(), tag="a")


def test_connection_refuses_message_that_is_no_request() -> None:
    with pytest.raises(LocalProtocolError, match="MetadataResponse is not a request"):
        ready().send_request(metadata("x"), tag="a")


@pytest.mark.rule("COMPAT-2")
def test_connection_is_as_before_when_the_version_cannot_express_the_request() -> None:
    connection = ready(0, 3)

    with pytest.raises(LocalProtocolError, match="MetadataRequest"):
        connection.send_request(MetadataRequest(topics=None, allow_auto_topic_creation=False), tag="a")

    connection.send_request(METADATA_REQUEST, tag="b")
    assert sole_header(connection).correlation_id == 1
    assert connection.receive_data(encode_response(metadata("x"), 3, correlation_id=1)) == [
        got("b", metadata("x"), version=3)
    ]


@pytest.mark.rule("COMPAT-1", "COMPAT-4")
def test_connection_negotiates_again_in_version_0_and_then_sends_the_highest_version() -> None:
    connection = negotiating_in_version_0()

    connection.receive_data(versions(serving(0, 9), to=1, version=0))
    connection.send_request(METADATA_REQUEST, tag="a")

    header = sole_header(connection)
    assert (header.request_api_version, header.correlation_id) == (9, 2)


@pytest.mark.parametrize("begin", [negotiating, negotiating_in_version_0])
def test_connection_refuses_request_until_versions_are_negotiated(begin: Callable[[], ClientConnection[str]]) -> None:
    connection = begin()

    with pytest.raises(LocalProtocolError, match="cannot send MetadataRequest: the connection is negotiating"):
        connection.send_request(METADATA_REQUEST, tag="a")

    assert connection.version_for(METADATA) is None
    assert connection.data_to_send() == b""


def test_connection_takes_nothing_after_invalid_data() -> None:
    connection = ready()
    connection.send_request(METADATA_REQUEST, tag="a")
    connection.receive_data(GARBAGE)

    assert connection.data_to_send() == b""
    with pytest.raises(LocalProtocolError, match="cannot receive data: the connection has failed"):
        connection.receive_data(about("x", to=1))
    with pytest.raises(LocalProtocolError, match="cannot send MetadataRequest: the connection is failed"):
        connection.send_request(METADATA_REQUEST, tag="b")
    assert connection.state is ConnectionState.FAILED


def test_connection_has_failed_when_the_events_before_the_invalid_data_are_handled() -> None:
    connection = negotiating()

    negotiated, invalid = connection.receive_data(versions(serving()) + GARBAGE)

    assert isinstance(negotiated, VersionsNegotiated)
    assert isinstance(invalid, InvalidDataReceived)
    assert connection.state is ConnectionState.FAILED


def test_connection_hands_out_each_byte_once() -> None:
    connection = ready()
    connection.send_request(METADATA_REQUEST, tag="a")
    connection.send_request(CLUSTER_REQUEST, tag="b")

    sent = [type(request.message) for request in requests_in(connection.data_to_send())]

    assert sent == [MetadataRequest, DescribeClusterRequest]
    assert connection.data_to_send() == b""


def test_correlation_ids_begin_again_after_the_last_one_of_an_int32(monkeypatch: pytest.MonkeyPatch) -> None:
    assert module._CORRELATION_IDS == 1 << 31
    monkeypatch.setattr(module, "_CORRELATION_IDS", 3)
    connection = ready(in_flight=[METADATA_REQUEST, METADATA_REQUEST, METADATA_REQUEST])

    data = about("x", to=1) + about("y", to=2) + about("z", to=0)

    assert connection.receive_data(data) == [got(tag, metadata(name)) for tag, name in zip("abc", "xyz", strict=True)]


FETCH_REQUEST = FetchRequest(max_wait_ms=0, min_bytes=1, topics=())
SNAPSHOT_REQUEST = FetchSnapshotRequest(topics=())


def asking(request: Message, api: Api[Any, Any]) -> ClientConnection[str]:
    """A connection to a node that is known, with one request in flight."""
    connection = negotiating(max_frame_bytes=MAX_RESPONSE_BYTES)
    highest = api.versions.highest
    keys = (ApiVersion(api_key=api.key, min_version=highest, max_version=highest),)
    connection.receive_data(versions(ApiVersionsResponse(error_code=0, api_keys=keys)))
    connection.send_request(request, tag="a")
    return connection


@pytest.mark.parametrize(("request_", "api"), [(FETCH_REQUEST, FETCH), (SNAPSHOT_REQUEST, FETCH_SNAPSHOT)])
def test_connection_waits_for_a_response_with_records_of_any_size(request_: Message, api: Api[Any, Any]) -> None:
    connection = asking(request_, api)

    assert MAX_RESPONSE_BYTES == (1 << 31) - 1, "all that a size can say"
    assert connection.receive_data(MAX_RESPONSE_BYTES.to_bytes(4, "big") + b"the beginning") == []
    assert connection.state is ConnectionState.READY


@pytest.mark.parametrize(
    ("connection", "most_bytes"),
    [
        pytest.param(lambda: negotiating(max_frame_bytes=MAX_RESPONSE_BYTES), 1 << 20, id="unknown node"),
        pytest.param(lambda: asking(METADATA_REQUEST, METADATA), 100 << 20, id="without records"),
    ],
)
@pytest.mark.rule("AUTH-14")
def test_connection_is_closed_when_too_large_a_response_is_announced(
    connection: Callable[[], ClientConnection[str]], most_bytes: int
) -> None:
    """The received part would stay in memory, up to 2 GiB."""
    assert connection().receive_data(most_bytes.to_bytes(4, "big") + b"the beginning") == []

    (event,) = connection().receive_data((most_bytes + 1).to_bytes(4, "big"))

    assert isinstance(event, InvalidDataReceived)
    assert str(event.error) == f"received a frame of {most_bytes + 1} bytes, expected 0 to {most_bytes}"


@pytest.mark.rule("AUTH-14")
def test_limit_of_a_response_is_that_of_its_own_request() -> None:
    """A response that may be large is in flight behind one that may not."""
    connection = asking(METADATA_REQUEST, METADATA)
    connection.send_request(METADATA_REQUEST, tag="b")
    small = encode_response(MetadataResponse(brokers=(), topics=()), METADATA.versions.highest, correlation_id=1)

    got_first, refused = connection.receive_data(small + ((100 << 20) + 1).to_bytes(4, "big"))

    assert isinstance(got_first, ResponseReceived)
    assert isinstance(refused, InvalidDataReceived)


def test_invalid_data_is_an_error_of_the_node() -> None:
    (event,) = ready().receive_data(GARBAGE)

    assert isinstance(event, InvalidDataReceived)
    assert isinstance(event.error, DecodeError)
