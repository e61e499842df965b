"""A connection with SASL: what it sends before it is ready, and authentication again."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from raft.codec import Message
from raft.errors import LocalProtocolError
from raft.wire.connection import (
    Authenticated,
    ClientConnection,
    ConnectionState,
    VersionsNegotiated,
)
from raft.wire.messages.api_versions import ApiVersionsRequest
from raft.wire.messages.sasl import (
    SaslAuthenticateRequest,
    SaslHandshakeRequest,
)
from raft.wire.protection import NO_PROTECTION, Protection
from tests.wire.connections import MAX_FRAME_BYTES, METADATA_REQUEST, about, got, metadata, versions
from tests.wire.protections import fake_sasl
from tests.wire.sasl_connections import (
    AUTHENTICATE_VERSION,
    HANDSHAKE_VERSION,
    VERSIONS,
    authenticating,
    begun,
    challenge,
    chosen,
    ready,
    sent,
    serving,
)


@pytest.mark.rule("AUTH-4")
def test_client_proves_its_name_before_it_is_ready() -> None:
    connection = ClientConnection[str](client_id="me", max_frame_bytes=MAX_FRAME_BYTES, protection=fake_sasl())
    ((hello, _),) = sent(connection)
    assert isinstance(hello, ApiVersionsRequest)

    assert connection.receive_data(versions(VERSIONS)) == []
    assert connection.state is ConnectionState.AUTHENTICATING
    assert sent(connection) == [(SaslHandshakeRequest(mechanism="FAKE"), HANDSHAKE_VERSION)]

    assert connection.receive_data(chosen()) == []
    assert sent(connection) == [(SaslAuthenticateRequest(auth_bytes=b"first"), AUTHENTICATE_VERSION)]

    assert connection.receive_data(challenge(b"1", to=2)) == []
    assert sent(connection) == [(SaslAuthenticateRequest(auth_bytes=b"second"), AUTHENTICATE_VERSION)]

    assert connection.receive_data(challenge(b"2", to=3)) == [VersionsNegotiated(response=VERSIONS)]
    assert (connection.state.value, connection.session_lifetime_ms) == ("ready", None)
    assert sent(connection) == []


def test_client_sends_requests_when_it_is_ready() -> None:
    connection = ready()

    connection.send_request(METADATA_REQUEST, tag="a")

    assert sent(connection) == [(METADATA_REQUEST, 9)]
    assert connection.receive_data(about("x", to=4)) == [got("a", metadata("x"))]


@pytest.mark.parametrize("begin", [begun, authenticating])
@pytest.mark.rule("AUTH-8")
def test_client_sends_no_request_before_both_sides_have_proved_what_they_have_to(
    begin: Callable[[], ClientConnection[str]],
) -> None:
    connection = begin()

    with pytest.raises(LocalProtocolError, match=r"^cannot send MetadataRequest: the connection is (negot|authent)"):
        connection.send_request(METADATA_REQUEST, tag="a")

    assert sent(connection) == []


@pytest.mark.parametrize("request_", [SaslHandshakeRequest(mechanism="FAKE"), SaslAuthenticateRequest(auth_bytes=b"x")])
def test_caller_cannot_send_the_requests_of_sasl(request_: Message) -> None:
    connection = ready()

    with pytest.raises(LocalProtocolError, match=r"^cannot send Sasl\w+: only the connection itself authenticates$"):
        connection.send_request(request_, tag="a")

    assert connection.state is ConnectionState.READY
    assert sent(connection) == []


@pytest.mark.parametrize(("lifetime_ms", "expected"), [(0, None), (1, 1), (3_600_000, 3_600_000), (-1, None)], ids=str)
@pytest.mark.rule("AUTH-9")
def test_client_knows_how_long_its_session_lasts(lifetime_ms: int, expected: int | None) -> None:
    assert ready(lifetime_ms).session_lifetime_ms == expected


@pytest.mark.rule("AUTH-9")
def test_client_proves_its_name_again_on_the_same_connection() -> None:
    connection = ready(60_000)

    connection.reauthenticate()
    assert connection.state is ConnectionState.AUTHENTICATING
    assert sent(connection) == [(SaslHandshakeRequest(mechanism="FAKE"), HANDSHAKE_VERSION)]
    for data in (chosen(to=4), challenge(b"1", to=5)):
        assert connection.receive_data(data) == []
    events = connection.receive_data(challenge(b"2", to=6, lifetime_ms=30_000))

    assert events == [Authenticated()]
    assert (connection.state.value, connection.session_lifetime_ms) == ("ready", 30_000)


@pytest.mark.rule("AUTH-9")
def test_responses_to_requests_in_flight_come_before_the_new_proof() -> None:
    connection = ready(60_000)
    connection.send_request(METADATA_REQUEST, tag="a")
    connection.send_request(METADATA_REQUEST, tag="b")

    connection.reauthenticate()
    with pytest.raises(LocalProtocolError, match=r"^cannot send MetadataRequest: the connection is authenticating$"):
        connection.send_request(METADATA_REQUEST, tag="c")
    data = about("x", to=4) + about("y", to=5) + chosen(to=6) + challenge(b"1", to=7) + challenge(b"2", to=8)
    events = connection.receive_data(data)

    assert events == [got("a", metadata("x")), got("b", metadata("y")), Authenticated()]
    assert [type(message).__name__ for message, _ in sent(connection)] == [
        *("MetadataRequest", "MetadataRequest", "SaslHandshakeRequest"),
        *("SaslAuthenticateRequest", "SaslAuthenticateRequest"),
    ]


@pytest.mark.parametrize("protection", [fake_sasl(), NO_PROTECTION], ids=["not ready", "no SASL"])
def test_client_proves_its_name_again_only_if_it_is_ready_and_has_sasl(protection: Protection) -> None:
    connection = begun(protection)
    if protection is NO_PROTECTION:
        connection.receive_data(versions(VERSIONS))

    with pytest.raises(LocalProtocolError, match=r"^cannot authenticate again: the connection is (ready|negotiating)$"):
        connection.reauthenticate()


@pytest.mark.parametrize("authenticate", [0, 1, 2])
def test_client_sends_the_highest_version_of_sasl_authenticate_that_both_have(authenticate: int) -> None:
    connection = begun()
    connection.receive_data(versions(serving(authenticate=(0, authenticate))))
    connection.data_to_send()

    connection.receive_data(chosen())

    assert sent(connection) == [(SaslAuthenticateRequest(auth_bytes=b"first"), authenticate)]
