"""Three voters of this project from any checkout, with the default configuration."""

from __future__ import annotations

from pathlib import Path
from typing import Self

from benchmarks.checkout import Checkout
from raft.types import Endpoint
from tests.node.harness.properties import Properties, quorum_properties
from tests.processes.node_quorum import NodeQuorum

_VOTERS = 3
_SETTLED_S = 60


class Quorum(NodeQuorum):
    """The voters; one that is killed is not restarted before `recover`.

    Args:
        checkout: the code that they run.
        folder: gets their logs; must not exist yet.
    """

    def __init__(self, checkout: Checkout, folder: Path) -> None:
        folder.mkdir(parents=True)
        command = (str(checkout.python), "-P", "-m", "raft.cli", "serve")
        super().__init__(folder, self._configurations(folder), command=command)

    @property
    def client_properties(self) -> dict[str, str]:
        """The properties by which a client is protected."""
        return {}

    @property
    def load_arguments(self) -> dict[str, str]:
        """The same for the load generator."""
        return {}

    @property
    def leader_endpoint(self) -> Endpoint:
        """Where the leader listens."""
        return self.leader().endpoint

    def recover(self) -> Self:
        """Start the nodes that do not run, resume those that are suspended, and wait until all hold the whole log.

        Raises:
            AssertionError: they do not.
        """
        for node_id in self.running:
            self.nodes[node_id].resume()
        self.start()
        self.settle(within_s=_SETTLED_S)
        return self

    def _configurations(self, folder: Path) -> dict[int, Properties]:
        return quorum_properties(folder, _VOTERS, {})
