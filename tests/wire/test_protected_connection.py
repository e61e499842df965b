"""A connection with TLS, which is a fake here, and one with both real TLS and real SCRAM."""

from __future__ import annotations

import pytest

from raft.config.listener_security import ClientAuth
from raft.config.secret import Secret
from raft.config.security import ClientSecurity, SaslSettings, SecurityProtocol, TlsSettings, login_module
from raft.errors import AuthenticationError, DecodeError
from raft.security.authority import Authority
from raft.security.client_protection import ClientProtection
from raft.security.sasl_session import SaslState
from raft.security.tls_contexts import TlsContexts
from raft.wire.connection import (
    AuthenticationFailed,
    ClientConnection,
    ConnectionState,
    Event,
    InvalidDataReceived,
    VersionsNegotiated,
)
from raft.wire.messages.api_versions import ApiVersionsRequest
from raft.wire.protection import Protection
from tests.wire.connections import (
    MAX_FRAME_BYTES,
    METADATA_REQUEST,
    about,
    got,
    metadata,
    requests_in,
    serving,
    versions,
)
from tests.wire.protections import DAMAGED, HELLO, REFUSAL, WELCOME, FakeChannel, encrypted
from tests.wire.secured_node import PASSWORD, SecuredNode

HOST = "node1.example"


def begun() -> ClientConnection[str]:
    """A connection whose handshake has begun."""
    connection = ClientConnection[str](
        client_id="me", max_frame_bytes=MAX_FRAME_BYTES, protection=Protection(channel=FakeChannel())
    )
    assert connection.data_to_send() == HELLO
    return connection


def opened() -> ClientConnection[str]:
    """A connection that has sent ApiVersions."""
    connection = begun()
    assert connection.receive_data(WELCOME) == []
    connection.data_to_send()
    return connection


def test_handshake_comes_before_the_first_request() -> None:
    connection = begun()
    assert connection.data_to_send() == b""

    events = connection.receive_data(WELCOME)
    ((hello,),) = [requests_in(encrypted(connection.data_to_send()))]

    assert events == []
    assert connection.state is ConnectionState.NEGOTIATING
    assert isinstance(hello.message, ApiVersionsRequest)


def test_requests_and_responses_are_encrypted() -> None:
    connection = opened()

    events = connection.receive_data(encrypted(versions(serving())))
    connection.send_request(METADATA_REQUEST, tag="a")
    (request,) = requests_in(encrypted(connection.data_to_send()))

    assert events == [VersionsNegotiated(response=serving())]
    assert request.message == METADATA_REQUEST
    assert connection.receive_data(encrypted(about("x", to=1))) == [got("a", metadata("x"))]


@pytest.mark.parametrize("size", [1, 5, 1000])
def test_bytes_may_arrive_in_any_pieces(size: int) -> None:
    connection = begun()
    data = WELCOME + encrypted(versions(serving()))

    events = [event for at in range(0, len(data), size) for event in connection.receive_data(data[at : at + size])]

    assert events == [VersionsNegotiated(response=serving())]


def test_connection_fails_when_a_side_is_not_accepted() -> None:
    connection = begun()

    (failed,) = connection.receive_data(REFUSAL)

    assert isinstance(failed, AuthenticationFailed)
    assert isinstance(failed.error, AuthenticationError)
    assert connection.state is ConnectionState.FAILED
    assert connection.data_to_send() == b"alert", "what tells it to the node"


def test_connection_fails_when_bytes_are_damaged() -> None:
    connection = opened()
    connection.receive_data(encrypted(versions(serving())))
    connection.send_request(METADATA_REQUEST, tag="a")

    (failed,) = connection.receive_data(encrypted(about("x", to=1)) + DAMAGED)

    assert isinstance(failed, InvalidDataReceived)
    assert isinstance(failed.error, DecodeError)
    assert encrypted(connection.data_to_send()).endswith(encrypted(b"alert"))


def test_request_that_was_not_sent_yet_is_not_sent_after_a_failure() -> None:
    connection = opened()
    connection.receive_data(encrypted(versions(serving())))
    connection.send_request(METADATA_REQUEST, tag="a")

    connection.receive_data(DAMAGED)

    assert connection.data_to_send() == b"alert"


def exchange(connection: ClientConnection[str], node: SecuredNode) -> list[Event[str]]:
    """Move bytes until no side has any; return the events."""
    events: list[Event[str]] = []
    while data := connection.data_to_send():
        events += connection.receive_data(node.receive(data))
    return events


@pytest.fixture(scope="module")
def authority() -> Authority:
    return Authority.create("authority of the tests")


@pytest.fixture
def node(authority: Authority, tmp_path_factory: pytest.TempPathFactory) -> SecuredNode:
    keystore = tmp_path_factory.mktemp("node") / "node.pem"
    keystore.write_bytes(authority.issue("node1", [HOST]))
    return SecuredNode(TlsContexts(TlsSettings(keystore=str(keystore)), ClientAuth.NONE))


def secured(authority: Authority, password: str = PASSWORD) -> ClientConnection[str]:
    mechanism = "SCRAM-SHA-512"
    jaas = f'{login_module(mechanism)} required username="alice" password="{password}";'
    security = ClientSecurity(
        protocol=SecurityProtocol.SASL_SSL,
        tls=TlsSettings(trusted_certificates=authority.certificate_pem().decode()),
        sasl=SaslSettings(mechanism=mechanism, jaas=Secret(jaas)),
    )
    protection = ClientProtection(security).of_connection(HOST)
    return ClientConnection[str](client_id="me", max_frame_bytes=MAX_FRAME_BYTES, protection=protection)


@pytest.mark.rule("AUTH-8")
def test_client_with_tls_and_scram_is_known_to_the_node(authority: Authority, node: SecuredNode) -> None:
    connection = secured(authority)

    (negotiated,) = exchange(connection, node)
    connection.send_request(METADATA_REQUEST, tag="a")
    events = exchange(connection, node)

    assert isinstance(negotiated, VersionsNegotiated)
    assert events == [got("a", metadata("x"))]
    assert (node.session.state, node.session.user) == (SaslState.COMPLETE, "alice")
    assert node.requests == [
        *("ApiVersionsRequest", "SaslHandshakeRequest", "SaslAuthenticateRequest", "SaslAuthenticateRequest"),
        "MetadataRequest",
    ]


@pytest.mark.rule("AUTH-9")
def test_client_with_tls_and_scram_proves_its_name_again(authority: Authority, node: SecuredNode) -> None:
    connection = secured(authority)
    exchange(connection, node)
    assert connection.session_lifetime_ms == 60_000

    connection.reauthenticate()
    exchange(connection, node)

    assert connection.state is ConnectionState.READY
    assert node.requests.count("SaslHandshakeRequest") == 2


@pytest.mark.rule("AUTH-6")
def test_client_with_a_wrong_password_fails(authority: Authority, node: SecuredNode) -> None:
    connection = secured(authority, "wrong")

    (failed,) = exchange(connection, node)

    assert isinstance(failed, AuthenticationFailed)
    assert str(failed.error) == (
        "the node refused the credentials in sasl.jaas.config: Authentication failed during authentication due to "
        "invalid credentials with SASL mechanism SCRAM-SHA-512"
    )
    assert node.session.state is SaslState.FAILED
