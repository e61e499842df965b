"""A connection with SASL that fails, and one without SASL to a node that asks for it."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from raft.errors import DecodeError, ErrorCode, LocalProtocolError
from raft.wire.connection import (
    ClientConnection,
    ConnectionState,
    InvalidDataReceived,
    VersionsNegotiated,
)
from raft.wire.features import FEATURE_NAME
from raft.wire.messages.api_versions import ApiVersionsResponse, SupportedFeature
from raft.wire.protection import NO_PROTECTION, Protection
from tests.wire.connections import METADATA_REQUEST, about, got, metadata, versions
from tests.wire.protections import FakeAuthenticator, FakeChannel
from tests.wire.sasl_connections import (
    VERSIONS,
    authenticating,
    begun,
    challenge,
    chosen,
    failure,
    ready,
    sent,
    serving,
)


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        pytest.param(
            chosen(ErrorCode.UNSUPPORTED_SASL_MECHANISM, ("PLAIN", "SCRAM-SHA-256")),
            "the node does not accept the SASL mechanism FAKE; it accepts PLAIN, SCRAM-SHA-256",
            id="mechanism",
        ),
        pytest.param(
            chosen(ErrorCode.ILLEGAL_SASL_STATE, ()),
            "the node does not use SASL on this listener: expected security.protocol=SSL or PLAINTEXT",
            id="no SASL",
        ),
        pytest.param(
            chosen(ErrorCode.UNSUPPORTED_VERSION, ()),
            "the node refused to authenticate: UNSUPPORTED_VERSION",
            id="version",
        ),
        pytest.param(chosen(999, ()), "the node refused to authenticate: error 999", id="unknown error"),
        pytest.param(
            chosen() + challenge(b"", to=2, error=ErrorCode.SASL_AUTHENTICATION_FAILED, message="wrong"),
            "the node refused the credentials in sasl.jaas.config: wrong",
            id="credentials",
        ),
        pytest.param(
            chosen() + challenge(b"", to=2, error=ErrorCode.SASL_AUTHENTICATION_FAILED),
            "the node refused the credentials in sasl.jaas.config: SASL_AUTHENTICATION_FAILED",
            id="credentials, without a reason",
        ),
        pytest.param(chosen() + challenge(b"x", to=2), "expected challenge 1", id="the node's first message"),
        pytest.param(
            chosen() + challenge(b"1", to=2) + challenge(b"x", to=3), "expected challenge 2", id="the node's proof"
        ),
    ],
)
@pytest.mark.rule("AUTH-5", "AUTH-6")
def test_connection_fails_when_one_side_does_not_accept_the_other(data: bytes, reason: str) -> None:
    connection = authenticating()

    events = connection.receive_data(data)

    assert failure(events) == reason
    assert len(events) == 1
    assert connection.state is ConnectionState.FAILED
    assert sent(connection) == []


@pytest.mark.rule("AUTH-9")
def test_connection_fails_when_the_name_is_not_accepted_again() -> None:
    connection = ready()
    connection.send_request(METADATA_REQUEST, tag="a")
    connection.reauthenticate()

    events = connection.receive_data(about("x", to=4) + chosen(ErrorCode.SASL_AUTHENTICATION_FAILED, to=5))

    assert events[0] == got("a", metadata("x"))
    assert failure(events) == "the node refused to authenticate: SASL_AUTHENTICATION_FAILED"
    with pytest.raises(LocalProtocolError, match=r"^cannot authenticate again: the connection is failed$"):
        connection.reauthenticate()


@pytest.mark.parametrize(
    ("handshake", "authenticate"),
    [
        pytest.param((0, 0), (0, 2), id="only version 0 of SaslHandshake, after which there would be no frames"),
        pytest.param(None, (0, 2), id="no SaslHandshake"),
        pytest.param((2, 9), (0, 2), id="only newer versions of SaslHandshake"),
    ],
)
@pytest.mark.rule("AUTH-5")
def test_connection_fails_when_the_node_does_not_serve_sasl(
    handshake: tuple[int, int] | None, authenticate: tuple[int, int] | None
) -> None:
    connection = begun()

    events = connection.receive_data(versions(serving(handshake, authenticate)))

    assert failure(events) == "the node does not use SASL on this listener: expected security.protocol=SSL or PLAINTEXT"


def test_connection_fails_when_the_node_does_not_serve_the_second_api_of_sasl() -> None:
    connection = begun()

    events = connection.receive_data(versions(serving(authenticate=None)) + chosen())

    assert failure(events).startswith("the node does not use SASL on this listener")


@pytest.mark.parametrize(
    ("names", "is_refused"),
    [
        pytest.param((FEATURE_NAME,), True, id="a node of this project"),
        pytest.param((), False, id="Apache Kafka, which names the APIs of SASL on every listener"),
        pytest.param(("metadata.version",), False, id="another feature"),
    ],
)
def test_client_without_sasl_is_told_when_the_node_asks_for_it(names: tuple[str, ...], is_refused: bool) -> None:
    features = tuple(SupportedFeature(name=name, min_version=0, max_version=1) for name in names)
    response = ApiVersionsResponse(error_code=0, api_keys=VERSIONS.api_keys, supported_features=features)
    connection = begun(NO_PROTECTION)

    events = connection.receive_data(versions(response))

    if is_refused:
        assert failure(events).startswith(
            "the node asks for SASL: expected security.protocol=SASL_PLAINTEXT or SASL_SSL"
        )
    else:
        assert events == [VersionsNegotiated(response=response)]


def test_client_without_sasl_is_ready_when_the_node_has_none() -> None:
    features = (SupportedFeature(name=FEATURE_NAME, min_version=0, max_version=1),)
    response = ApiVersionsResponse(error_code=0, api_keys=VERSIONS.api_keys[:1], supported_features=features)
    connection = begun(NO_PROTECTION)

    assert connection.receive_data(versions(response)) == [VersionsNegotiated(response=response)]


@pytest.mark.parametrize(
    "data",
    [
        pytest.param(chosen()[:-1] + b"\xff\xff", id="malformed"),
        pytest.param(chosen(to=7), id="another number"),
        pytest.param(chosen() + challenge(b"1", to=2) + challenge(b"2", to=3) + b"\0", id="more than was asked for"),
    ],
)
def test_invalid_data_is_no_failure_of_authentication(data: bytes) -> None:
    *_, last = authenticating().receive_data(data)

    assert isinstance(last, InvalidDataReceived)
    assert isinstance(last.error, DecodeError)


class BrokenChannel(FakeChannel):
    """TLS whose handshake fails by an error that no one expects."""

    def receive(self, data: bytes) -> bytes:
        raise RecursionError("planted")


class BrokenAuthenticator(FakeAuthenticator):
    """A proof that fails by an error that no one expects."""

    def respond(self, challenge: bytes) -> bytes | None:
        raise RecursionError("planted")


@pytest.mark.parametrize(
    "connection",
    [
        pytest.param(lambda: begun(Protection(channel=BrokenChannel())), id="TLS"),
        pytest.param(lambda: authenticating(Protection(authenticator=BrokenAuthenticator)), id="SASL"),
    ],
)
@pytest.mark.rule("AUTH-2", "AUTH-8")
def test_connection_to_a_node_that_cannot_be_checked_is_not_used(
    connection: Callable[[], ClientConnection[str]],
) -> None:
    unchecked = connection()

    assert failure(unchecked.receive_data(chosen())) == "cannot find out who the node is: RecursionError('planted')"

    assert unchecked.state is ConnectionState.FAILED
    with pytest.raises(LocalProtocolError):
        unchecked.send_request(METADATA_REQUEST, tag="never")
