"""Configurations of nodes on loopback, with elections short enough for a test."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from raft.local.ports import free_ports

CLUSTER_ID = "kq5mZl0zT0uJwXUxQKo9gQ"
TOPIC = "__cluster_metadata"
HOST = "127.0.0.1"

Properties = dict[str, str]


def write_properties(path: Path, properties: Mapping[str, str]) -> Path:
    """Write a file of properties, and return where; neither keys nor values may need escapes."""
    path.write_text("".join(f"{key}={value}\n" for key, value in properties.items()))
    return path


def voters_properties(directory: Path, *, voters: int = 3, **overrides: str) -> dict[int, Properties]:
    """Configurations of the nodes 1 to `voters` of one quorum, each with a folder of its own below `directory`.

    Overrides are keys with "__" for the dots: `message__max__bytes="1000"`.
    """
    ports = dict(enumerate(free_ports(voters), start=1))
    everybody = ",".join(f"{node_id}@{HOST}:{port}" for node_id, port in ports.items())
    return {
        node_id: node_properties(
            directory / f"node-{node_id}", node_id=node_id, port=port, controller__quorum__voters=everybody, **overrides
        )
        for node_id, port in ports.items()
    }


def node_properties(log_dir: Path, *, node_id: int, port: int, **overrides: str) -> Properties:
    """The configuration of one node; the voters, or the bootstrap servers, are among the overrides."""
    return {
        "node.id": str(node_id),
        "process.roles": "controller",
        "cluster.id": CLUSTER_ID,
        "listeners": f"CONTROLLER://{HOST}:{port}",
        "controller.listener.names": "CONTROLLER",
        "log.dirs": str(log_dir),
        # Long enough for a busy machine, short enough for a test that waits for an election.
        "controller.quorum.election.timeout.ms": "300",
        "controller.quorum.fetch.timeout.ms": "700",
        "controller.quorum.election.backoff.max.ms": "100",
        "controller.quorum.request.timeout.ms": "700",
        **{key.replace("__", "."): value for key, value in overrides.items()},
    }
