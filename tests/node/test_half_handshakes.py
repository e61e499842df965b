"""A thousand clients that begin a TLS handshake and send nothing after it, while another client appends."""

from __future__ import annotations

import socket
import ssl
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import psutil
import pytest

from raft.node import inbound
from raft.types import Endpoint
from tests.node.harness.appending import Appending
from tests.node.harness.keys import proof
from tests.node.harness.secured import VOTERS
from tests.node.harness.secured_node import SecuredNodes, secured_nodes
from tests.node.harness.seen import seen
from tests.node.harness.target import appending as appending
from tests.node.harness.waiting import eventually
from tests.node.harness.wire import Wire

CLIENTS = 1000
MOST_BYTES = 96 << 20
"""How much the memory of this process, of the node and all clients together, may grow; 46 MiB are measured."""

SILENT_S = 300.0
"""How long a client may take before it is dropped, in seconds. The node's own limit would drop the first clients
before the last has connected: clients that have not proved their name get a tenth of the node's time."""

LOOK_AROUND_S = 5.5
WITHIN_S = 60.0


@pytest.fixture
def target(tmp_path: Path) -> Iterator[SecuredNodes]:
    """A node with all listeners, and room for all the connections."""
    with secured_nodes(tmp_path, overrides={"max.connections": str(2 * CLIENTS)}) as node:
        yield node


def client_hello(context: ssl.SSLContext, endpoint: Endpoint) -> bytes:
    """The first message of a client."""
    outgoing = ssl.MemoryBIO()
    client = context.wrap_bio(ssl.MemoryBIO(), outgoing, server_hostname=endpoint.host)
    with pytest.raises(ssl.SSLWantReadError):
        client.do_handshake()
    return outgoing.read()


@contextmanager
def half_handshakes(endpoint: Endpoint, hello: bytes) -> Iterator[list[socket.socket]]:
    """Connections whose client has sent its first message alone."""
    with ExitStack() as stack:
        opened = []
        for _ in range(CLIENTS):
            client = stack.enter_context(socket.create_connection((endpoint.host, endpoint.port), timeout=WITHIN_S))
            client.sendall(hello)
            opened.append(client)
        yield opened


def unknown_clients(target: SecuredNodes) -> int:
    connections = target.nodes.running[1].parts.connections
    return target.nodes.thread.look(lambda: sum(not each.is_established for each in connections._open))


@pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3], ids=["TLS 1.2", "TLS 1.3"])
@pytest.mark.rule("AUTH-10")
def test_half_handshakes_neither_stop_appends_nor_take_much_memory(
    target: SecuredNodes,
    appending: Appending,
    version: ssl.TLSVersion,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    monkeypatch.setattr(inbound, "SILENT_S", SILENT_S)
    context = target.keys.tls()
    context.minimum_version = context.maximum_version = version
    endpoint = target.endpoint(VOTERS)
    hello = client_hello(context, endpoint)
    process = psutil.Process()
    before_bytes, appended_before = process.memory_info().rss, appending.count

    with (
        seen(lambda: target.dropped("idle"), caplog, f"no TLS handshake within {SILENT_S:g} s", times=CLIENTS),
        half_handshakes(endpoint, hello) as clients,
    ):
        answered = [client.recv(1) for client in clients]
        grown_bytes = process.memory_info().rss - before_bytes
        appended = appending.count - appended_before
        open_clients = unknown_clients(target)
        with Wire(endpoint, tls=target.keys.tls()) as newcomer:
            assert newcomer.prove(proof("bob")).error_code == 0, "a client that is not known yet gets in too"

        target.nodes.thread.jump(SILENT_S)
        target.nodes.thread.jump(LOOK_AROUND_S)
        eventually(lambda: unknown_clients(target) == 0, "all are dropped", within_s=WITHIN_S)

    assert answered == [b"\x16"] * CLIENTS, "the node has made its side of each handshake"
    assert open_clients == CLIENTS
    assert appended > 0
    assert grown_bytes < MOST_BYTES
