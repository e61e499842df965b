"""The memory of connections that have ended is free at once: no collector has to find it."""

from __future__ import annotations

import asyncio
import gc
import ssl
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import pytest
import uvloop

from raft.config import NodeConfig
from raft.node.inbound import InboundConnection
from raft.node.node import Node
from raft.security.authority import Authority
from raft.types import Endpoint
from raft.wire.frames import encode_request
from raft.wire.messages.api_versions import ApiVersionsRequest
from tests.hang import HANG_S
from tests.node.harness.properties import HOST, voters_properties

_REQUEST = encode_request(ApiVersionsRequest(), 0, correlation_id=1, client_id="test")
_NO_REQUEST = b""
_HALF_A_REQUEST = _REQUEST[:9]

NewLoop = Callable[[], asyncio.AbstractEventLoop]


@pytest.fixture
def no_collector() -> Iterator[None]:
    gc.collect()
    gc.disable()
    yield
    gc.enable()


async def _visit(node: Endpoint, tls: ssl.SSLContext | None, sent: bytes) -> None:
    """Open a connection, send some bytes, read the response to a request, and close it."""
    reader, writer = await asyncio.open_connection(node.host, node.port, ssl=tls)
    writer.write(sent)
    if sent == _REQUEST:
        await reader.readexactly(int.from_bytes(await reader.readexactly(4), "big"))
    writer.close()
    await writer.wait_closed()


async def _visit_often(properties: Mapping[str, str], tls: ssl.SSLContext | None, sent: bytes) -> None:
    async with Node(NodeConfig.from_properties(properties)) as node:
        for _ in range(20):
            await _visit(node.config.listener, tls, sent)
        async with asyncio.timeout(HANG_S):
            while _kept():
                await asyncio.sleep(0.01)


def _kept() -> int:
    return sum(isinstance(each, InboundConnection) for each in gc.get_objects())


@pytest.mark.rule("SHARE-10")
@pytest.mark.parametrize("new_loop", [asyncio.new_event_loop, uvloop.new_event_loop], ids=["asyncio", "uvloop"])
@pytest.mark.parametrize("has_tls", [False, True], ids=["plain", "TLS"])
@pytest.mark.parametrize(
    "sent", [_NO_REQUEST, _HALF_A_REQUEST, _REQUEST], ids=["no request", "half a request", "a request"]
)
def test_connection_that_has_ended_is_freed_without_the_collector(
    tmp_path: Path, no_collector: None, new_loop: NewLoop, has_tls: bool, sent: bytes
) -> None:
    authority = Authority.create("tests")
    keystore, truststore = tmp_path / "node.pem", tmp_path / "authority.pem"
    keystore.write_bytes(authority.issue("node", [HOST]))
    truststore.write_bytes(authority.certificate_pem())
    of_tls = {
        "listener__security__protocol__map": "CONTROLLER:SSL",
        "ssl__keystore__location": str(keystore),
        "ssl__truststore__location": str(truststore),
    }
    (properties,) = voters_properties(tmp_path, voters=1, **(of_tls if has_tls else {})).values()
    tls = ssl.create_default_context(cadata=authority.certificate_pem().decode()) if has_tls else None

    with asyncio.Runner(loop_factory=new_loop) as runner:
        runner.run(_visit_often(properties, tls, sent))
