"""Connections in each state, and the frames that a node sends to them."""

from __future__ import annotations

from collections.abc import Sequence

from raft.codec import Message
from raft.errors import ErrorCode
from raft.wire.apis import API_VERSIONS, DESCRIBE_CLUSTER, METADATA
from raft.wire.connection import ClientConnection, ResponseReceived
from raft.wire.frames import ReceivedRequest, decode_request, encode_response
from raft.wire.messages.api_versions import ApiVersion, ApiVersionsResponse
from raft.wire.messages.describe_cluster import DescribeClusterRequest, DescribeClusterResponse
from raft.wire.messages.metadata import MetadataRequest, MetadataResponse

MAX_FRAME_BYTES = 1_000
METADATA_REQUEST = MetadataRequest(topics=None)
CLUSTER_REQUEST = DescribeClusterRequest(include_cluster_authorized_operations=False)
CLUSTER = DescribeClusterResponse(error_code=0, cluster_id="c", controller_id=1, brokers=())


def metadata(cluster_id: str) -> MetadataResponse:
    return MetadataResponse(brokers=(), cluster_id=cluster_id, topics=())


def serving(lowest: int = 0, highest: int = 9) -> ApiVersionsResponse:
    """A node that serves these versions of Metadata, and version 0 of DescribeCluster."""
    return ApiVersionsResponse(
        error_code=0,
        api_keys=(
            ApiVersion(api_key=METADATA.key, min_version=lowest, max_version=highest),
            ApiVersion(api_key=DESCRIBE_CLUSTER.key, min_version=0, max_version=0),
        ),
    )


def refusal(error: int = ErrorCode.UNSUPPORTED_VERSION, *, highest: int | None = None) -> ApiVersionsResponse:
    """The refusal of a version of ApiVersions.

    Args:
        error: the error.
        highest: the highest version of ApiVersions that the refusal names; None if it names none.
    """
    named = () if highest is None else (ApiVersion(api_key=API_VERSIONS.key, min_version=0, max_version=highest),)
    return ApiVersionsResponse(error_code=error, api_keys=named)


def versions(response: ApiVersionsResponse, *, to: int = 0, version: int = API_VERSIONS.versions.highest) -> bytes:
    """The frame of a response to request number `to`, which is ApiVersions."""
    return encode_response(response, version, correlation_id=to)


def about(cluster_id: str, *, to: int) -> bytes:
    """The frame of a response to request number `to`, which is Metadata in version 9."""
    return encode_response(metadata(cluster_id), 9, correlation_id=to)


def got(tag: str, message: MetadataResponse | DescribeClusterResponse, *, version: int = 9) -> ResponseReceived[str]:
    """The event of a response to Metadata, or to DescribeCluster in version 0."""
    if isinstance(message, DescribeClusterResponse):
        return ResponseReceived(tag=tag, api=DESCRIBE_CLUSTER, version=0, message=message)
    return ResponseReceived(tag=tag, api=METADATA, version=version, message=message)


def negotiating(*, client_id: str = "me", max_frame_bytes: int = MAX_FRAME_BYTES) -> ClientConnection[str]:
    connection = ClientConnection[str](client_id=client_id, max_frame_bytes=max_frame_bytes)
    connection.data_to_send()
    return connection


def negotiating_in_version_0() -> ClientConnection[str]:
    connection = negotiating()
    connection.receive_data(versions(refusal(), version=0))
    connection.data_to_send()
    return connection


def negotiating_in_version_3() -> ClientConnection[str]:
    connection = negotiating()
    connection.receive_data(versions(refusal(highest=3), version=0))
    connection.data_to_send()
    return connection


def ready(lowest: int = 0, highest: int = 9, *, in_flight: Sequence[Message] = ()) -> ClientConnection[str]:
    """A connection to a node of these versions, with requests in flight whose tags are "a", "b" and so on."""
    connection = negotiating()
    connection.receive_data(versions(serving(lowest, highest)))
    for tag, request in zip("abc", in_flight, strict=False):
        connection.send_request(request, tag=tag)
    connection.data_to_send()
    return connection


def requests_in(data: bytes) -> list[ReceivedRequest]:
    """The requests as a node reads them."""
    requests = []
    while data:
        size = int.from_bytes(data[:4], "big")
        request = decode_request(data[4 : 4 + size])
        assert isinstance(request, ReceivedRequest)
        requests.append(request)
        data = data[4 + size :]
    return requests
