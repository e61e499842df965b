"""Our side: the command `kraft`, and a quorum of nodes that stay dead when they are killed."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from raft.client import Client, ClientSettings
from raft.local import LocalQuorum
from raft.types import NodeId, Offset
from tests.java.processes import Finished, run_to_end
from tests.java.seats import seat_voters
from tests.node.harness.processes import KRAFT

TOPIC = "__cluster_metadata"

_CLUSTER_ID = "a3JhZnQtc3Bhcmstc3BlYw"


def kraft(*arguments: str, stdin: str = "") -> Finished:
    """Run `kraft` to its end."""
    return run_to_end("kraft", [*KRAFT, *arguments], stdin=stdin)


def kraft_json(*arguments: str) -> list[Any]:
    """Run `kraft ... --json`; return what it prints, a value a line."""
    return [json.loads(line) for line in kraft(*arguments, "--json").output().splitlines()]


class KraftNodes:
    """Voters, each a process of `kraft serve`; who is killed stays dead until started again.

    Args:
        folder: holds all of them.
        count: how many.
        settings: further keys of their configuration.
    """

    def __init__(self, folder: Path, count: int = 3, settings: Mapping[str, str] | None = None) -> None:
        self.voters = seat_voters(folder, count, {"cluster.id": _CLUSTER_ID} | dict(settings or {}))
        self.servers = {node_id: voter.kraft_server() for node_id, voter in self.voters.items()}

    def __enter__(self) -> Self:
        try:
            for server in self.servers.values():
                server.start()
        except BaseException:
            self.stop()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    @property
    def bootstrap_servers(self) -> str:
        """All voters, as clients take them."""
        return ",".join(str(voter.endpoint) for voter in self.voters.values())

    @property
    def running(self) -> list[NodeId]:
        """The voters that run now."""
        return [node_id for node_id, server in self.servers.items() if server.pid is not None]

    def client(self) -> Client:
        """A client of this quorum."""
        servers = tuple(voter.endpoint for voter in self.voters.values())
        return Client(ClientSettings(bootstrap_servers=servers, api_timeout_ms=20_000))

    def leader_id(self) -> NodeId:
        """Wait for a leader."""
        with self.client() as client:
            return client.describe_quorum().leader_id

    def stop(self) -> None:
        """Stop all nodes that run."""
        for server in self.servers.values():
            server.ask_to_stop()
        for server in self.servers.values():
            # When all leave, the last leader would look for a successor longer than a test should wait.
            server.stop(patience_s=1)


def end_offset(quorum: LocalQuorum | KraftNodes) -> Offset:
    """Where the next record will be, when nobody writes."""
    with quorum.client() as client:
        return client.high_watermark()
