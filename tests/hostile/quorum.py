"""Three nodes, each a process with a listener for voters and one for clients, and figures of them."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import psutil

from raft.client import Client, ClientSettings
from tests.hostile.scene import SNAPSHOT, SNAPSHOT_BYTES, Scene
from tests.metrics.scraped import port_of_metrics, with_metrics
from tests.node.harness.properties import quorum_properties, with_client_listeners
from tests.processes.node_quorum import NodeQuorum

QUEUED_MAX_REQUEST_BYTES = 16 << 20
"""Small, so that what it bounds is not much more than the rest of the memory of a node."""

MAX_CONNECTIONS = 500
"""Fewer connections than the neighbour opens to each node."""

LONGEST_TRANSACTION_MS = 6_000
"""Short, so that the transactions that the neighbour leaves open end together in the run."""

_HONEST_API_TIMEOUT_MS = 20_000
_PEAK = re.compile(r"VmHWM:\s+(\d+) kB")
_ROLE_CHANGE = re.compile(r"node \d+ epoch \d+: \w+ -> \w+")


@dataclass(frozen=True, slots=True, kw_only=True)
class Observation:
    """The quorum at one moment.

    Fields:
        leader: the id of the leader and its epoch.
        peak_bytes: peak memory of each node since its start, by node id.
        role_changes: how many role changes the nodes have logged.
        logged_bytes: size of the output of each node, by node id.
    """

    leader: tuple[int, int]
    peak_bytes: Mapping[int, int]
    role_changes: int
    logged_bytes: Mapping[int, int]


class Quorum(NodeQuorum):
    """Voters 1 to 3; see `running_quorum`."""

    def honest_client(self) -> Client:
        """Return a client with the default settings, but for a shorter API timeout."""
        return Client(ClientSettings(bootstrap_servers=self.endpoints, api_timeout_ms=_HONEST_API_TIMEOUT_MS))

    def scene(self, leader_id: int, leader_epoch: int) -> Scene:
        """Return what the neighbour needs to know."""
        return Scene(
            client_ports={node_id: node.client_endpoint.port for node_id, node in self.nodes.items()},
            voter_ports={node_id: node.endpoint.port for node_id, node in self.nodes.items()},
            metrics_ports={node_id: port_of_metrics(node.properties) for node_id, node in self.nodes.items()},
            leader_id=leader_id,
            leader_epoch=leader_epoch,
        )

    def observe(self) -> Observation:
        """Wait for a leader; return the present figures."""
        with self.client() as client:
            described = client.describe_quorum()
        outputs = {node_id: node.output for node_id, node in self.nodes.items()}
        return Observation(
            leader=(described.leader_id, described.leader_epoch),
            peak_bytes={node_id: _peak_bytes(node.pid) for node_id, node in self.nodes.items()},
            role_changes=sum(len(_ROLE_CHANGE.findall(output)) for output in outputs.values()),
            logged_bytes={node_id: len(output) for node_id, output in outputs.items()},
        )

    def put_snapshots(self) -> None:
        """Put a large snapshot into the directory of each node, which serves every file with such a name."""
        for node in self.nodes.values():
            name = f"{SNAPSHOT.end_offset:020d}-{SNAPSHOT.epoch:010d}.checkpoint"
            with (node.partition / name).open("wb") as file:
                for _ in range(SNAPSHOT_BYTES >> 20):
                    file.write(os.urandom(1 << 20))

    def complaints(self) -> Iterator[str]:
        """Say which nodes do not run, and which errors the nodes have logged."""
        yield from self.unexpected_ends()
        yield from self.reported_errors()


def running_quorum(folder: Path) -> Quorum:
    """Start three nodes with Kafka's default timeouts; their directories and output are in `folder`."""
    settings = {
        "queued.max.request.bytes": str(QUEUED_MAX_REQUEST_BYTES),
        "max.connections": str(MAX_CONNECTIONS),
        "transaction.max.timeout.ms": str(LONGEST_TRANSACTION_MS),
    }
    configurations = with_metrics(with_client_listeners(quorum_properties(folder, 3, settings)))
    return Quorum(folder, configurations).start()


def _peak_bytes(pid: int) -> int:
    """Return the peak memory of a process; on systems other than Linux, its present memory."""
    status = Path(f"/proc/{pid}/status")
    found = _PEAK.search(status.read_text()) if status.exists() else None
    return int(found[1]) << 10 if found else int(psutil.Process(pid).memory_info().rss)
