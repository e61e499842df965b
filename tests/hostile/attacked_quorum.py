"""Three nodes, each a process with a listener for voters and one for clients, and figures of them."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import psutil

from raft.client import Client, ClientSettings
from raft.config.security import NO_SECURITY, ClientSecurity, SecurityProtocol
from tests.harness.planted import SERVE
from tests.hostile.identity import AUTHORITY_FILE, CERTIFICATE_FILE, HONEST, NEIGHBOUR, Identity
from tests.hostile.scene import SESSION_MS, SNAPSHOT, SNAPSHOT_BYTES, Scene
from tests.hostile.security_counts import NO_COUNTS, SecurityCounts
from tests.metrics.http_client import ask
from tests.metrics.scraped import Scrape, port_of_metrics, with_metrics
from tests.node.harness.keys import Keys
from tests.node.harness.properties import Properties, quorum_properties, with_client_listeners
from tests.node.harness.secured import MUTUAL_TLS, TLS_SCRAM, VOTERS, secured
from tests.processes.node_process import NodeProcess
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


_RULES = f"""
[allow]
read = ["User:{HONEST}", "User:{NEIGHBOUR}"]
append = ["User:{HONEST}", "User:{NEIGHBOUR}"]

[allow.peer]
1 = ["User:node1"]
2 = ["User:node2"]
3 = ["User:node3"]
"""
"""What a neighbour with credentials may do is the same as what the honest clients may do."""

_RULE_OF_OBSERVER = f"""observers = ["User:{NEIGHBOUR}"]
"""

QUOTAS = f"""
[[quota]]
user = "<default>"
request_percentage = 10

[[quota]]
user = "{HONEST}"
request_percentage = 100
"""
"""As docs/security.md recommends it: without a quota a client that is not idle gets half of the time beside another."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Observation:
    """The quorum at one moment.

    Fields:
        leader: the id of the leader and its epoch.
        end_offset: of the committed records.
        peak_bytes: peak memory of each node since its start, by node id.
        role_changes: how many role changes the nodes have logged.
        logged_bytes: size of the output of each node, by node id.
        counts: metrics of all nodes together.
        longest_step_ms: the longest step of an event loop in the last minute, in milliseconds of processor time.
    """

    leader: tuple[int, int]
    end_offset: int = 0
    peak_bytes: Mapping[int, int]
    role_changes: int
    logged_bytes: Mapping[int, int]
    counts: SecurityCounts = NO_COUNTS
    longest_step_ms: float = 0.0


class AttackedQuorum(NodeQuorum):
    """Voters 1 to 3; see `running_quorum`.

    Args:
        folder: see `NodeQuorum`.
        configurations: see `NodeQuorum`.
        security: of the honest clients.
        command: see `NodeQuorum`.
    """

    def __init__(
        self,
        folder: Path,
        configurations: Mapping[int, Properties],
        security: ClientSecurity,
        *,
        command: Sequence[str] = SERVE,
    ) -> None:
        super().__init__(folder, configurations, command=command)
        self._folder = folder
        self._security = security

    def settings(self, *, api_timeout_ms: int = 60_000, request_timeout_ms: int = 2_000) -> ClientSettings:
        """See `NodeQuorum.settings`."""
        settings = super().settings(api_timeout_ms=api_timeout_ms, request_timeout_ms=request_timeout_ms)
        return replace(settings, security=self._security)

    def honest_client(self) -> Client:
        """Return a client with the default settings, but for a shorter API timeout."""
        settings = ClientSettings(
            bootstrap_servers=self.endpoints, api_timeout_ms=_HONEST_API_TIMEOUT_MS, security=self._security
        )
        return Client(settings)

    def scene(self, identity: Identity, leader_id: int, leader_epoch: int) -> Scene:
        """Return what the neighbour needs to know."""
        return Scene(
            client_ports={node_id: node.client_endpoint.port for node_id, node in self.nodes.items()},
            voter_ports={node_id: node.endpoint.port for node_id, node in self.nodes.items()},
            metrics_ports={node_id: port_of_metrics(node.properties) for node_id, node in self.nodes.items()},
            leader_id=leader_id,
            leader_epoch=leader_epoch,
            identity=identity,
            folder=str(self._folder),
        )

    def observe(self) -> Observation:
        """Wait for a leader; return the present figures."""
        # First, because the client that looks is counted too.
        counts = SecurityCounts.of(self.nodes.values())
        with self.client() as client:
            described = client.describe_quorum()
        outputs = {node_id: node.output for node_id, node in self.nodes.items()}
        return Observation(
            leader=(described.leader_id, described.leader_epoch),
            end_offset=described.high_watermark or 0,
            peak_bytes={node_id: _peak_bytes(node.pid) for node_id, node in self.nodes.items()},
            role_changes=sum(len(_ROLE_CHANGE.findall(output)) for output in outputs.values()),
            logged_bytes={node_id: len(output) for node_id, output in outputs.items()},
            counts=counts,
            longest_step_ms=max(_longest_step_ms(node) for node in self.nodes.values()),
        )

    def put_snapshots(self) -> None:
        """Put a large snapshot into the directory of each node, which serves every file with such a name."""
        for node in self.nodes.values():
            with _snapshot_of(node).open("wb") as file:
                for _ in range(SNAPSHOT_BYTES >> 20):
                    file.write(os.urandom(1 << 20))

    def remove_snapshots(self) -> None:
        """Remove what `put_snapshots` has put there; no node runs."""
        for node in self.nodes.values():
            _snapshot_of(node).unlink()


