"""What a connection may hold before its client has proved its name: bytes, requests, and time."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from raft.node.inbound import SILENT_S
from raft.node.request_frames import MAX_REQUEST_BYTES
from raft.runtime.drop_cause import DropCause
from raft.security.outcomes import AuthenticationOutcome
from raft.security.sasl_session import MAX_REQUESTS
from raft.wire.apis import API_VERSIONS, PRODUCE, SASL_AUTHENTICATE, Api
from raft.wire.frames import encode_request
from raft.wire.messages.api_versions import ApiVersionsRequest
from raft.wire.messages.metadata import MetadataRequest
from raft.wire.messages.sasl import SaslAuthenticateRequest, SaslHandshakeRequest
from tests.node.harness.guarded_connection import GuardedConnection
from tests.node.harness.keys import SCRAM, Keys, proof
from tests.node.harness.loop import JumpingLoop
from tests.node.harness.requests import produce_request
from tests.runtime.guarded_node import FAILURE_DELAY_MS, FOR_VOTERS

CLIENTS_BYTES = 1 << 10
LARGE = produce_request(bytes(MAX_REQUEST_BYTES))
SMALL = produce_request(bytes(MAX_REQUEST_BYTES - 1000))
UNKNOWN_VERSION = b"\0\0\0\x0e" + b"\0\x12\0\x63" + b"\0\0\0\x01" + b"\0\x04test"
"""ApiVersions in version 99."""


@pytest.fixture
def keys(tmp_path: Path) -> Keys:
    return Keys(tmp_path)


def on_a_loop(play: Callable[[JumpingLoop], None]) -> None:
    """Run a function on an event loop whose clock it may put forward."""
    loop = JumpingLoop()

    async def run() -> None:
        play(loop)

    with asyncio.Runner(loop_factory=lambda: loop) as runner:
        runner.run(run())


def begin_to_prove(connection: GuardedConnection) -> None:
    connection.send(SaslHandshakeRequest(mechanism=SCRAM), 1)
    connection.send(SaslAuthenticateRequest(auth_bytes=proof("alice").respond(b"") or b""), 2)


def prove_and_begin_again(connection: GuardedConnection) -> None:
    connection.prove()
    begin_to_prove(connection)


def counted(connection: GuardedConnection) -> dict[AuthenticationOutcome, int]:
    found = connection.node.context.authentications
    return {outcome: count for (listener, outcome), count in found.items() if listener == FOR_VOTERS.name}


def ended(connection: GuardedConnection) -> tuple[str | None, DropCause]:
    """Why the node has closed the connection."""
    assert connection.socket.is_aborted
    connection.inbound.connection_lost(None)
    ((reason, cause),) = connection.shared.dropped
    return reason, cause


@pytest.mark.parametrize("come", [4, 5, 6, 100], ids=lambda come: f"{come} bytes")
@pytest.mark.parametrize("api", [PRODUCE, SASL_AUTHENTICATE, API_VERSIONS], ids=lambda api: api.name)
@pytest.mark.rule("AUTH-10")
def test_large_frame_is_refused_when_it_is_announced(keys: Keys, api: Api[Any, Any], come: int) -> None:
    def play(_loop: JumpingLoop) -> None:
        connection = GuardedConnection(keys)
        size_bytes = MAX_REQUEST_BYTES + 1
        frame = size_bytes.to_bytes(4, "big") + api.key.to_bytes(2, "big") + bytes(size_bytes)

        connection.receive(frame[:come])

        reason, cause = ended(connection)
        assert cause is DropCause.INVALID_REQUEST
        assert reason is not None
        assert reason.startswith(f"received a request of {size_bytes} bytes")
        assert connection.shared.large_frames.taken_bytes == 0

    on_a_loop(play)


@pytest.mark.rule("AUTH-10")
def test_large_frame_that_is_received_at_once_is_refused(keys: Keys) -> None:
    def play(_loop: JumpingLoop) -> None:
        connection = GuardedConnection(keys)

        connection.send(LARGE, 9)

        assert ended(connection) == ("sent more than 65536 bytes before it was known", DropCause.INVALID_REQUEST)
        assert connection.shared.requests.taken_bytes == 0

    on_a_loop(play)


def test_large_frame_is_read_after_authentication(keys: Keys) -> None:
    def play(_loop: JumpingLoop) -> None:
        connection = GuardedConnection(keys)
        connection.prove()
        frame = encode_request(LARGE, 9, correlation_id=1, client_id="test")

        connection.receive(frame[:MAX_REQUEST_BYTES])
        connection.receive(frame[MAX_REQUEST_BYTES:])

        assert not connection.socket.is_aborted

    on_a_loop(play)


@pytest.mark.rule("AUTH-10")
def test_appends_before_authentication_take_nothing_from_those_of_others(keys: Keys) -> None:
    def play(_loop: JumpingLoop) -> None:
        connection = GuardedConnection(keys)

        connection.send(produce_request(bytes(1000)), 9, times=10)

        assert connection.shared.requests.taken_bytes == 0
        connection.node.voter.wait(FAILURE_DELAY_MS)
        assert ended(connection)[1] is DropCause.FAILED_AUTHENTICATION
        assert connection.shared.requests.taken_bytes == 0

    on_a_loop(play)


@pytest.mark.rule("AUTH-10")
def test_append_before_authentication_does_not_wait_for_those_of_others(keys: Keys) -> None:
    def play(_loop: JumpingLoop) -> None:
        connection = GuardedConnection(keys, request_bytes=CLIENTS_BYTES)
        connection.shared.requests.take(2 * CLIENTS_BYTES)

        connection.send(SMALL, 9)
        connection.node.voter.wait(FAILURE_DELAY_MS)

        assert ended(connection)[1] is DropCause.FAILED_AUTHENTICATION

    on_a_loop(play)


@pytest.mark.rule("AUTH-4", "AUTH-10")
def test_nothing_is_read_or_kept_behind_a_failure(keys: Keys) -> None:
    def play(_loop: JumpingLoop) -> None:
        connection = GuardedConnection(keys)
        frame = encode_request(MetadataRequest(topics=None), 9, correlation_id=1, client_id="test")

        connection.receive(frame * 1000)

        assert not connection.socket.is_read
        assert len(connection.inbound._queue) == 1
        assert not connection.inbound._requests
        connection.node.voter.wait(FAILURE_DELAY_MS)
        assert ended(connection)[1] is DropCause.FAILED_AUTHENTICATION
        assert connection.socket.written == b""
        assert counted(connection) == {AuthenticationOutcome.FAILED: 1}

    on_a_loop(play)


@pytest.mark.rule("AUTH-6")
def test_refusal_of_a_wrong_proof_is_sent_before_the_connection_is_closed(keys: Keys) -> None:
    def play(_loop: JumpingLoop) -> None:
        connection = GuardedConnection(keys)
        connection.send(SaslHandshakeRequest(mechanism=SCRAM), 1)
        connection.send(SaslAuthenticateRequest(auth_bytes=b"wrong"), 2)
        responses_before = len(connection.socket.frames())

        connection.node.voter.wait(FAILURE_DELAY_MS)

        assert (responses_before, len(connection.socket.frames())) == (1, 2)
        assert connection.socket.is_closed
        assert not connection.socket.is_aborted

    on_a_loop(play)


def test_client_that_is_gone_before_its_refusal_gets_none(keys: Keys) -> None:
    def play(_loop: JumpingLoop) -> None:
        connection = GuardedConnection(keys)
        connection.send(MetadataRequest(topics=None), 9)
        connection.inbound.connection_lost(None)

        connection.node.voter.wait(FAILURE_DELAY_MS)

        assert connection.shared.dropped == [(None, DropCause.INVALID_REQUEST)], "the node has not dropped it"
        assert connection.socket.written == b""
        assert counted(connection) == {AuthenticationOutcome.FAILED: 1}

    on_a_loop(play)


@pytest.mark.parametrize(
    "frame",
    [
        pytest.param(encode_request(ApiVersionsRequest(), 4, correlation_id=1, client_id=""), id="version 4"),
        pytest.param(UNKNOWN_VERSION, id="version 99"),
    ],
)
@pytest.mark.rule("AUTH-4", "AUTH-10")
def test_seventeenth_request_for_the_versions_ends_the_connection(keys: Keys, frame: bytes) -> None:
    def play(_loop: JumpingLoop) -> None:
        connection = GuardedConnection(keys)

        for _ in range(MAX_REQUESTS):
            connection.receive(frame)
        assert len(connection.socket.frames()) == MAX_REQUESTS
        connection.receive(frame)
        connection.node.voter.wait(FAILURE_DELAY_MS)

        reason, cause = ended(connection)
        assert cause is DropCause.FAILED_AUTHENTICATION
        assert reason is not None
        assert reason.endswith("received more than 16 requests before authentication")
        assert counted(connection) == {AuthenticationOutcome.FAILED: 1}

    on_a_loop(play)


def test_requests_in_unknown_versions_are_not_counted_after_authentication(keys: Keys) -> None:
    def play(_loop: JumpingLoop) -> None:
        connection = GuardedConnection(keys)
        connection.prove()

        for _ in range(2 * MAX_REQUESTS):
            connection.receive(UNKNOWN_VERSION)

        assert not connection.socket.is_aborted
        connection.prove()

    on_a_loop(play)


@pytest.mark.parametrize(
    ("begin", "is_dropped"),
    [
        pytest.param(lambda _connection: None, True, id="nothing sent"),
        pytest.param(lambda connection: connection.send(ApiVersionsRequest(), 4), True, id="versions"),
        pytest.param(lambda connection: connection.receive(b"\0\0"), True, id="a part of a frame"),
        pytest.param(begin_to_prove, True, id="half a proof"),
        pytest.param(lambda connection: connection.prove(), False, id="authenticated"),
        pytest.param(prove_and_begin_again, False, id="proves its name again"),
    ],
)
@pytest.mark.rule("AUTH-10")
def test_connection_is_dropped_when_its_client_is_not_authenticated_in_time(
    keys: Keys, begin: Callable[[GuardedConnection], object], is_dropped: bool
) -> None:
    def play(loop: JumpingLoop) -> None:
        connection = GuardedConnection(keys)
        begin(connection)
        connection.inbound.drop_if_idle(600)
        is_dropped_early = connection.socket.is_aborted
        loop.ahead_s += SILENT_S + 1

        connection.inbound.drop_if_idle(600)

        assert not is_dropped_early
        assert connection.socket.is_aborted is is_dropped
        if is_dropped:
            assert ended(connection) == ("no authentication within 10 s", DropCause.IDLE)

    on_a_loop(play)
