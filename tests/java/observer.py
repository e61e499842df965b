"""Our node as an observer of somebody else's quorum."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from raft.local.ports import free_ports
from raft.records.split import split_batches
from raft.types import Batch, Endpoint, Offset
from tests.java.cluster import CLUSTER_ID, CONTROLLER_ID
from tests.java.processes import Server
from tests.node.harness.processes import KRAFT
from tests.node.harness.properties import write_properties
from tests.node.harness.waiting import eventually

OBSERVER_ID = 99


class Observer:
    """A process of `kraft serve`, and what it keeps.

    Args:
        server: the process.
        endpoint: where it listens.
        partition: the folder of its log.
    """

    def __init__(self, server: Server, endpoint: Endpoint, partition: Path) -> None:
        self.server = server
        self.endpoint = endpoint
        self._partition = partition

    @property
    def segment(self) -> Path:
        """Its one segment."""
        (segment,) = self._partition.glob("*.log")
        return segment

    def snapshots(self) -> list[Path]:
        """The snapshots that it keeps."""
        return sorted(self._partition.glob("*.checkpoint"))

    def batches(self) -> list[Batch]:
        """What is in its log."""
        return split_batches(self.segment.read_bytes())

    def wait_for_end(self, end_offset: Offset) -> None:
        """Wait until its log reaches so far."""

        def look() -> bool:
            assert self.server.pid is not None, self.server.log
            names = [path.name for path in self._partition.glob("*.log")] if self._partition.exists() else []
            # Between two logs, while a snapshot is put in the place of the first, there is none.
            batches = self.batches() if len(names) == 1 else []
            reached = batches[-1].header.end_offset if batches else int(names[0][:20]) if names else 0
            return reached >= end_offset

        eventually(look, f"the observer's log reaches {end_offset}", within_s=30)


@contextmanager
def kraft_observer(folder: Path, controller: Endpoint, *, votes: bool = False) -> Iterator[Observer]:
    """Run a node that follows a controller; its directory in `folder` is used again the next time.

    Args:
        folder: where it lives.
        controller: whom to ask for the leader.
        votes: set it up as a voter, which it must not be.
    """
    (port,) = free_ports(1)
    voters = f"{OBSERVER_ID}@127.0.0.1:{port},{CONTROLLER_ID}@{controller}"
    properties = {
        "node.id": str(OBSERVER_ID),
        "process.roles": "controller",
        "listeners": f"CONTROLLER://127.0.0.1:{port}",
        "controller.listener.names": "CONTROLLER",
        "controller.quorum.bootstrap.servers": str(controller),
        "log.dirs": str(folder / "observer"),
        "cluster.id": CLUSTER_ID,
    } | ({"controller.quorum.voters": voters} if votes else {})
    config = write_properties(folder / "observer.properties", properties)
    command = [*KRAFT, "serve", "--config", str(config)]
    with Server("observer", command, log_file=folder / "observer.log") as server:
        yield Observer(server, Endpoint("127.0.0.1", port), folder / "observer" / "__cluster_metadata-0")
