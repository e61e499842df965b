"""A quorum of three processes."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from raft.client import Client
from tests.node.harness.processes import NodeProcess, client_of
from tests.node.harness.properties import voters_properties


class Trio:
    """Three nodes, which run unless a test has ended them."""

    def __init__(self, nodes: list[NodeProcess]) -> None:
        self.nodes = nodes

    def restore(self) -> None:
        """Start what does not run."""
        stopped = [node for node in self.nodes if not node.is_running]
        for node in stopped:
            node.start()
        for node in stopped:
            node.wait_until_serving()

    def client(self) -> Client:
        """A client that outlasts any failure of one node."""
        return client_of(*self.nodes, api_timeout_ms=60_000)

    def leader(self) -> NodeProcess:
        """The node that leads."""
        with self.client() as client:
            return self.nodes[client.describe_quorum().leader_id - 1]

    def follower(self) -> NodeProcess:
        """A node that does not lead."""
        leader = self.leader()
        return next(node for node in self.nodes if node is not leader)


@contextmanager
def running_trio(directory: Path) -> Iterator[Trio]:
    """Three nodes, running."""
    with ExitStack() as stack:
        nodes = [
            stack.enter_context(NodeProcess(properties, directory / f"process-{node_id}").start())
            for node_id, properties in voters_properties(directory).items()
        ]
        for node in nodes:
            node.wait_until_serving()
        yield Trio(nodes)
