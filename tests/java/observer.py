"""A node of ours as an observer of a quorum of Kafka's."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from raft.local.ports import free_ports
from raft.records.batches import read_batches
from raft.types import Batch, Endpoint, Offset
from tests.java.cluster import CLUSTER_ID, CONTROLLER_ID
from tests.node.harness.properties import HOST, controller_properties
from tests.node.harness.waiting import eventually
from tests.processes.node_process import NodeProcess

OBSERVER_ID = 99


class Observer(NodeProcess):
    """The process of the observer, and its files; see `kraft_observer`."""

    def snapshots(self) -> list[Path]:
        """Return the snapshots in its log directory."""
        return sorted(self.partition.glob("*.checkpoint"))

    def batches(self) -> list[Batch]:
        """Return the batches in its log, which has one segment; none while a snapshot replaces the log."""
        segments = self.segments()
        assert len(segments) <= 1, segments
        return list(read_batches(segments[0].read_bytes())) if segments else []

    def wait_for_end(self, end_offset: Offset) -> None:
        """Wait until its log reaches an offset.

        Raises:
            AssertionError: the process ended, or the log does not in time.
        """

        def look() -> bool:
            assert self.is_running, self.last_output
            names = [path.name for path in self.log_dir.glob("*-0/*.log")]
            # There is no segment for a moment while a snapshot replaces the log.
            batches = self.batches() if len(names) == 1 else []
            reached = batches[-1].header.end_offset if batches else int(names[0][:20]) if names else 0
            return reached >= end_offset

        eventually(look, f"the observer's log reaches {end_offset}")


@contextmanager
def kraft_observer(folder: Path, controller: Endpoint, *, votes: bool = False) -> Iterator[Observer]:
    """Run an observer, and stop it at the end of the block.

    Args:
        folder: holds its files; the next observer in this folder finds the log of this one.
        controller: its bootstrap server.
        votes: whether it is configured as a voter, which it refuses to be.
    """
    (port,) = free_ports(1)
    settings = {"cluster.id": CLUSTER_ID, "controller.quorum.bootstrap.servers": str(controller)}
    if votes:
        settings["controller.quorum.voters"] = f"{OBSERVER_ID}@{HOST}:{port},{CONTROLLER_ID}@{controller}"
    properties = controller_properties(folder / "observer", node_id=OBSERVER_ID, port=port, settings=settings)
    with Observer(properties, folder / "process").start() as observer:
        yield observer
        observer.stop()
