"""A quorum whose nodes are child processes; a node that ends is not restarted."""

from __future__ import annotations

import signal
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

from raft.client import Client, ClientSettings
from raft.client.results import QuorumDescription
from raft.types import Endpoint
from tests.node.harness.properties import Properties
from tests.node.harness.settling import settled
from tests.processes.child_process import kill_at_once
from tests.processes.commands import KRAFT
from tests.processes.node_process import NodeProcess

_SETTLED_S = 30.0


class NodeQuorum:
    """The voters of one quorum; the end of the block kills those that run.

        with NodeQuorum(folder, voters_properties(folder)).start() as quorum:
            quorum.leader().kill()

    Args:
        folder: gets a folder for the configuration and the output of each node.
        configurations: the properties of each node, by node id.
        command: starts a node; see `NodeProcess`.

    Attributes:
        nodes: the processes by node id.
    """

    def __init__(
        self,
        folder: Path,
        configurations: Mapping[int, Properties],
        *,
        command: Sequence[str] = (*KRAFT, "serve"),
    ) -> None:
        self.nodes = {
            node_id: NodeProcess(properties, folder / f"process-{node_id}", command=command)
            for node_id, properties in configurations.items()
        }

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.kill()

    @property
    def endpoints(self) -> tuple[Endpoint, ...]:
        """Where clients reach the nodes."""
        return tuple(node.client_endpoint for node in self.nodes.values())

    @property
    def bootstrap_servers(self) -> str:
        """The endpoints as the option of a client: host:port,..."""
        return ",".join(map(str, self.endpoints))

    @property
    def running(self) -> list[int]:
        """The ids of the nodes that run."""
        return [node_id for node_id, node in self.nodes.items() if node.is_running]

    def settings(self, *, api_timeout_ms: int = 60_000, request_timeout_ms: int = 2_000) -> ClientSettings:
        """Return settings of a client of all nodes; by default its calls outlast a failure of one node."""
        return ClientSettings(
            bootstrap_servers=self.endpoints, api_timeout_ms=api_timeout_ms, request_timeout_ms=request_timeout_ms
        )

    def client(self) -> Client:
        """Return a client with the default settings."""
        return Client(self.settings())

    def start(self, *node_ids: int) -> Self:
        """Start nodes, or those that do not run if none is named, and wait until they serve."""
        starting = [self.nodes[node_id] for node_id in node_ids or set(self.nodes) - set(self.running)]
        try:
            for node in starting:
                node.start()
            for node in starting:
                node.wait_until_serving()
        except BaseException:
            self.kill()
            raise
        return self

    def kill(self) -> None:
        """Kill all nodes that run, at once."""
        kill_at_once(self.nodes[node_id] for node_id in self.running)

    def stop(self, *, within_s: float = 1) -> None:
        """Send SIGTERM to all nodes that run, and kill those that have not ended in time."""
        running = [self.nodes[node_id] for node_id in self.running]
        for node in running:
            node.signal(signal.SIGTERM)
        for node in running:
            # The last leader waits for a successor that cannot be elected, for longer than a test should take.
            node.stop(within_s=within_s)

    def leader_id(self) -> int:
        """Wait for a leader; return its id.

        Raises:
            QuorumUnavailableError: there is none in time.
        """
        with self.client() as client:
            return client.describe_quorum().leader_id

    def leader(self) -> NodeProcess:
        """Return the leader; see `leader_id`."""
        return self.nodes[self.leader_id()]

    def follower(self) -> NodeProcess:
        """Return a node that does not lead; see `leader_id`."""
        return self.nodes[self.followers_of(self.leader_id())[0]]

    def followers_of(self, leader_id: int) -> list[int]:
        """Return the ids of all nodes but the leader."""
        return [node_id for node_id in self.nodes if node_id != leader_id]

    def settle(self, *, within_s: float = _SETTLED_S) -> QuorumDescription:
        """Wait until all nodes that run have the whole log and all of it is committed; no client may append meanwhile.

        Raises:
            AssertionError: they do not in time.
        """
        with self.client() as client:
            return settled(client, self.running, within_s=within_s)

    def unexpected_ends(self) -> Iterator[str]:
        """Say which nodes do not run."""
        for node_id, node in self.nodes.items():
            if not node.is_running:
                yield f"node {node_id} ended with {node.wait()}: {node.output.splitlines()[-1:]}"

    def reported_errors(self) -> Iterator[str]:
        """Say which errors the nodes have reported."""
        for node_id, node in self.nodes.items():
            for line in node.error_lines:
                yield f"node {node_id} reports: {line}"
