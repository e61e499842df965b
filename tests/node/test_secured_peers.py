"""Connections of a node to others that are protected: what they log when the nodes do not accept each other."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from raft.codec import Message
from raft.config.security import ClientSecurity
from raft.core import messages as core
from raft.core.effects import SendRequest
from raft.core.events import Event, Failure, RequestFailed, ResponseReceived
from raft.node.leader_relay import LeaderRelay
from raft.node.peer_network import PeerNetwork
from raft.runtime.fault_log import FaultLog
from raft.security.authority import Authority
from raft.security.client_protection import ClientProtection
from raft.types import Endpoint, Epoch, LeaderAndEpoch, NodeId
from raft.wire.messages.describe_quorum import DescribeQuorumRequest, DescribeQuorumResponse
from tests.node.harness.loop import LoopThread
from tests.node.harness.peer import OURS
from tests.node.harness.properties import CLUSTER_ID, HOST
from tests.node.harness.secured import VOTERS
from tests.node.harness.secured_node import MUTUAL, UNPROTECTED, SecuredNodes, secured_nodes
from tests.node.harness.waiting import eventually

BEGIN = core.BeginQuorumEpochRequest(cluster_id=CLUSTER_ID, leader=LeaderAndEpoch(epoch=Epoch(0), leader_id=NodeId(1)))
Settings = Callable[[SecuredNodes], ClientSecurity]


@pytest.fixture(scope="module")
def node(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SecuredNodes]:
    """A node with all listeners."""
    with secured_nodes(tmp_path_factory.mktemp("peers")) as node:
        yield node


class Peers:
    """The connections of another node, and what came of its requests."""

    def __init__(self, thread: LoopThread, security: ClientSecurity) -> None:
        self._thread = thread
        self.events: list[Event] = []
        self.network = PeerNetwork(
            NodeId(1),
            OURS,
            max_frame_bytes=1 << 20,
            refuses_controllers=False,
            submit=self.events.append,
            is_expected=lambda _: True,
            protection=ClientProtection(security),
            faults=FaultLog(logging.getLogger(__name__), lambda: 0),
        )

    def ask(self, endpoint: Endpoint) -> Event:
        """Send a request, and return its response or its failure."""
        request = SendRequest(number=7, node_id=NodeId(1), endpoint=endpoint, request=BEGIN)
        self._thread.look(lambda: self.network.send(request))
        eventually(lambda: self.events, "the request has ended")
        return self.events.pop()

    def close(self) -> None:
        self._thread.look(self.network.close)


def other_authority(node: SecuredNodes) -> ClientSecurity:
    path = node.keys.folder / "other-authority.pem"
    path.write_bytes(Authority.create("other").certificate_pem())
    return node.security(VOTERS, "node1", ssl__truststore__location=str(path))


def other_name(node: SecuredNodes) -> ClientSecurity:
    return node.security(VOTERS, "node1")


FAILURES = [
    pytest.param(
        VOTERS,
        HOST,
        lambda node: node.security(VOTERS, "node1", password="wrong-secret"),
        "due to invalid credentials with SASL mechanism SCRAM-SHA-512",
        id="wrong password",
    ),
    pytest.param(
        VOTERS,
        HOST,
        other_authority,
        "self-signed certificate in certificate chain",
        id="another authority",
    ),
    pytest.param(
        VOTERS,
        "localhost",
        other_name,
        "certificate is not valid for 'localhost'",
        id="another host",
    ),
    pytest.param(
        MUTUAL,
        HOST,
        lambda node: node.keys.client(node.security(MUTUAL).protocol),
        "certificate required",
        id="no certificate",
    ),
    pytest.param(
        VOTERS,
        HOST,
        lambda node: node.security(UNPROTECTED),
        None,
        id="no TLS",
    ),
]


@pytest.mark.parametrize(("listener", "host", "settings", "reason"), FAILURES)
@pytest.mark.rule("AUTH-2", "AUTH-3", "AUTH-6")
def test_request_fails_and_the_reason_is_logged_once(
    node: SecuredNodes,
    listener: str,
    host: str,
    settings: Settings,
    reason: str | None,
    caplog: pytest.LogCaptureFixture,
) -> None:
    peers = Peers(node.nodes.thread, settings(node))
    endpoint = Endpoint(host, node.endpoint(listener).port)

    ended = [peers.ask(endpoint), peers.ask(endpoint)]

    assert ended == [RequestFailed(number=7, failure=Failure.DISCONNECTED)] * 2
    lines = [line for line in caplog.messages if line.startswith("no connection to")]
    assert len(lines) == (reason is not None)
    assert all(line.startswith(f"no connection to {endpoint}: ") and (reason or "") in line for line in lines)
    assert "wrong-secret" not in caplog.text
    peers.close()


@pytest.mark.parametrize("listener", [VOTERS, MUTUAL])
def test_request_gets_its_response_when_the_nodes_accept_each_other(node: SecuredNodes, listener: str) -> None:
    peers = Peers(node.nodes.thread, node.security(listener, "node1"))

    ended = peers.ask(node.endpoint(listener))

    assert isinstance(ended, ResponseReceived)
    peers.close()


@pytest.mark.rule("AUTH-11")
def test_request_fails_when_the_certificate_of_the_node_cannot_be_read(
    node: SecuredNodes, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    missing = tmp_path / "missing.pem"
    peers = Peers(node.nodes.thread, node.security(VOTERS, "node1", ssl__keystore__location=str(missing)))
    endpoint = node.endpoint(VOTERS)

    ended = peers.ask(endpoint)

    assert ended == RequestFailed(number=7, failure=Failure.DISCONNECTED)
    reason = f"ssl.keystore.location={missing}: No such file or directory"
    assert f"no connection to {endpoint}: {reason}" in caplog.messages


@pytest.mark.parametrize(
    ("listener", "settings", "is_forwarded"),
    [
        pytest.param(VOTERS, lambda node: node.security(VOTERS, "node2"), True, id="accepted"),
        pytest.param(VOTERS, other_authority, False, id="another authority"),
        pytest.param(
            VOTERS, lambda node: node.security(VOTERS, "node2", password="wrong-secret"), False, id="wrong password"
        ),
        pytest.param(VOTERS, lambda node: node.security(UNPROTECTED), False, id="no TLS"),
        pytest.param(
            VOTERS,
            lambda node: node.security(VOTERS, "node2", ssl__keystore__location="missing"),
            False,
            id="no file",
        ),
    ],
)
def test_request_is_forwarded_only_to_a_leader_that_accepts_the_node(
    node: SecuredNodes, listener: str, settings: Settings, is_forwarded: bool
) -> None:
    async def forward() -> Message | None:
        ended: asyncio.Future[Message | None] = asyncio.get_running_loop().create_future()
        LeaderRelay(ClientProtection(settings(node))).ask(
            node.endpoint(listener),
            DescribeQuorumRequest(topics=()),
            2,
            on_response=ended.set_result,
            otherwise=lambda: ended.set_result(None),
        )
        return await ended

    response = asyncio.run(forward())

    assert (response is not None) is is_forwarded
    assert response is None or isinstance(response, DescribeQuorumResponse)