def running_quorum(folder: Path, identity: Identity, *, command: Sequence[str] = SERVE) -> AttackedQuorum:
    """Start three nodes with Kafka's default timeouts.

    Args:
        folder: gets their directories and output, and the keys of nodes and clients.
        identity: of the neighbour. If the quorum is secured, clients have to prove their names by SCRAM over TLS, and
            voters by certificates, and users have quotas.
        command: see `NodeQuorum`.
    """
    settings = {
        "queued.max.request.bytes": str(QUEUED_MAX_REQUEST_BYTES),
        "max.connections": str(MAX_CONNECTIONS),
        "transaction.max.timeout.ms": str(LONGEST_TRANSACTION_MS),
    }
    configurations = quorum_properties(folder, 3, settings)
    if not identity.is_secured:
        configurations = with_metrics(with_client_listeners(configurations))
        return AttackedQuorum(folder, configurations, NO_SECURITY, command=command).start()
    keys = Keys(folder, _RULES + (_RULE_OF_OBSERVER if identity is Identity.OBSERVER else ""))
    assert keys.truststore.name == AUTHORITY_FILE, "the neighbour knows its name"
    assert keys.certificate(NEIGHBOUR).name == CERTIFICATE_FILE, "the neighbour knows its name"
    quotas_file = folder / "quotas.toml"
    quotas_file.write_text(QUOTAS)
    configurations = secured(configurations, keys, {VOTERS: MUTUAL_TLS, "CLIENT": TLS_SCRAM})
    for properties in configurations.values():
        properties["connections.max.reauth.ms"] = str(SESSION_MS)
        properties["raft.quotas.file"] = str(quotas_file)
    honest = keys.client(SecurityProtocol.SASL_SSL, HONEST)
    return AttackedQuorum(folder, configurations, honest, command=command).start()


def _snapshot_of(node: NodeProcess) -> Path:
    return node.partition / f"{SNAPSHOT.end_offset:020d}-{SNAPSHOT.epoch:010d}.checkpoint"


def _longest_step_ms(node: NodeProcess) -> float:
    scrape = Scrape(ask(port_of_metrics(node.properties), "/metrics").body)
    return 1000 * (scrape.value("kraft_event_loop_longest_step_seconds", time="processor") or 0.0)


def _peak_bytes(pid: int) -> int:
    """Return the peak memory of a process; on systems other than Linux, its present memory."""
    status = Path(f"/proc/{pid}/status")
    found = _PEAK.search(status.read_text()) if status.exists() else None
    return int(found[1]) << 10 if found else int(psutil.Process(pid).memory_info().rss)
