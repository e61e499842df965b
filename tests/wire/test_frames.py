"""Requests and responses as frames."""

from typing import Any

import pytest

from raft.codec import encode
from raft.errors import DecodeError, ErrorCode, LocalProtocolError
from raft.wire.apis import API_VERSIONS, APIS, METADATA, VOTE, Api
from raft.wire.frames import (
    ReceivedRequest,
    UnsupportedRequest,
    decode_request,
    decode_response,
    encode_request,
    encode_response,
)
from raft.wire.headers import RequestHeader
from raft.wire.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse
from raft.wire.messages.metadata import MetadataRequest
from raft.wire.messages.vote import VoteRequest, VoteRequestPartition, VoteRequestTopic
from tests.codec.samples import sample

API_EDITIONS = [(api, version) for api in APIS.values() for version in api.versions]
every_api_edition = pytest.mark.parametrize(
    ("api", "version"), API_EDITIONS, ids=[f"{api.name}-v{version}" for api, version in API_EDITIONS]
)


def content_of(frame: bytes) -> bytes:
    """A frame without its size, which must be right."""
    assert int.from_bytes(frame[:4], "big") == len(frame) - 4
    return frame[4:]


@every_api_edition
def test_request_arrives_as_it_was_sent(api: Api[Any, Any], version: int) -> None:
    request = sample(api.request, version)

    frame = encode_request(request, version, correlation_id=77, client_id="client")

    header = RequestHeader(request_api_key=api.key, request_api_version=version, correlation_id=77, client_id="client")
    assert decode_request(content_of(frame)) == ReceivedRequest(api=api, header=header, message=request)


@every_api_edition
def test_response_arrives_as_it_was_sent(api: Api[Any, Any], version: int) -> None:
    response = sample(api.response, version)

    frame = encode_response(response, version, correlation_id=77)

    assert decode_response(content_of(frame), api, version) == (77, response)


def test_request_is_decoded_without_a_client_id() -> None:
    frame = encode_request(ApiVersionsRequest(), 0, correlation_id=1, client_id=None)

    received = decode_request(content_of(frame))

    assert isinstance(received, ReceivedRequest)
    assert received.header.client_id is None


@pytest.mark.parametrize(
    ("key", "version"),
    [
        pytest.param(API_VERSIONS.key, 5, id="newer ApiVersions"),
        pytest.param(API_VERSIONS.key, -1, id="negative version"),
        pytest.param(VOTE.key, 3, id="newer Vote"),
        pytest.param(1, 3, id="older Fetch"),
        pytest.param(12, 0, id="unknown API"),
        pytest.param(-1, 0, id="negative key"),
    ],
)
@pytest.mark.rule("COMPAT-4")
def test_unsupported_request_has_its_correlation_id(key: int, version: int) -> None:
    start = key.to_bytes(2, "big", signed=True) + version.to_bytes(2, "big", signed=True) + bytes((0, 0, 1, 2))

    received = decode_request(start + b"a body of unknown form")

    assert received == UnsupportedRequest(api_key=key, version=version, correlation_id=258)


@pytest.mark.rule("COMPAT-4")
def test_refusal_of_unknown_api_versions_version_is_readable_to_the_oldest_client() -> None:
    refusal = ApiVersionsResponse(error_code=ErrorCode.UNSUPPORTED_VERSION, api_keys=())

    frame = encode_response(refusal, 0, correlation_id=9)

    assert content_of(frame) == bytes.fromhex("00000009 0023 00000000")


def test_request_with_bytes_behind_the_message_is_read() -> None:
    # librdkafka 2.16 requests all topics with null as four zero bytes, three more than a flexible version has.
    header = bytes.fromhex("0003 000d 00000001 0007 72646b61666b61 00")
    body = bytes.fromhex("00000000 01 00 00")

    received = decode_request(header + body)

    assert isinstance(received, ReceivedRequest)
    assert received.api is METADATA
    assert received.message == MetadataRequest(topics=None, allow_auto_topic_creation=False)


@pytest.mark.parametrize("length", range(8))
def test_request_shorter_than_any_header_is_refused(length: int) -> None:
    with pytest.raises(DecodeError, match="expected at least 8"):
        decode_request(bytes(length))


@pytest.mark.rule("COMPAT-2")
def test_pre_vote_is_not_sent_in_a_version_without_pre_votes() -> None:
    partition = VoteRequestPartition(
        partition_index=0, replica_epoch=5, replica_id=1, last_offset_epoch=5, last_offset=9, pre_vote=True
    )
    request = VoteRequest(topics=(VoteRequestTopic(topic_name="t", partitions=(partition,)),))

    with pytest.raises(LocalProtocolError, match=r"VoteRequest v1: topics\.partitions.pre_vote: this version has no"):
        encode_request(request, 1, correlation_id=1, client_id=None)
    assert encode(request, 2)
