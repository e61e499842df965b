"""Certificates that must not be accepted, older versions, renegotiation and resumption."""

from __future__ import annotations

import re
import ssl
import warnings
from datetime import timedelta

import pytest

from raft.config.listener_security import ClientAuth
from raft.errors import AuthenticationError
from raft.security.authority import Authority
from raft.security.tls_channel import TlsChannel
from raft.security.tls_contexts import TlsContexts
from tests.security.certificates import DAY, HOST, PRIVATE_KEY, Files, certificate, key_pem, name_of, pem
from tests.security.handshakes import Pair

OTHER = Authority.create("another authority")
SAME_NAME = Authority.create("authority of the tests")
"""An authority that has the name of the one that is trusted, but another key."""

NODE = name_of("node1")


def unacceptable(kind: str, trusted: Authority) -> bytes:
    """A private key and a certificate that no side may accept."""
    issued = certificate(NODE, trusted)
    made = {
        "expired": lambda: certificate(NODE, trusted, begins_in=-2 * DAY, ends_in=timedelta(seconds=-1)),
        "not yet valid": lambda: certificate(NODE, trusted, begins_in=DAY, ends_in=2 * DAY),
        "self-signed": lambda: certificate(NODE),
        "other authority": lambda: certificate(NODE, OTHER),
        "authority of the same name": lambda: certificate(NODE, SAME_NAME),
        "signed by a node": lambda: certificate(name_of("node2"), Authority(certificate=issued, key=PRIVATE_KEY)),
    }[kind]()
    return key_pem() + pem(made) + (pem(issued) if kind == "signed by a node" else b"")


REASONS = {
    "expired": "certificate has expired",
    "not yet valid": "certificate is not yet valid",
    "self-signed": "self-signed certificate",
    "other authority": "unable to get local issuer certificate",
    "authority of the same name": "certificate signature failure",
    "signed by a node": "invalid CA certificate",
}

each_kind = pytest.mark.parametrize("kind", REASONS)
each_version = pytest.mark.parametrize("version", ["TLSv1.2", "TLSv1.3"])


def pair_of(own_files: Files, version: str, *, node: str, client: str | None, client_auth: ClientAuth) -> Pair:
    node_side = TlsContexts(own_files.settings(node, versions=(version,)), client_auth)
    client_side = TlsContexts(own_files.settings(client, versions=(version,)), None)
    return Pair.of(client_side.present, node_side.present).exchange()


@each_kind
@each_version
@pytest.mark.rule("AUTH-2")
def test_client_refuses_the_certificate_of_a_node(own_files: Files, kind: str, version: str) -> None:
    own_files.write("bad", unacceptable(kind, own_files.authority))

    pair = pair_of(own_files, version, node="bad", client=None, client_auth=ClientAuth.NONE)

    assert isinstance(pair.client_error, AuthenticationError)
    assert re.match(f"the certificate of the node is not accepted: ({REASONS[kind]})", str(pair.client_error))
    assert not pair.client.is_open
    assert isinstance(pair.node_error, AuthenticationError), "the client tells it to the node"


@each_kind
@each_version
@pytest.mark.parametrize("client_auth", [ClientAuth.REQUIRED, ClientAuth.REQUESTED])
@pytest.mark.rule("AUTH-3")
def test_node_refuses_the_certificate_of_a_client(
    own_files: Files, kind: str, version: str, client_auth: ClientAuth
) -> None:
    own_files.write("bad", unacceptable(kind, own_files.authority))

    pair = pair_of(own_files, version, node="node", client="bad", client_auth=client_auth)

    assert isinstance(pair.node_error, AuthenticationError)
    assert re.match(f"the certificate of the client is not accepted: ({REASONS[kind]})", str(pair.node_error))
    assert not pair.node.is_open
    assert isinstance(pair.client_error, AuthenticationError), "the node tells it to the client"


@pytest.mark.parametrize(
    ("client_auth", "is_accepted"),
    [(ClientAuth.NONE, True), (ClientAuth.REQUESTED, True), (ClientAuth.REQUIRED, False)],
)
@each_version
@pytest.mark.rule("AUTH-3")
def test_client_needs_a_certificate_only_if_it_is_required(
    own_files: Files, client_auth: ClientAuth, is_accepted: bool, version: str
) -> None:
    pair = pair_of(own_files, version, node="node", client=None, client_auth=client_auth)

    assert pair.node.is_open is is_accepted
    if not is_accepted:
        assert "peer did not return a certificate" in str(pair.node_error)
        assert "certificate required" in str(pair.client_error) or "handshake failure" in str(pair.client_error)


@each_version
def test_certificate_of_a_client_is_not_asked_for_when_the_node_needs_none(own_files: Files, version: str) -> None:
    pair = pair_of(own_files, version, node="node", client="client", client_auth=ClientAuth.NONE)

    assert pair.are_open
    assert pair.node.certificate() is None


