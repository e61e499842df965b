"""Attempts to speak with less protection than a listener has."""

from __future__ import annotations

import ssl
import warnings

import pytest

from raft.config import NodeConfig
from raft.config.security import SecurityProtocol
from raft.errors import ConfigError, ErrorCode, RaftError
from raft.wire.frames import encode_request
from raft.wire.messages.api_versions import ApiVersionsRequest
from raft.wire.messages.sasl import SaslHandshakeRequest, SaslHandshakeResponse
from tests.node.harness.keys import SCRAM, jaas
from tests.node.harness.secured import VOTERS
from tests.node.harness.secured_node import BOTH, ENCRYPTED, MUTUAL, OPEN, UNPROTECTED, SecuredNodes
from tests.node.harness.seen import seen
from tests.node.harness.target import appending as appending
from tests.node.harness.target import target as target
from tests.node.harness.wire import Wire

REQUEST = encode_request(ApiVersionsRequest(), 4, correlation_id=1, client_id="test")


def old_tls(target: SecuredNodes, version: ssl.TLSVersion) -> ssl.SSLContext:
    """The TLS of a client that knows old versions only, and would take any cipher."""
    context = target.keys.tls()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        context.minimum_version = context.maximum_version = version
    context.set_ciphers("ALL:@SECLEVEL=0")
    return context


@pytest.mark.parametrize("version", ["TLSv1", "TLSv1_1"])
@pytest.mark.parametrize("listener", [VOTERS, BOTH, MUTUAL, ENCRYPTED])
@pytest.mark.rule("AUTH-2")
def test_old_versions_of_tls_are_refused(
    target: SecuredNodes, listener: str, version: str, caplog: pytest.LogCaptureFixture
) -> None:
    with (
        seen(
            lambda: target.authentications("failed_authentication", listener),
            caplog,
            "dropped a connection: the TLS handshake with the client failed: unsupported protocol",
        ),
        pytest.raises(ssl.SSLError, match="TLSV1_ALERT_PROTOCOL_VERSION"),
    ):
        Wire(target.endpoint(listener), tls=old_tls(target, ssl.TLSVersion[version]))


@pytest.mark.parametrize("listener", [VOTERS, BOTH, MUTUAL, ENCRYPTED])
@pytest.mark.parametrize(
    "data", [pytest.param(REQUEST, id="a request"), pytest.param(b"GET / HTTP/1.1\r\n\r\n", id="HTTP")]
)
@pytest.mark.rule("AUTH-1")
def test_bytes_without_tls_are_refused_by_a_listener_with_tls(
    target: SecuredNodes, listener: str, data: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    with (
        seen(
            lambda: target.authentications("failed_authentication", listener),
            caplog,
            "dropped a connection: the TLS handshake with the client failed: ",
        ),
        Wire(target.endpoint(listener)) as wire,
    ):
        wire.send_bytes(data)

        assert wire.is_closed_by_node()


@pytest.mark.parametrize("listener", [OPEN, UNPROTECTED])
def test_handshake_of_tls_is_refused_by_a_listener_without_it(
    target: SecuredNodes, listener: str, caplog: pytest.LogCaptureFixture
) -> None:
    with (
        seen(lambda: target.dropped("invalid-request"), caplog, "dropped a connection: received a frame of 369295"),
        pytest.raises((ssl.SSLError, ConnectionError)),
    ):
        Wire(target.endpoint(listener), tls=target.keys.tls())


WRONG_PROTOCOLS = [
    pytest.param(VOTERS, SecurityProtocol.PLAINTEXT, "is security.protocol that of the node's listener", id="no TLS"),
    pytest.param(
        VOTERS,
        SecurityProtocol.SASL_PLAINTEXT,
        "is security.protocol that of the node's listener",
        id="SASL without TLS",
    ),
    pytest.param(VOTERS, SecurityProtocol.SSL, "the node asks for SASL", id="TLS without SASL"),
    pytest.param(OPEN, SecurityProtocol.PLAINTEXT, "the node asks for SASL", id="no SASL"),
    pytest.param(
        OPEN, SecurityProtocol.SASL_SSL, "is security.protocol that of the node's listener", id="unexpected TLS"
    ),
    pytest.param(ENCRYPTED, SecurityProtocol.SASL_SSL, "the node does not use SASL", id="unexpected SASL"),
    pytest.param(UNPROTECTED, SecurityProtocol.SASL_PLAINTEXT, "the node does not use SASL", id="SASL for nothing"),
]


@pytest.mark.parametrize(("listener", "protocol", "message"), WRONG_PROTOCOLS)
@pytest.mark.rule("AUTH-1")
def test_client_with_another_protocol_says_what_is_wrong(
    target: SecuredNodes, listener: str, protocol: SecurityProtocol, message: str
) -> None:
    with (
        target.client(listener, target.keys.client(protocol), api_timeout_ms=2_000) as client,
        pytest.raises(RaftError, match=message),
    ):
        client.last_stable_offset()


@pytest.mark.rule("AUTH-7")
def test_password_is_not_asked_for_without_tls(target: SecuredNodes, caplog: pytest.LogCaptureFixture) -> None:
    with (
        seen(
            lambda: target.authentications("failed_authentication", OPEN),
            caplog,
            "it did not authenticate: it chose an unsupported SASL mechanism; expected SCRAM-SHA-512, SCRAM-SHA-256",
        ),
        Wire(target.endpoint(OPEN)) as wire,
    ):
        chosen = wire.ask(SaslHandshakeRequest(mechanism="PLAIN"), 1, SaslHandshakeResponse)

        assert chosen.error_code == ErrorCode.UNSUPPORTED_SASL_MECHANISM
        assert chosen.mechanisms == (SCRAM, "SCRAM-SHA-256")
        assert wire.is_closed_by_node()


@pytest.mark.rule("AUTH-7")
def test_client_does_not_send_its_password_without_tls(target: SecuredNodes) -> None:
    with pytest.raises(ConfigError, match="the password of PLAIN would be sent without encryption"):
        target.keys.client(SecurityProtocol.SASL_PLAINTEXT, mechanism="PLAIN")


@pytest.mark.rule("AUTH-7")
def test_node_does_not_start_with_passwords_without_tls(target: SecuredNodes) -> None:
    properties = target.nodes.configurations[1] | {
        "listener.name.open.sasl.enabled.mechanisms": "PLAIN",
        "listener.name.open.plain.sasl.jaas.config": jaas("PLAIN", "node1", users=["alice"]),
    }

    with pytest.raises(ConfigError, match="the password of PLAIN would be sent without encryption"):
        NodeConfig.from_properties(properties)
