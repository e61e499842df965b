"""Metrics over HTTPS: the handshake of one client delays no other one, and a changed certificate is used at once."""

from __future__ import annotations

import ssl
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing
from http.client import HTTPSConnection
from pathlib import Path
from typing import Any

import pytest

from raft.config.listener_security import ClientAuth
from raft.config.security import TlsSettings
from raft.local.ports import free_ports
from raft.metrics.http_server import HttpServer
from raft.security.authority import Authority
from raft.security.tls_contexts import TlsContexts
from raft.types import Endpoint
from tests.hang import HANG_S
from tests.metrics.http_client import ask

_HOST = "127.0.0.1"


class Secured:
    """A server with a certificate."""

    def __init__(self, folder: Path, client_auth: ClientAuth = ClientAuth.NONE) -> None:
        self.authority = Authority.create("tests")
        self.keystore, truststore = folder / "node.pem", folder / "authority.pem"
        self.keystore.write_bytes(self.authority.issue("node", [_HOST]))
        truststore.write_bytes(self.authority.certificate_pem())
        self.contexts = TlsContexts(TlsSettings(keystore=str(self.keystore), truststore=str(truststore)), client_auth)
        (self.port,) = free_ports(1)
        self.server = HttpServer(Endpoint(_HOST, self.port, "HTTPS"), _serve, tls=self.contexts.of_connection)

    def ask(self, keystore: Path | None = None) -> tuple[str, int]:
        """Return the response of the server, and the serial number of its certificate."""
        context = ssl.create_default_context(cadata=self.authority.certificate_pem().decode())
        if keystore is not None:
            context.load_cert_chain(keystore)
        with closing(HTTPSConnection(_HOST, self.port, timeout=HANG_S, context=context)) as connection:
            connection.request("GET", "/")
            assert isinstance(connection.sock, ssl.SSLSocket)
            certificate = connection.sock.getpeercert()
            assert certificate is not None
            text = connection.getresponse().read().decode()
            return text, int(str(certificate["serialNumber"]), 16)


def _serve(_environ: dict[str, Any], start_response: Callable[..., object]) -> Iterable[bytes]:
    start_response("200 OK", [("Content-Length", "6")])
    return [b"served"]


@pytest.fixture
def secured(tmp_path: Path) -> Iterator[Secured]:
    secured = Secured(tmp_path)
    secured.server.open()
    yield secured
    secured.server.close()


def test_server_serves_over_tls(secured: Secured) -> None:
    assert secured.ask()[0] == "served"


def test_client_without_tls_gets_nothing(secured: Secured) -> None:
    with pytest.raises(ConnectionError):
        ask(secured.port, "/")

    assert secured.ask()[0] == "served"


def test_new_connections_have_the_renewed_certificate(secured: Secured) -> None:
    _, before = secured.ask()
    secured.keystore.write_bytes(secured.authority.issue("node", [_HOST]))

    assert secured.contexts.renew(pytest.fail)

    assert secured.ask()[1] != before


def test_client_needs_a_certificate_where_it_is_required(tmp_path: Path) -> None:
    secured = Secured(tmp_path, ClientAuth.REQUIRED)
    secured.server.open()
    try:
        assert secured.ask(secured.keystore)[0] == "served"
        with pytest.raises((ssl.SSLError, ConnectionError)):
            secured.ask()
    finally:
        secured.server.close()


def test_server_goes_on_after_an_error_that_has_nothing_to_do_with_the_network(tmp_path: Path) -> None:
    secured = Secured(tmp_path)
    contexts = iter([None])

    def of_connection() -> ssl.SSLContext:
        if next(contexts, secured) is None:
            raise RecursionError("planted")
        return secured.contexts.of_connection()

    secured.server = HttpServer(Endpoint(_HOST, secured.port, "HTTPS"), _serve, tls=of_connection)
    secured.server.open()
    try:
        with pytest.raises(OSError):  # noqa: PT011 - the connection ends in the handshake, in one way or another
            secured.ask()

        assert secured.ask()[0] == "served"
    finally:
        secured.server.close()
