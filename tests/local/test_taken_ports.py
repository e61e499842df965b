"""Another user of the machine takes the port of a voter that is down, and gets neither clients nor voters."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pytest

from raft.client import Client
from raft.errors import AuthenticationError
from raft.local import LocalQuorum
from raft.security.authority import Authority
from raft.types import Endpoint, NodeId
from tests.local.client_config import settings_from
from tests.local.conftest import QUICK
from tests.local.port_thief import PortThief


@pytest.fixture
def quorum(tmp_path: Path) -> Iterator[LocalQuorum]:
    """Three voters."""
    with LocalQuorum.start(tmp_path / "quorum", settings=QUICK) as quorum:
        yield quorum


@pytest.fixture(params=[False, True], ids=["without TLS", "with a certificate of its own"])
def keystore(tmp_path: Path, request: pytest.FixtureRequest) -> Path | None:
    """What the attacker shows to clients of TLS."""
    if not request.param:
        return None
    path = tmp_path / "attacker.pem"
    path.write_bytes(Authority.create("kraft-spark").issue("node-1", ["127.0.0.1"]))
    return path


def kill_the_leader(quorum: LocalQuorum) -> tuple[NodeId, NodeId]:
    """Return the voter that is down now, and another one."""
    with quorum.client() as client:
        leader = NodeId(client.describe_quorum().leader_id or 0)
    os.kill(quorum.pids[leader], signal.SIGKILL)
    return leader, next(node_id for node_id in quorum.pids if node_id != leader)


@pytest.mark.rule("AUTH-15")
def test_client_at_the_port_of_a_voter_that_is_down_gives_its_name_to_no_one(
    quorum: LocalQuorum, keystore: Path | None
) -> None:
    settings = settings_from(quorum.client_config)
    ports = {NodeId(at + 1): server.port for at, server in enumerate(settings.bootstrap_servers)}
    down, other = kill_the_leader(quorum)

    with PortThief(ports[down], ports[other], keystore=keystore) as thief:
        servers = (Endpoint("127.0.0.1", ports[down]), *settings.bootstrap_servers)
        # It may go on with the other voters, or refuse to: a node with a wrong certificate is an error.
        with suppress(AuthenticationError), Client(replace(settings, bootstrap_servers=servers)) as client:
            client.describe_quorum()

        assert not thief.steals_a_connection()


@pytest.mark.rule("AUTH-15")
def test_voters_at_the_port_of_a_voter_that_is_down_give_their_names_to_no_one(
    quorum: LocalQuorum, keystore: Path | None
) -> None:
    ports = {node_id: endpoint.port for node_id, endpoint in quorum._layout.voter_endpoints.items()}
    down, other = kill_the_leader(quorum)

    with PortThief(ports[down], ports[other], keystore=keystore) as thief:
        assert not any(thief.steals_a_connection() for _ in range(3))
