"""A client that ends TLS waits until the node has ended it too, as asyncio does."""

from __future__ import annotations

import socket
import ssl
from pathlib import Path

import pytest

from raft.security.authority import Authority
from raft.wire.frames import encode_request
from raft.wire.messages.api_versions import ApiVersionsRequest
from tests.hang import HANG_S
from tests.node.harness.loop import NodesInProcess
from tests.node.harness.properties import HOST, voters_properties


@pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3], ids=["TLS 1.2", "TLS 1.3"])
def test_node_ends_tls_and_closes_the_connection_when_the_client_ends_tls(
    tmp_path: Path, version: ssl.TLSVersion
) -> None:
    authority = Authority.create("tests")
    keystore = tmp_path / "node.pem"
    keystore.write_bytes(authority.issue("node", [HOST]))
    configurations = voters_properties(
        tmp_path,
        voters=1,
        listener__security__protocol__map="CONTROLLER:SSL",
        ssl__keystore__location=str(keystore),
        ssl__truststore__location=str(write(tmp_path / "authority.pem", authority.certificate_pem())),
    )
    context = ssl.create_default_context(cadata=authority.certificate_pem().decode())
    context.maximum_version = version
    with NodesInProcess(configurations) as nodes:
        nodes.start()
        port = nodes.running[1].config.listener.port
        with (
            socket.create_connection((HOST, port), timeout=HANG_S) as tcp,
            context.wrap_socket(tcp, server_hostname=HOST) as tls,
        ):
            tls.sendall(encode_request(ApiVersionsRequest(), 0, correlation_id=1, client_id="test"))
            received = tls.makefile("rb")
            received.read(int.from_bytes(received.read(4), "big"))

            plain = tls.unwrap()

            assert plain.recv(1) == b""
            plain.close()


def write(path: Path, content: bytes) -> Path:
    path.write_bytes(content)
    return path
