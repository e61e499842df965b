"""Three voters of this project's, from any checkout; a voter that is killed stays dead until it is started again."""

from __future__ import annotations

from pathlib import Path
from types import TracebackType
from typing import Self

from benchmarks.checkout import Checkout
from benchmarks.side.appends import client_of
from raft.client import Client
from raft.types import Endpoint, NodeId
from tests.java.processes import Server
from tests.java.seats import seat_voters
from tests.node.harness.settling import settled

TOPIC = "__cluster_metadata"

_CLUSTER_ID = "a3JhZnQtc3Bhcmstc3BlYw"
_VOTERS = 3
_SETTLED_S = 60


class Quorum:
    """The voters, with the default configuration.

    Args:
        checkout: whose code they run.
        folder: holds their logs; must not be there yet.
    """

    def __init__(self, checkout: Checkout, folder: Path) -> None:
        self._seats = seat_voters(folder, _VOTERS, {"cluster.id": _CLUSTER_ID})
        self._servers = {
            node_id: Server(
                f"voter {node_id}",
                [str(checkout.python), "-P", "-m", "raft.cli", "serve", "--config", str(seat.config)],
                log_file=seat.folder / "node.log",
            )
            for node_id, seat in self._seats.items()
        }

    def __enter__(self) -> Self:
        try:
            for server in self._servers.values():
                server.start()
            self.settle()
        except BaseException:
            self.stop()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    @property
    def servers(self) -> str:
        """All voters, as clients take them: host:port,..."""
        return ",".join(str(seat.endpoint) for seat in self._seats.values())

    def client(self) -> Client:
        """Return a client of it."""
        return client_of(self.servers)

    def leader_process(self) -> Server:
        """Return the voter that leads."""
        return self._servers[self._leader_id()]

    def leader_endpoint(self) -> Endpoint:
        """Return where the voter that leads listens."""
        return self._seats[self._leader_id()].endpoint

    def settle(self) -> None:
        """Start what does not run, let go on what stands still, and wait until all voters hold the whole log.

        Raises:
            AssertionError: they do not.
        """
        for server in self._servers.values():
            if server.pid is None:
                server.start()
            server.resume()
        with self.client() as client:
            settled(client, list(self._seats), within_s=_SETTLED_S)

    def stop(self) -> None:
        """End all voters at once."""
        for server in self._servers.values():
            server.kill()

    def _leader_id(self) -> NodeId:
        with self.client() as client:
            return client.describe_quorum().leader_id
