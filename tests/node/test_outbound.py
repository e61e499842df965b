"""Connections to other nodes: versions first, responses in order, and one result for each request."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

import pytest

from raft.core import messages as core
from raft.core.events import Failure
from raft.errors import ErrorCode
from raft.local.ports import free_ports
from raft.node.outbound import OutboundConnection, is_refusal
from raft.types import Endpoint, Epoch, LeaderAndEpoch, NodeId, Offset, OffsetAndEpoch, ReplicaKey
from raft.wire.apis import API_VERSIONS, FETCH, VOTE
from raft.wire.frames import encode_response
from raft.wire.mapping.elections import VOTE as VOTE_MAPPING
from raft.wire.messages.api_versions import ApiVersion, ApiVersionsResponse, SupportedFeature
from raft.wire.messages.vote import VoteResponse
from tests.node.harness.loop import LoopThread
from tests.node.harness.peer import OURS, Peer, friendly, serving_all
from tests.node.harness.properties import HOST
from tests.node.harness.waiting import eventually

VOTE_REQUEST = core.VoteRequest(
    cluster_id="c",
    epoch=Epoch(3),
    candidate=ReplicaKey(NodeId(1)),
    candidate_log_end=OffsetAndEpoch(epoch=Epoch(2), offset=Offset(7)),
    pre_vote=False,
    voter=ReplicaKey(NodeId(2)),
)
PRE_VOTE_REQUEST = core.VoteRequest(
    cluster_id="c",
    epoch=Epoch(3),
    candidate=ReplicaKey(NodeId(1)),
    candidate_log_end=OffsetAndEpoch(epoch=Epoch(2), offset=Offset(7)),
    pre_vote=True,
)
GRANTED = core.VoteResponse(leader=LeaderAndEpoch(epoch=Epoch(3)), vote_granted=True)


class Caller:
    """Sends requests on one connection and keeps their results."""

    def __init__(self, thread: LoopThread, endpoint: Endpoint, *, refuses_controllers: bool = False) -> None:
        self._thread = thread
        self._endpoint = endpoint
        self._refuses_controllers = refuses_controllers
        self.responses: list[tuple[int, core.Response]] = []
        self.failed: list[tuple[int, Failure]] = []
        self.forgotten: set[int] = set()
        self.connection = thread.look(self._make)

    def connect(self) -> None:
        """Open the connection, and wait until that is done or has failed."""
        self._thread.run(self.connection.connect(self._endpoint))

    def send(self, number: int, request: core.OutgoingRequest) -> None:
        self._thread.look(lambda: self.connection.send(number, request))

    def close(self) -> None:
        self._thread.look(self.connection.close)

    def wait_for_responses(self, count: int) -> list[tuple[int, core.Response]]:
        eventually(lambda: len(self.responses) >= count, f"{count} responses in {self.responses} {self.failed}")
        return self.responses

    def wait_for_failures(self, count: int) -> list[tuple[int, Failure]]:
        eventually(lambda: len(self.failed) >= count, f"{count} failures in {self.responses} {self.failed}")
        return self.failed

    def _make(self) -> OutboundConnection:
        return OutboundConnection(
            OURS,
            client_id="test",
            max_frame_bytes=10_000,
            refuses_controllers=self._refuses_controllers,
            on_response=lambda number, response: self.responses.append((number, response)),
            failed=lambda number, failure: self.failed.append((number, failure)),
            is_expected=lambda number: number not in self.forgotten,
        )


@pytest.fixture
def thread() -> Iterator[LoopThread]:
    thread = LoopThread()
    yield thread
    thread.close()


@pytest.fixture
def peer(thread: LoopThread) -> Iterator[Peer]:
    with Peer(thread, Endpoint(HOST, free_ports(1)[0]), friendly) as peer:
        yield peer


@pytest.fixture
def caller(thread: LoopThread, peer: Peer) -> Iterator[Caller]:
    caller = Caller(thread, peer.endpoint)
    yield caller
    caller.close()


def serving(key: int, lowest: int, highest: int) -> ApiVersionsResponse:
    return ApiVersionsResponse(
        error_code=0, api_keys=(ApiVersion(api_key=key, min_version=lowest, max_version=highest),)
    )


def test_requests_wait_for_the_versions_and_get_responses_in_order(caller: Caller, peer: Peer) -> None:
    caller.send(10, VOTE_REQUEST)
    caller.send(11, PRE_VOTE_REQUEST)
    caller.connect()
    caller.send(12, VOTE_REQUEST)

    assert caller.wait_for_responses(3) == [(10, GRANTED), (11, GRANTED), (12, GRANTED)]
    assert peer.received[0] == VOTE_REQUEST
    assert caller.failed == []


@pytest.mark.rule("GEN-7")
def test_request_that_is_forgotten_before_the_versions_are_known_is_not_sent(caller: Caller, peer: Peer) -> None:
    """The fetch of a follower waits for a suspended leader, and meanwhile the follower becomes prospective."""

    def versions(_version: int) -> ApiVersionsResponse:
        caller.forgotten.add(10)
        return serving_all()

    peer.versions = versions
    caller.send(10, PRE_VOTE_REQUEST)
    caller.send(11, VOTE_REQUEST)
    caller.connect()

    assert caller.wait_for_responses(1) == [(11, GRANTED)]
    assert caller.failed == [(10, Failure.NOT_SENT)]
    assert peer.received == [VOTE_REQUEST]


@pytest.mark.rule("COMPAT-4")
def test_versions_are_requested_again_in_version_0_when_a_node_supports_no_other(caller: Caller, peer: Peer) -> None:
    requested_versions: list[int] = []

    def versions(version: int) -> bytes | ApiVersionsResponse:
        requested_versions.append(version)
        if version:
            refusal = ApiVersionsResponse(error_code=ErrorCode.UNSUPPORTED_VERSION, api_keys=())
            return encode_response(refusal, 0, correlation_id=0)
        return serving_all()

    peer.versions = versions
    caller.send(1, VOTE_REQUEST)
    caller.connect()

    assert caller.wait_for_responses(1) == [(1, GRANTED)]
    assert requested_versions == [4, 0]


KAFKA_CONTROLLER = replace(
    serving_all(), supported_features=(SupportedFeature(name="metadata.version", min_version=7, max_version=30),)
)


def controller_of_kafka_4_0(_version: int) -> ApiVersionsResponse:
    """A controller that supports ApiVersions 0 to 4."""
    return KAFKA_CONTROLLER


def controller_of_kafka_3_8(version: int) -> bytes | ApiVersionsResponse:
    """A controller that supports ApiVersions 0 to 3; before version 3 the response has no features."""
    if version <= 3:
        return KAFKA_CONTROLLER
    refusal = replace(serving(API_VERSIONS.key, 0, 3), error_code=ErrorCode.UNSUPPORTED_VERSION)
    return encode_response(refusal, 0, correlation_id=0)


@pytest.mark.parametrize("refuses_controllers", [True, False])
@pytest.mark.parametrize("versions", [controller_of_kafka_3_8, controller_of_kafka_4_0])
@pytest.mark.rule("ERROR-7")
def test_voter_sends_no_request_to_a_controller_of_a_kafka_cluster(
    thread: LoopThread,
    peer: Peer,
    refuses_controllers: bool,
    versions: Callable[[int], bytes | ApiVersionsResponse],
) -> None:
    peer.versions = versions
    caller = Caller(thread, peer.endpoint, refuses_controllers=refuses_controllers)
    caller.send(1, VOTE_REQUEST)
    caller.send(2, VOTE_REQUEST)

    caller.connect()

    if refuses_controllers:
        assert caller.wait_for_failures(2) == [(1, Failure.KAFKA_CONTROLLER), (2, Failure.KAFKA_CONTROLLER)]
        assert peer.received == []
    else:
        assert caller.wait_for_responses(2) == [(1, GRANTED), (2, GRANTED)]
    caller.close()


@pytest.mark.parametrize(
    ("highest", "known_voter"), [(0, None), (1, ReplicaKey(NodeId(2))), (9, ReplicaKey(NodeId(2)))]
)
@pytest.mark.rule("COMPAT-1")
def test_highest_version_that_both_know_is_used(
    caller: Caller, peer: Peer, highest: int, known_voter: ReplicaKey | None
) -> None:
    peer.versions = lambda _version: serving(VOTE.key, 0, highest)
    caller.send(1, VOTE_REQUEST)
    caller.connect()
    caller.wait_for_responses(1)

    (request,) = peer.received
    assert isinstance(request, core.VoteRequest)
    assert request.voter == known_voter, "version 0 has no field for the voter"


@pytest.mark.parametrize(
    ("versions", "request_"),
    [
        pytest.param(serving(FETCH.key, 12, 18), VOTE_REQUEST, id="no such API"),
        pytest.param(serving(VOTE.key, 3, 5), VOTE_REQUEST, id="only newer versions"),
        pytest.param(serving(VOTE.key, 0, 1), PRE_VOTE_REQUEST, id="no version with pre-votes"),
    ],
)
@pytest.mark.rule("COMPAT-2", "PREVOTE-18")
def test_request_fails_at_once_when_no_common_version_can_express_it(
    caller: Caller, peer: Peer, versions: ApiVersionsResponse, request_: core.OutgoingRequest
) -> None:
    peer.versions = lambda _version: versions
    caller.send(1, request_)
    caller.connect()

    assert caller.wait_for_failures(1) == [(1, Failure.UNSUPPORTED_VERSION)]
    assert not caller.connection.is_closed


def test_requests_fail_when_no_node_listens(thread: LoopThread) -> None:
    caller = Caller(thread, Endpoint(HOST, free_ports(1)[0]))
    caller.send(1, VOTE_REQUEST)
    caller.send(2, VOTE_REQUEST)

    caller.connect()

    assert caller.failed == [(1, Failure.CONNECTION_REFUSED), (2, Failure.CONNECTION_REFUSED)]
    assert caller.connection.is_closed


def test_requests_without_a_response_fail_when_the_node_disconnects(caller: Caller, peer: Peer) -> None:
    peer.play = lambda _request: None
    caller.send(1, VOTE_REQUEST)
    caller.connect()
    peer.wait_for_requests(core.VoteRequest)
    caller.send(2, VOTE_REQUEST)

    peer.hang_up()

    assert caller.wait_for_failures(2) == [(1, Failure.DISCONNECTED), (2, Failure.DISCONNECTED)]
    assert caller.connection.is_closed


def test_requests_without_a_response_fail_when_the_connection_is_dropped(caller: Caller, peer: Peer) -> None:
    peer.play = lambda _request: None
    caller.send(1, VOTE_REQUEST)
    caller.connect()
    peer.wait_for_requests(core.VoteRequest)

    caller.close()
    caller.close()

    assert caller.failed == [(1, Failure.DISCONNECTED)], "told once"


def test_connection_dropped_before_it_is_open_is_not_used(thread: LoopThread, peer: Peer) -> None:
    caller = Caller(thread, peer.endpoint)
    caller.send(1, VOTE_REQUEST)
    caller.close()

    caller.connect()

    assert caller.failed == [(1, Failure.DISCONNECTED)]
    eventually(lambda: not peer.has_connections, "it is closed")
    assert peer.received == []


@pytest.mark.parametrize(
    ("response", "complaint"),
    [
        pytest.param((20_000).to_bytes(4, "big"), "a frame of 20000 bytes", id="too large"),
        pytest.param(encode_response(serving_all(), 4, correlation_id=99), "a response to request 99", id="of another"),
    ],
)
def test_connection_is_closed_when_the_node_sends_invalid_data(
    caller: Caller, peer: Peer, response: bytes, complaint: str, caplog: pytest.LogCaptureFixture
) -> None:
    peer.versions = lambda _version: response
    caller.send(1, VOTE_REQUEST)
    caller.connect()

    assert caller.wait_for_failures(1) == [(1, Failure.DISCONNECTED)]
    assert caller.connection.is_closed
    assert any(complaint in message for message in caplog.messages)


@pytest.mark.rule("PREVOTE-18")
def test_requests_fail_as_disconnected_when_invalid_data_follows_the_versions(caller: Caller, peer: Peer) -> None:
    peer.versions = lambda version: encode_response(serving_all(), version, correlation_id=0) + b"\xff" * 8
    caller.send(1, PRE_VOTE_REQUEST)
    caller.send(2, VOTE_REQUEST)
    caller.connect()

    assert caller.wait_for_failures(2) == [(1, Failure.DISCONNECTED), (2, Failure.DISCONNECTED)]
    assert caller.connection.is_closed


def test_connection_is_closed_when_a_response_has_no_request(
    caller: Caller, peer: Peer, caplog: pytest.LogCaptureFixture
) -> None:
    response = encode_response(VOTE_MAPPING.response_to_wire(GRANTED, OURS, 2), 2, correlation_id=1)
    peer.play = lambda _request: response + response
    caller.connect()
    caller.send(1, VOTE_REQUEST)
    eventually(lambda: caller.connection.is_closed, "it is closed")

    assert caller.responses == [(1, GRANTED)]
    assert any("a response, but no request is in flight" in message for message in caplog.messages)


def test_connection_is_closed_when_the_node_refuses_api_versions(
    caller: Caller, peer: Peer, caplog: pytest.LogCaptureFixture
) -> None:
    peer.versions = lambda _version: ApiVersionsResponse(error_code=31, api_keys=())
    caller.send(1, VOTE_REQUEST)
    caller.connect()

    assert caller.wait_for_failures(1) == [(1, Failure.DISCONNECTED)]
    assert any(
        "error CLUSTER_AUTHORIZATION_FAILED in response to ApiVersions" in message for message in caplog.messages
    )


@pytest.mark.rule("COMPAT-4")
def test_connection_is_closed_when_the_node_supports_no_version_of_api_versions(caller: Caller, peer: Peer) -> None:
    requested_versions: list[int] = []

    def versions(version: int) -> bytes:
        requested_versions.append(version)
        refusal = ApiVersionsResponse(error_code=ErrorCode.UNSUPPORTED_VERSION, api_keys=())
        return encode_response(refusal, 0, correlation_id=len(requested_versions) - 1)

    peer.versions = versions
    caller.send(1, VOTE_REQUEST)
    caller.connect()

    assert caller.wait_for_failures(1) == [(1, Failure.DISCONNECTED)]
    assert requested_versions == [4, 0]


@pytest.mark.parametrize(
    "response",
    [
        pytest.param(encode_response(VoteResponse(error_code=0, topics=()), 2, correlation_id=1), id="of nothing"),
        pytest.param(b"\x00\x00\x00\x08\x00\x00\x00\x01\x00\x00\x00\x7f", id="rubbish"),
    ],
)
def test_request_fails_when_its_response_cannot_be_decoded(caller: Caller, peer: Peer, response: bytes) -> None:
    peer.play = lambda _request: response
    caller.connect()
    caller.send(1, VOTE_REQUEST)

    assert caller.wait_for_failures(1) == [(1, Failure.DISCONNECTED)]
    assert caller.connection.is_closed


@pytest.mark.parametrize(
    "endpoint",
    [
        pytest.param(Endpoint("a..b", 9093), id="a name with an empty part"),
        pytest.param(Endpoint("nul\0.invalid", 9093), id="a name with a NUL"),
        pytest.param(Endpoint(HOST, 65_536), id="a port past the last"),
        pytest.param(Endpoint(HOST, -1), id="a port before the first"),
    ],
)
def test_requests_to_an_invalid_endpoint_fail(thread: LoopThread, endpoint: Endpoint) -> None:
    caller = Caller(thread, endpoint)
    caller.send(1, VOTE_REQUEST)

    caller.connect()

    assert caller.failed == [(1, Failure.DISCONNECTED)]


@pytest.mark.parametrize(
    ("error", "refused"),
    [
        (ConnectionRefusedError(111, "Connect call failed ('127.0.0.1', 9093)"), True),
        (OSError("Multiple exceptions: [Errno 111] Connect call failed, [Errno 111] Connect call failed"), True),
        (OSError("Multiple exceptions: [Errno 111] Connect call failed, [Errno 101] Network is unreachable"), False),
        (OSError(113, "No route to host"), False),
        (TimeoutError(), False),
        (ValueError("[Errno 111]"), False),
    ],
)
def test_refused_connection_is_distinguished_from_other_failures(error: Exception, refused: bool) -> None:
    assert is_refusal(error) is refused
