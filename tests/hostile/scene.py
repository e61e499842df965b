"""What the neighbour knows of the attacked quorum."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass

from raft.types import Endpoint
from raft.wire.messages.fetch_snapshot import SnapshotId
from tests.hostile.identity import Identity
from tests.node.harness.properties import HOST

SNAPSHOT = SnapshotId(end_offset=1, epoch=1)
"""A snapshot that all nodes have."""

SNAPSHOT_BYTES = 64 << 20
"""Its size: more than the memory that all responses together may take."""

SESSION_MS = 4_000
"""`connections.max.reauth.ms` of a secured quorum: several sessions are over in each phase of a run."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Scene:
    """The attacked quorum.

    Fields:
        client_ports: the ports of the listeners for clients, by node id.
        voter_ports: the ports of the listeners for voters, by node id.
        metrics_ports: the ports of the listeners for metrics, by node id.
        leader_id: the leader when the attack begins.
        leader_epoch: its epoch.
        identity: who the neighbour is.
        folder: has the files of the neighbour; see `tests.hostile.identity`.
    """

    client_ports: Mapping[int, int]
    voter_ports: Mapping[int, int]
    metrics_ports: Mapping[int, int]
    leader_id: int
    leader_epoch: int
    identity: Identity
    folder: str

    @property
    def client_endpoints(self) -> tuple[Endpoint, ...]:
        """The listeners for clients."""
        return tuple(Endpoint(HOST, port) for port in self.client_ports.values())

    @property
    def voter_endpoints(self) -> tuple[Endpoint, ...]:
        """The listeners for voters."""
        return tuple(Endpoint(HOST, port) for port in self.voter_ports.values())

    @property
    def metrics_endpoints(self) -> tuple[Endpoint, ...]:
        """The listeners for metrics."""
        return tuple(Endpoint(HOST, port) for port in self.metrics_ports.values())

    @property
    def leader(self) -> Endpoint:
        """The leader's listener for clients."""
        return Endpoint(HOST, self.client_ports[self.leader_id])

    @property
    def leader_of_voters(self) -> Endpoint:
        """The leader's listener for voters."""
        return Endpoint(HOST, self.voter_ports[self.leader_id])

    @property
    def followers(self) -> tuple[Endpoint, ...]:
        """The followers' listeners for clients."""
        return tuple(Endpoint(HOST, port) for node_id, port in self.client_ports.items() if node_id != self.leader_id)

    def to_json(self) -> str:
        """Return the text for the command line of the attacker."""
        return json.dumps(
            {
                "client_ports": dict(self.client_ports),
                "voter_ports": dict(self.voter_ports),
                "metrics_ports": dict(self.metrics_ports),
                "leader_id": self.leader_id,
                "leader_epoch": self.leader_epoch,
                "identity": self.identity.value,
                "folder": self.folder,
            }
        )

    @classmethod
    def from_json(cls, text: str) -> Scene:
        """Read what `to_json` wrote."""
        read = json.loads(text)
        return cls(
            client_ports={int(node_id): port for node_id, port in read["client_ports"].items()},
            voter_ports={int(node_id): port for node_id, port in read["voter_ports"].items()},
            metrics_ports={int(node_id): port for node_id, port in read["metrics_ports"].items()},
            leader_id=read["leader_id"],
            leader_epoch=read["leader_epoch"],
            identity=Identity(read["identity"]),
            folder=read["folder"],
        )
