"""Five voters of a quorum, with the default times of `kraft serve`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from raft.client import Client, ClientSettings
from raft.errors import RaftError
from raft.records.batch import build_batch
from raft.records.record import Record
from tests.disk_faults.system import Append, Node, NotAcknowledgedError, System, UnreadableError
from tests.disk_faults.volume import Volume
from tests.node.harness.properties import quorum_properties
from tests.processes.commands import KRAFT
from tests.processes.node_process import NodeProcess
from tests.workload.committed import read_all

_APPEND_MS = 5_000
_READ_MS = 60_000

SETTINGS: Mapping[str, str] = {
    # Snapshots come every few seconds under load.
    "cleanup.policy": "compact",
    "metadata.log.max.record.bytes.between.snapshots": "100000",
    "min.cleanable.dirty.ratio": "0.1",
}


@dataclass(frozen=True, slots=True)
class _Voter:
    process: NodeProcess
    volume: Volume

    def data_files(self) -> list[Path]:
        return self.process.segments()

    def snapshot_files(self) -> list[Path]:
        return sorted(self.process.log_dir.glob("*-0/*.checkpoint"))


class KraftSystem(System):
    """See `System`.

    Args:
        folder: exists; gets the configurations and the output of the nodes.
        volumes: one for each node.
        command: starts a node; its configuration follows.
    """

    name = "kraft"

    def __init__(self, folder: Path, volumes: Sequence[Volume], command: Sequence[str] = (*KRAFT, "serve")) -> None:
        configurations = quorum_properties(folder, len(volumes), SETTINGS)
        self._voters = [
            _Voter(
                NodeProcess(
                    properties | {"log.dirs": str(volume.root / "log")}, folder / f"node-{node_id}", command=command
                ),
                volume,
            )
            for (node_id, properties), volume in zip(configurations.items(), volumes, strict=True)
        ]

    @property
    def nodes(self) -> Sequence[Node]:
        return self._voters

    def start(self, node: Node) -> None:
        node.process.start()

    def create(self) -> None:
        self.leader()

    def leader(self) -> Node:
        with self._client(_READ_MS) as client:
            return self._voters[client.describe_quorum().leader_id - 1]

    @contextmanager
    def writer(self) -> Iterator[Append]:
        with self._client(_APPEND_MS) as client:

            def append(value: bytes) -> None:
                try:
                    client.append(build_batch([Record(key=value, value=value, timestamp_ms=0)]))
                except RaftError as error:
                    raise NotAcknowledgedError from error

            yield append

    def values(self) -> set[bytes]:
        try:
            with self._client(_READ_MS) as client:
                return {record.value for record in read_all(client) if record.value is not None}
        except RaftError as error:
            raise UnreadableError(str(error)) from error

    def _client(self, api_timeout_ms: int) -> Client:
        servers = tuple(voter.process.client_endpoint for voter in self._voters)
        return Client(
            ClientSettings(bootstrap_servers=servers, api_timeout_ms=api_timeout_ms, request_timeout_ms=2_000)
        )
