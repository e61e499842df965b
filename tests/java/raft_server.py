"""Configurations that both `kraft serve` and Kafka's TestRaftServer accept."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from pathlib import Path

from raft.local.ports import free_ports
from raft.types import Endpoint
from tests.node.harness.properties import HOST, Advertise, Properties, controller_properties, quorum_properties

TOPIC_NAME = "__raft_performance_test"
TOPIC_ID = "AAAAAAAAAAAAAAAAAAAAAg"

_SETTINGS = {
    "raft.topic.name": TOPIC_NAME,
    "raft.topic.id": TOPIC_ID,
    "raft.records.strict": "true",
    "listener.security.protocol.map": "CONTROLLER:PLAINTEXT",
}
"""With these settings, a node of ours accepts the log of TestRaftServer."""


def raft_server_voters(
    folder: Path, voters: int, settings: Mapping[str, str], *, advertise: Advertise | None = None
) -> dict[int, Properties]:
    """Return the configurations of the voters 1, 2, ... of a quorum; see `quorum_properties` for the arguments."""
    configurations = quorum_properties(folder, voters, _SETTINGS | dict(settings), advertise=advertise)
    return {node_id: _without_cluster_id(properties) for node_id, properties in configurations.items()}


def raft_server_observer(
    folder: Path, node_id: int, settings: Mapping[str, str], *, servers: Collection[Endpoint], advertise: Advertise
) -> Properties:
    """Return the configuration of a node that has bootstrap servers and no voters.

    Args:
        folder: gets its log directory.
        node_id: its id.
        settings: further keys.
        servers: nodes that it asks for the leader.
        advertise: see `quorum_properties`.
    """
    (port,) = free_ports(1)
    own = {
        "advertised.listeners": f"CONTROLLER://{advertise(node_id, Endpoint(HOST, port))}",
        "controller.quorum.bootstrap.servers": ",".join(map(str, servers)),
    }
    log_dir = folder / f"node-{node_id}"
    properties = controller_properties(log_dir, node_id=node_id, port=port, settings=_SETTINGS | own | dict(settings))
    return _without_cluster_id(properties)


def _without_cluster_id(properties: Properties) -> Properties:
    # TestRaftServer has a fixed cluster id; a node of ours without a cluster id adopts it.
    return {key: value for key, value in properties.items() if key != "cluster.id"}
