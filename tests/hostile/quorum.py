"""Three nodes, each a process with a listener for voters and one for clients, and what is seen of them from outside."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

import psutil

from raft.client import Client, ClientSettings
from raft.config import NodeConfig
from raft.types import Endpoint
from tests.hostile.scene import Scene
from tests.node.harness.processes import DIE_WITH_US, KRAFT, NodeProcess, wrong_lines
from tests.node.harness.properties import voters_properties
from tests.node.harness.settling import settled
from tests.node.test_listeners import with_client_listeners

QUEUED_MAX_REQUEST_BYTES = 16 << 20
"""Small, so that what it bounds is not large beside the rest of a node's memory."""

MAX_CONNECTIONS = 500
"""Fewer than the neighbour opens to each node."""

_PATIENT_MS = 20_000
_PEAK = re.compile(r"VmHWM:\s+(\d+) kB")
_ROLE_CHANGE = re.compile(r"node \d+ epoch \d+: \w+ -> \w+")


@dataclass(frozen=True, slots=True, kw_only=True)
class Sight:
    """The quorum at one moment.

    Fields:
        leader: its leader and the epoch of that.
        peak_bytes: most memory that each node has taken since its start, by node id.
        role_changes: how many role changes all nodes have logged.
        logged_bytes: size of each node's log of events, by node id.
    """

    leader: tuple[int, int]
    peak_bytes: Mapping[int, int]
    role_changes: int
    logged_bytes: Mapping[int, int]


class Quorum:
    """Voters 1 to 3; `running_quorum` makes one."""

    def __init__(self, nodes: Mapping[int, NodeProcess]) -> None:
        self.nodes = nodes

    @property
    def settings(self) -> ClientSettings:
        """Settings of a client that knows the listeners for clients."""
        return ClientSettings(
            bootstrap_servers=tuple(self._for_clients(node) for node in self.nodes.values()), api_timeout_ms=_PATIENT_MS
        )

    def scene(self, leader_id: int) -> Scene:
        """What the neighbour is told."""
        return Scene(
            client_ports={node_id: self._for_clients(node).port for node_id, node in self.nodes.items()},
            voter_ports={node_id: node.endpoint.port for node_id, node in self.nodes.items()},
            leader_id=leader_id,
        )

    def look(self) -> Sight:
        """Look at all nodes; waits for a leader."""
        with Client(self.settings) as client:
            described = client.describe_quorum()
        words = {node_id: node.words for node_id, node in self.nodes.items()}
        return Sight(
            leader=(described.leader_id, described.leader_epoch),
            peak_bytes={node_id: _peak_bytes(node.pid) for node_id, node in self.nodes.items()},
            role_changes=sum(len(_ROLE_CHANGE.findall(text)) for text in words.values()),
            logged_bytes={node_id: len(text) for node_id, text in words.items()},
        )

    def settle(self) -> None:
        """Wait until all nodes hold the whole log and all of it is committed; nobody may append meanwhile.

        Raises:
            AssertionError: they do not in time.
        """
        with Client(self.settings) as client:
            settled(client, self.nodes, within_s=30)

    def kill_all(self) -> None:
        """End all nodes."""
        for node in self.nodes.values():
            node.kill()

    def complaints(self) -> Iterator[str]:
        """Say what is wrong with nodes that run, and with what they have logged."""
        for node_id, node in self.nodes.items():
            if not node.is_running:
                yield f"node {node_id} ended by itself with {node.wait()}: {node.words.splitlines()[-1:]}"
            for line in wrong_lines(node.words):
                yield f"node {node_id} says: {line}"

    @staticmethod
    def _for_clients(node: NodeProcess) -> Endpoint:
        (listener,) = NodeConfig.from_properties(node.properties).client_listeners
        return listener.listener


@contextmanager
def running_quorum(folder: Path) -> Iterator[Quorum]:
    """Three nodes that run with Kafka's default timeouts, with their directories and all they say in `folder`."""
    configurations = with_client_listeners(
        voters_properties(
            folder,
            voters=3,
            queued__max__request__bytes=str(QUEUED_MAX_REQUEST_BYTES),
            max__connections=str(MAX_CONNECTIONS),
            controller__quorum__election__timeout__ms="1000",
            controller__quorum__fetch__timeout__ms="2000",
            controller__quorum__election__backoff__max__ms="1000",
            controller__quorum__request__timeout__ms="2000",
        )
    )
    with ExitStack() as stack:
        nodes = {
            node_id: stack.enter_context(
                NodeProcess(properties, folder / f"process-{node_id}", command=(*DIE_WITH_US, *KRAFT, "serve"))
            )
            for node_id, properties in configurations.items()
        }
        for node in nodes.values():
            node.start()
        for node in nodes.values():
            node.wait_until_serving()
        yield Quorum(nodes)


def _peak_bytes(pid: int) -> int:
    """The most memory that a process has had; where the system does not tell (not Linux), what it has now."""
    status = Path(f"/proc/{pid}/status")
    found = _PEAK.search(status.read_text()) if status.exists() else None
    return int(found[1]) << 10 if found else int(psutil.Process(pid).memory_info().rss)
