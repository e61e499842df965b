"""Seats of a quorum: a file of properties each, which starts `kraft serve` and Kafka's TestRaftServer alike."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from pathlib import Path

from raft.local.ports import free_ports
from raft.types import Endpoint, NodeId
from tests.java.processes import Server
from tests.node.harness.processes import KRAFT
from tests.node.harness.properties import write_properties

RAFT_SERVER_TOPIC = {
    "raft.topic.name": "__raft_performance_test",
    "raft.topic.id": "AAAAAAAAAAAAAAAAAAAAAg",
    "raft.records.strict": "true",
}
"""Settings with which a node of ours keeps the log that TestRaftServer keeps."""

Front = Callable[[NodeId, Endpoint], Endpoint]
"""Chooses where others reach a node that listens there."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Seat:
    """The place of one node, whoever takes it.

    Fields:
        endpoint: where it listens.
        advertised: where others reach it.
        folder: holds all that is its own: properties, log directory, and what it says.
    """

    node_id: NodeId
    endpoint: Endpoint
    advertised: Endpoint
    folder: Path

    @property
    def config(self) -> Path:
        """Its file of properties."""
        return self.folder / "node.properties"

    @property
    def log_dir(self) -> Path:
        """Its log directory."""
        return self.folder / "log"

    @property
    def quorum_state(self) -> Path:
        """What it remembers of elections."""
        (path,) = self.log_dir.glob("*-0/quorum-state")
        return path

    def segments(self) -> list[Path]:
        """The files of its log, in order."""
        return sorted(self.log_dir.glob("*-0/*.log"))

    def kraft_server(self) -> Server:
        """Return a node of ours for this place, not started yet."""
        command = [*KRAFT, "serve", "--config", str(self.config)]
        return Server(f"node {self.node_id}", command, log_file=self.folder / "kraft.log")


def seat_voters(
    folder: Path, count: int, settings: Mapping[str, str], *, front: Front = lambda _, endpoint: endpoint
) -> dict[NodeId, Seat]:
    """Choose ports and write the files of the voters 1, 2, ... of a quorum on loopback.

    Args:
        folder: gets a folder for each voter.
        count: how many.
        settings: further keys of their configuration; one that is set here already is overridden.
        front: where others reach them.
    """
    seats = _make_seats(folder, range(1, count + 1), front)
    voters = ",".join(f"{node_id}@{seat.advertised}" for node_id, seat in seats.items())
    for seat in seats.values():
        write_properties(seat.config, _place(seat) | {"controller.quorum.voters": voters} | dict(settings))
    return seats


def seat_observer(
    folder: Path,
    voters: Collection[Seat],
    settings: Mapping[str, str],
    *,
    front: Front = lambda _, endpoint: endpoint,
) -> Seat:
    """Choose a port and write the file of a node that is told of no voters, only where to ask for the leader.

    Args:
        folder: gets a folder for it.
        voters: whom it may ask; its id is the next one after theirs.
        settings: further keys of its configuration; one that is set here already is overridden.
        front: where others reach it.
    """
    (seat,) = _make_seats(folder, [max(voter.node_id for voter in voters) + 1], front).values()
    servers = ",".join(str(voter.advertised) for voter in voters)
    write_properties(seat.config, _place(seat) | {"controller.quorum.bootstrap.servers": servers} | dict(settings))
    return seat


def _make_seats(folder: Path, ids: Collection[int], front: Front) -> dict[NodeId, Seat]:
    seats = {}
    for node_id, port in zip(map(NodeId, ids), free_ports(len(ids)), strict=True):
        endpoint = Endpoint("127.0.0.1", port)
        seats[node_id] = Seat(
            node_id=node_id,
            endpoint=endpoint,
            advertised=front(node_id, endpoint),
            folder=folder / f"node-{node_id}",
        )
        seats[node_id].folder.mkdir(parents=True)
    return seats


def _place(seat: Seat) -> dict[str, str]:
    """Who a node is, where it listens, and where its log lies."""
    return {
        "node.id": str(seat.node_id),
        "process.roles": "controller",
        "listeners": f"CONTROLLER://{seat.endpoint}",
        "advertised.listeners": f"CONTROLLER://{seat.advertised}",
        "controller.listener.names": "CONTROLLER",
        "listener.security.protocol.map": "CONTROLLER:PLAINTEXT",
        "log.dirs": str(seat.log_dir),
    }