@pytest.mark.parametrize("host", ["node2.example", "example", "x.node1.example", "127.0.0.2", "::2"])
@pytest.mark.rule("AUTH-2")
def test_client_refuses_the_certificate_of_another_host(files: Files, host: str) -> None:
    pair = Pair.of(files.client().present, files.node().present, host).exchange()

    assert isinstance(pair.client_error, AuthenticationError)
    assert re.search("(Hostname|IP address) mismatch", str(pair.client_error))


@pytest.mark.parametrize(
    ("hosts", "is_accepted"),
    [
        pytest.param([], True, id="no other names"),
        pytest.param(["node2.example"], False, id="another name"),
    ],
)
@pytest.mark.rule("AUTH-2")
def test_common_name_counts_only_for_a_certificate_without_other_names(
    own_files: Files, hosts: list[str], is_accepted: bool
) -> None:
    """As in Java."""
    own_files.write("node", own_files.authority.issue(HOST, hosts))

    pair = Pair.of(own_files.client().present, own_files.node().present).exchange()

    assert pair.are_open is is_accepted
    assert is_accepted or "Hostname mismatch" in str(pair.client_error)


@pytest.mark.rule("AUTH-2")
def test_client_accepts_another_host_when_it_does_not_check_hosts(files: Files) -> None:
    client = TlsContexts(files.settings(verifies_host=False), None)

    assert Pair.of(client.present, files.node().present, "node2.example").exchange().are_open


@pytest.mark.rule("AUTH-2")
def test_client_checks_the_authority_also_when_it_does_not_check_hosts(own_files: Files) -> None:
    own_files.write("node", OTHER.issue("node1", [HOST]))
    client = TlsContexts(own_files.settings(verifies_host=False), None)

    pair = Pair.of(client.present, own_files.node().present).exchange()

    assert "self-signed certificate in certificate chain" in str(pair.client_error)


@pytest.mark.parametrize(
    ("client", "node"), [(("TLSv1.2",), ("TLSv1.3",)), (("TLSv1.3",), ("TLSv1.2",))], ids=["older", "newer"]
)
@pytest.mark.rule("AUTH-2")
def test_sides_without_a_common_version_fail(files: Files, client: tuple[str, ...], node: tuple[str, ...]) -> None:
    client_side = TlsContexts(files.settings(versions=client), None)
    node_side = TlsContexts(files.settings("node", versions=node), ClientAuth.NONE)

    pair = Pair.of(client_side.present, node_side.present).exchange()

    assert isinstance(pair.node_error, AuthenticationError)
    assert isinstance(pair.client_error, AuthenticationError)


@pytest.mark.rule("AUTH-2")
def test_highest_common_version_is_used(files: Files) -> None:
    pair = Pair.of(files.client().present, files.node().present).exchange()

    assert (pair.client.version, pair.node.version) == ("TLSv1.3", "TLSv1.3")


def old_context(side: int, files: Files) -> ssl.SSLContext:
    """A side that speaks TLS 1.0 and 1.1 only, as no product of today does by itself."""
    context = ssl.SSLContext(side)
    context.set_ciphers("ALL:@SECLEVEL=0")
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        context.minimum_version, context.maximum_version = ssl.TLSVersion.TLSv1, ssl.TLSVersion.TLSv1_1
    if side == ssl.PROTOCOL_TLS_SERVER:
        context.load_cert_chain(files.path("node"))
    return context


@pytest.mark.rule("AUTH-2")
def test_two_old_sides_would_agree(files: Files) -> None:
    """So the tests below prove that it is the node, and the client, that refuse."""
    pair = Pair.of(old_context(ssl.PROTOCOL_TLS_CLIENT, files), old_context(ssl.PROTOCOL_TLS_SERVER, files)).exchange()

    assert pair.are_open
    assert pair.client.version == "TLSv1.1"


@pytest.mark.rule("AUTH-2")
def test_node_refuses_a_client_of_an_older_version(files: Files) -> None:
    pair = Pair.of(old_context(ssl.PROTOCOL_TLS_CLIENT, files), files.node().present).exchange()

    assert "unsupported protocol" in str(pair.node_error)
    assert "alert protocol version" in str(pair.client_error)


@pytest.mark.rule("AUTH-2")
def test_client_refuses_a_node_of_an_older_version(files: Files) -> None:
    pair = Pair.of(files.client().present, old_context(ssl.PROTOCOL_TLS_SERVER, files)).exchange()

    assert isinstance(pair.client_error, AuthenticationError)
    assert not pair.client.is_open


@pytest.mark.parametrize("side", ["client", "node"])
def test_plain_bytes_are_no_handshake(files: Files, side: str) -> None:
    """A client with PLAINTEXT, or a node: the bytes are a request of ApiVersions, or a response."""
    channel = TlsChannel(files.client().present, host=HOST) if side == "client" else TlsChannel(files.node().present)

    with pytest.raises(AuthenticationError, match=r"^the TLS handshake with the (node|client) failed: "):
        channel.receive(b"\x00\x00\x00\x10\x00\x12\x00\x04\x00\x00\x00\x01\x00\x02me\x00\x00\x00\x00\x00")

    assert not channel.is_open
