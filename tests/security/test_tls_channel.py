"""TLS over the bytes of one connection: handshake, data and end, and the certificates of both sides."""

from __future__ import annotations

import resource
import ssl
import sys
from pathlib import Path

import pytest

from raft.config.listener_security import ClientAuth
from raft.security.tls_channel import TlsChannel
from raft.security.tls_contexts import TlsContexts
from tests.security.certificates import HOST, Files
from tests.security.handshakes import Pair

VERSIONS = ("TLSv1.2", "TLSv1.3")
LARGE = bytes(range(256)) * 400
"""More than six records of TLS."""

each_version = pytest.mark.parametrize("version", VERSIONS)


def pair(files: Files, version: str = "TLSv1.3", *, client: str | None = None) -> Pair:
    """A pair of this version; the node asks for the certificate of the client."""
    node = TlsContexts(files.settings("node", versions=(version,)), ClientAuth.REQUESTED)
    return Pair.of(TlsContexts(files.settings(client, versions=(version,)), None).present, node.present)


@each_version
@pytest.mark.rule("AUTH-2")
def test_sides_are_open_after_the_handshake(files: Files, version: str) -> None:
    both = pair(files, version)
    assert (both.client.is_open, both.node.is_open) == (False, False)
    assert (both.client.version, both.node.version) == ("", "")

    both.exchange()

    assert both.are_open
    assert (both.client_error, both.node_error) == (None, None)
    assert (both.client.version, both.node.version) == (version, version)


@each_version
@pytest.mark.parametrize("data", [b"x", b"a request", LARGE], ids=["one byte", "a record", "many records"])
def test_data_arrives_as_it_was_sent(files: Files, version: str, data: bytes) -> None:
    both = pair(files, version).exchange()

    both.client.send(data)
    both.node.send(data[::-1])
    both.exchange()

    assert both.received == {"node": data, "client": data[::-1]}


def resident_bytes() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()


@pytest.mark.rule("CALLER-1")
@pytest.mark.skipif(sys.platform != "linux", reason="reads the resident memory from /proc")
def test_open_connection_keeps_no_memory_of_large_data(files: Files) -> None:
    data, pairs = bytes(8 << 20), [pair(files).exchange() for _ in range(20)]
    before = resident_bytes()

    for both in pairs:
        both.node.send(data)
        assert both.client.receive(both.node.data_to_send()) == data

    assert resident_bytes() - before < len(pairs) * len(data) // 3


@each_version
@pytest.mark.parametrize("size", [1, 7])
def test_bytes_may_arrive_in_any_pieces(files: Files, version: str, size: int) -> None:
    both = pair(files, version)
    for _ in range(4):
        for source, target in ((both.client, both.node), (both.node, both.client)):
            data = source.data_to_send()
            for at in range(0, len(data), size):
                assert target.receive(data[at : at + size]) == b""
    assert both.are_open

    both.client.send(b"a request")
    data = both.client.data_to_send()
    plain = b"".join(both.node.receive(data[at : at + size]) for at in range(0, len(data), size))

    assert plain == b"a request"


def test_data_may_arrive_with_the_end_of_the_handshake(files: Files) -> None:
    """With TLS 1.3 the client sends its first request without waiting for the node."""
    both = pair(files, "TLSv1.3")
    both.node.receive(both.client.data_to_send())
    both.client.receive(both.node.data_to_send())

    both.client.send(b"a request")

    assert both.node.receive(both.client.data_to_send()) == b"a request"


def test_nothing_is_sent_for_no_data(files: Files) -> None:
    both = pair(files).exchange()

    both.client.send(b"")

    assert both.client.data_to_send() == b""


def test_each_byte_is_handed_out_once(files: Files) -> None:
    client = pair(files).client

    assert client.data_to_send() != b""
    assert client.data_to_send() == b""


@each_version
def test_plain_bytes_are_not_in_the_encrypted_ones(files: Files, version: str) -> None:
    both = pair(files, version).exchange()

    both.client.send(b"planted-secret")
    both.exchange()

    assert b"planted-secret" not in b"".join(data for _, data in both.flights)
    assert both.received["node"] == b"planted-secret"


@each_version
def test_sides_have_the_certificates_of_each_other(files: Files, version: str) -> None:
    both = pair(files, version, client="client").exchange()

    assert both.client.certificate() == first_certificate(files, "node")
    assert both.node.certificate() == first_certificate(files, "client")


@each_version
def test_client_without_certificate_has_none(files: Files, version: str) -> None:
    both = pair(files, version).exchange()

    assert both.node.certificate() is None


def first_certificate(files: Files, name: str) -> bytes:
    """The first certificate of a file, as DER."""
    text = files.path(name).read_text()
    return ssl.PEM_cert_to_DER_cert(text[text.index("-----BEGIN CERT") : text.index("-----END CERT") + 26])


@each_version
@pytest.mark.parametrize("ender", ["client", "node"])
def test_end_in_order_is_seen_by_the_other_side(files: Files, version: str, ender: str) -> None:
    both = pair(files, version).exchange()
    ending, other = (both.client, both.node) if ender == "client" else (both.node, both.client)

    ending.send(b"the last")
    encrypted = ending.data_to_send()
    ending.end()

    assert not other.is_ended
    assert other.receive(encrypted + ending.data_to_send()) == b"the last"
    assert other.is_ended


@each_version
def test_both_sides_may_end_in_order(files: Files, version: str) -> None:
    both = pair(files, version).exchange()

    both.client.end()
    both.node.end()
    both.exchange()

    assert both.client.is_ended
    assert both.node.is_ended
    assert (both.client_error, both.node_error) == (None, None)


def test_side_may_end_before_the_handshake(files: Files) -> None:
    both = pair(files)

    both.client.end()
    both.node.end()

    assert both.node.data_to_send() == b""
    assert not both.client.is_ended


@each_version
def test_end_without_order_is_no_end(files: Files, version: str) -> None:
    """A connection that is cut must not look like one that the other side has ended."""
    both = pair(files, version).exchange()
    both.client.send(b"a request of which the end is missing")
    data = both.client.data_to_send()

    assert both.node.receive(data[:-1]) == b""

    assert not both.node.is_ended


@pytest.mark.parametrize("host", [HOST, "NODE1.EXAMPLE", "127.0.0.1", "::1"])
@pytest.mark.rule("AUTH-2")
def test_client_accepts_the_names_and_addresses_of_the_certificate(files: Files, host: str) -> None:
    both = Pair.of(files.client().present, files.node().present, host).exchange()

    assert both.are_open


@pytest.mark.parametrize("host", ["", "a..b", "x" * 64, ".example"])
def test_host_that_is_none_is_refused(files: Files, host: str) -> None:
    """`raft.errors.CONNECT_ERRORS` has this error."""
    with pytest.raises(ValueError, match=r"server_hostname|label"):
        TlsChannel(files.client().present, host=host)
