"""No renegotiation, and no resumption of sessions."""

from __future__ import annotations

import gc
import shutil
import socket
import ssl
import subprocess
import threading
import weakref
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from subprocess import PIPE, STDOUT

import pytest

from raft.config.listener_security import ClientAuth
from raft.errors import AuthenticationError
from raft.security.tls_channel import TlsChannel
from raft.security.tls_contexts import TlsContexts
from tests.hang import HANG_S
from tests.security.certificates import HOST, Files


class RawClient:
    """A client that keeps its session, which the product's does not.

    Args:
        context: of the client.
        session: of a connection before.
    """

    def __init__(self, context: ssl.SSLContext, session: ssl.SSLSession | None = None) -> None:
        self._incoming, self.outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        self.tls = context.wrap_bio(self._incoming, self.outgoing, server_hostname=HOST, session=session)

    def shake_hands(self, node: TlsChannel) -> None:
        for _ in range(4):
            with suppress(ssl.SSLWantReadError):
                self.tls.do_handshake()
            node.receive(self.outgoing.read())
            self._incoming.write(node.data_to_send())
        node.send(b"hello")
        self._incoming.write(node.data_to_send())
        assert self.tls.read() == b"hello"


def node_and_client(files: Files, version: str) -> tuple[TlsContexts, TlsContexts]:
    versions = (version,)
    return (
        TlsContexts(files.settings("node", versions=versions), ClientAuth.REQUIRED),
        TlsContexts(files.settings("client", versions=versions), None),
    )


def resumes(node: TlsContexts, client: TlsContexts, session: ssl.SSLSession | None) -> bool:
    again = RawClient(client.present, session)
    again.shake_hands(TlsChannel(node.present))
    return again.tls.session_reused or False


def ends_in_order(client: RawClient, node: TlsChannel) -> None:
    """Both sides say that they end the connection, after which OpenSSL keeps the session of TLS 1.2."""
    with suppress(ssl.SSLError):
        client.tls.unwrap()
    node.receive(client.outgoing.read())
    node.end()
    assert node.is_ended


@pytest.mark.parametrize("version", ["TLSv1.2", "TLSv1.3"])
@pytest.mark.parametrize("is_ended", [False, True], ids=["open", "ended"])
@pytest.mark.rule("AUTH-2")
def test_node_resumes_no_session(files: Files, version: str, is_ended: bool) -> None:
    """A session would be resumed without a look at the certificate of the client, which may have expired since."""
    node, client = node_and_client(files, version)
    first, channel = RawClient(client.present), TlsChannel(node.of_connection)
    first.shake_hands(channel)
    session = first.tls.session
    if is_ended:
        ends_in_order(first, channel)

    again = RawClient(client.present, session)
    again.shake_hands(TlsChannel(node.of_connection))

    assert session is None or not session.has_ticket
    assert not again.tls.session_reused
    assert again.tls.getpeercert()


@pytest.mark.parametrize("version", ["TLSv1.2", "TLSv1.3"])
@pytest.mark.rule("AUTH-2", "AUTH-10")
def test_node_keeps_nothing_of_a_connection_that_has_ended(files: Files, version: str) -> None:
    """OpenSSL would keep 20,480 sessions for two hours, about 1.1 KiB each, also of anonymous clients."""
    node, client = node_and_client(files, version)
    made: list[weakref.ref[ssl.SSLContext]] = []

    def of_connection() -> ssl.SSLContext:
        context = node.of_connection()
        if context is not node.present:
            made.append(weakref.ref(context))
        return context

    for _ in range(3):
        first, channel = RawClient(client.present), TlsChannel(of_connection)
        first.shake_hands(channel)
        ends_in_order(first, channel)
    del first, channel
    gc.collect()

    assert [context() for context in made] == [None] * len(made)
    assert node.present.session_stats()["number"] == 0


@pytest.mark.parametrize("version", ["TLSv1.2", "TLSv1.3"])
@pytest.mark.rule("AUTH-3")
def test_context_of_a_connection_asks_for_certificates_like_the_present_one(files: Files, version: str) -> None:
    node, client = node_and_client(files, version)
    channel = TlsChannel(node.of_connection)
    RawClient(client.present).shake_hands(channel)
    assert channel.certificate() is not None
    assert channel.version == version

    nameless = TlsContexts(files.settings(versions=(version,)), None)
    with pytest.raises(AuthenticationError, match="peer did not return a certificate"):
        RawClient(nameless.present).shake_hands(TlsChannel(node.of_connection))


@contextmanager
def served(channel: TlsChannel) -> Iterator[int]:
    """Serve one request of one connection on loopback; yield the port."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(HANG_S)
        thread = threading.Thread(target=_serve, args=(server, channel))
        thread.start()
        yield server.getsockname()[1]
        thread.join(HANG_S)
        assert not thread.is_alive()


def _serve(server: socket.socket, channel: TlsChannel) -> None:
    connection, _ = server.accept()
    with connection, suppress(AuthenticationError, ConnectionError):  # The client gives up.
        connection.settimeout(HANG_S)
        plain = b""
        while not plain and (data := connection.recv(65_536)):
            plain = channel.receive(data)
            channel.send(plain and b"got " + plain)
            connection.sendall(channel.data_to_send())


@pytest.mark.skipif(shutil.which("openssl") is None, reason="openssl renegotiates; Python cannot")
@pytest.mark.parametrize(("command", "goes_on"), [("hello", True), ("R", False)], ids=["data", "renegotiation"])
@pytest.mark.rule("AUTH-2")
def test_node_refuses_to_renegotiate(files: Files, command: str, goes_on: bool) -> None:
    node = TlsContexts(files.settings("node", versions=("TLSv1.2",)), ClientAuth.NONE)
    client = ["openssl", "s_client", "-tls1_2", "-CAfile", str(files.path("authority")), "-connect"]
    with (
        served(TlsChannel(node.present)) as port,
        subprocess.Popen([*client, f"127.0.0.1:{port}"], stdin=PIPE, stdout=PIPE, stderr=STDOUT, text=True) as process,
    ):
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(f"{command}\n")
        process.stdin.flush()
        text = process.stdout.read()  # It ends when the node closes the connection, or refuses.

    assert "Verify return code: 0 (ok)" in text
    assert ("got hello" in text) is goes_on
    assert ("no renegotiation" in text.lower()) is not goes_on


@pytest.mark.parametrize("side", ["node", "client"])
@pytest.mark.rule("AUTH-2")
def test_renegotiation_is_switched_off_also_where_openssl_would_allow_it(files: Files, side: str) -> None:
    """OpenSSL allows it to clients before version 3, and to nodes in each version."""
    contexts = files.node() if side == "node" else files.client()

    assert contexts.present.options & ssl.OP_NO_RENEGOTIATION
