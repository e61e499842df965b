"""Voters, each with a file of properties that starts `kraft serve` and Kafka's TestRaftServer alike."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from raft.types import Endpoint, NodeId
from tests.java.processes import Server, free_ports

RAFT_SERVER_TOPIC = {
    "raft.topic.name": "__raft_performance_test",
    "raft.topic.id": "AAAAAAAAAAAAAAAAAAAAAg",
    "raft.records.strict": "true",
}
"""Settings with which a node of ours keeps the log that TestRaftServer keeps."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Voter:
    """The place of one voter, whoever takes it.

    Fields:
        folder: holds all that is its own: properties, log directory, and what it says.
    """

    node_id: NodeId
    endpoint: Endpoint
    folder: Path

    @property
    def config(self) -> Path:
        """Its file of properties."""
        return self.folder / "node.properties"

    @property
    def log_dir(self) -> Path:
        """Its log directory."""
        return self.folder / "log"

    def segments(self) -> list[Path]:
        """The files of its log, in order."""
        return sorted(self.log_dir.glob("*-0/*.log"))

    def kraft_server(self) -> Server:
        """Return a node of ours for this place, not started yet."""
        command = [sys.executable, "-m", "raft.cli", "serve", "--config", str(self.config)]
        return Server(f"voter {self.node_id}", command, log_file=self.folder / "kraft.log")


def seat_voters(folder: Path, count: int, settings: Mapping[str, str]) -> dict[NodeId, Voter]:
    """Choose ports and write the files of a quorum on loopback.

    Args:
        folder: gets a folder for each voter.
        count: how many.
        settings: further keys of their configuration; one that is set here already is overridden.
    """
    endpoints = {NodeId(at + 1): Endpoint("127.0.0.1", port) for at, port in enumerate(free_ports(count))}
    voters = {
        node_id: Voter(node_id=node_id, endpoint=endpoint, folder=folder / f"voter-{node_id}")
        for node_id, endpoint in endpoints.items()
    }
    for voter in voters.values():
        voter.folder.mkdir(parents=True)
        properties = {
            "node.id": str(voter.node_id),
            "process.roles": "controller",
            "controller.quorum.voters": ",".join(f"{node_id}@{endpoint}" for node_id, endpoint in endpoints.items()),
            "listeners": f"CONTROLLER://{voter.endpoint}",
            "controller.listener.names": "CONTROLLER",
            "listener.security.protocol.map": "CONTROLLER:PLAINTEXT",
            "log.dirs": str(voter.log_dir),
        }
        write_properties(voter.config, properties | dict(settings))
    return voters


def write_properties(path: Path, properties: Mapping[str, str]) -> None:
    """Write a file of properties; neither keys nor values may need escapes."""
    path.write_text("".join(f"{key}={value}\n" for key, value in properties.items()))
