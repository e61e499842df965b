"""The file `quorum.json` of a local quorum, in its data directory beside one folder for each voter.

{"version": 2, "clusterId": "...", "ports": {"1": 40001, "2": 40002}, "voterPorts": {"1": 40003, "2": 40004}}
"""

from __future__ import annotations

import json
import logging
import secrets
from dataclasses import dataclass, replace
from pathlib import Path

from raft.errors import ConfigError
from raft.local.listen_address import LOOPBACK, ListenAddress
from raft.local.ports import free_ports, is_free
from raft.storage.atomic_file import replace_file
from raft.storage.disk import DiskFiles
from raft.types import Endpoint, NodeId
from raft.uuids import UUID_BYTES, new_uuid

_logger = logging.getLogger(__name__)

NODE_PROPERTIES = "node.properties"
"""The properties file in the folder of a voter."""

LOG_FOLDER = "log"
"""The directory of the log there."""

_FILE = "quorum.json"
_VERSION = 2
_LAST_PORT = 65_535


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """The voters of a data directory.

    Fields:
        data_dir: the directory.
        cluster_id: created at the first start.
        ports: where each voter listens for clients.
        voter_ports: where each voter listens for the other voters, on loopback.
        listen: the address on which they listen for clients; it is not stored.
    """

    data_dir: Path
    cluster_id: str
    ports: dict[NodeId, int]
    voter_ports: dict[NodeId, int]
    listen: ListenAddress = LOOPBACK

    @classmethod
    def of(cls, data_dir: Path, *, voters: int, base_port: int | None, listen: ListenAddress = LOOPBACK) -> Layout:
        """Return the layout of a directory, or create one for a new directory.

        Stored ports that are in use are replaced, with a warning if they are those for clients.

        Args:
            data_dir: the directory, which exists.
            voters: number of voters.
            base_port: first of the consecutive ports, first those for clients, then those for voters; None chooses free
                ports.
            listen: the address on which they listen for clients.

        Raises:
            ConfigError: there are too few ports from `base_port` on, or one of them is in use; there are too few free
                ports; the directory has another number of voters, or is not that of a quorum.
            StorageError: the disk returned an error.
        """
        last_base_port = _LAST_PORT - 2 * voters + 1
        if base_port is not None and not 1 <= base_port <= last_base_port:
            raise ConfigError(f"base_port={base_port}: expected 1 to {last_base_port} for {voters} voters")
        known = _read(data_dir)
        if known is not None and len(known.ports) != voters:
            raise ConfigError(f"{data_dir} has a quorum of {len(known.ports)} voters, expected {voters}")
        if base_port is not None:
            drawn = list(range(base_port, base_port + 2 * voters))
            _check_free(drawn, voters, listen)
        elif known is not None:
            drawn = known._ports_now(listen)
        else:
            drawn = free_ports(2 * voters, hosts={LOOPBACK.bind, listen.bind})
        node_ids = [NodeId(at + 1) for at in range(voters)]
        cluster_id = known.cluster_id if known is not None else new_uuid(secrets.token_bytes(UUID_BYTES))
        layout = cls(
            data_dir=data_dir,
            cluster_id=cluster_id,
            ports=dict(zip(node_ids, drawn[:voters], strict=True)),
            voter_ports=dict(zip(node_ids, drawn[voters:], strict=True)),
        )
        if layout != known:
            layout._write()
        layout = replace(layout, listen=listen)
        if known is not None and known.ports != layout.ports and base_port is None:
            layout._warn_of_new_ports(known)
        return layout

    @property
    def endpoints(self) -> dict[NodeId, Endpoint]:
        """Where clients reach each voter."""
        return {node_id: Endpoint(self.listen.advertised, port) for node_id, port in self.ports.items()}

    @property
    def client_listeners(self) -> dict[NodeId, Endpoint]:
        """Where each voter listens for clients."""
        return {node_id: Endpoint(self.listen.bind, port) for node_id, port in self.ports.items()}

    @property
    def voter_endpoints(self) -> dict[NodeId, Endpoint]:
        """Where each voter listens for the other voters."""
        return {node_id: Endpoint(LOOPBACK.bind, port) for node_id, port in self.voter_ports.items()}

    @property
    def bootstrap_servers(self) -> str:
        """The addresses of all voters, for clients: host:port,..."""
        return ",".join(str(endpoint) for endpoint in self.endpoints.values())

    def folder(self, node_id: NodeId) -> Path:
        """Return the folder of a voter."""
        return self.data_dir / f"node-{node_id}"

    def log_dir(self, node_id: NodeId) -> Path:
        """Return the directory of a voter's log: Kafka's `log.dirs`."""
        return self.folder(node_id) / LOG_FOLDER

    def _ports_now(self, listen: ListenAddress) -> list[int]:
        """Return the ports of clients and of voters, each in use replaced by a free one."""
        stored = [*self.ports.values(), *self.voter_ports.values()]
        hosts = [listen.bind] * len(self.ports) + [LOOPBACK.bind] * len(self.voter_ports)
        in_use = {port for port, host in zip(stored, hosts, strict=True) if not is_free(port, host=host)}
        if not in_use:
            return stored
        drawn = free_ports(len(in_use) + len(stored), hosts={LOOPBACK.bind, listen.bind})
        others = (port for port in drawn if port not in stored)
        return [next(others) if port in in_use else port for port in stored]

    def _warn_of_new_ports(self, before: Layout) -> None:
        moved = [
            f"voter {node_id} listens on port {port} instead of {before.ports[node_id]}"
            for node_id, port in self.ports.items()
            if port != before.ports[node_id]
        ]
        _logger.warning(
            "%s, which another process uses; change bootstrap.servers of other applications to %s",
            ", ".join(moved),
            self.bootstrap_servers,
        )

    def _write(self) -> None:
        text = json.dumps(
            {
                "version": _VERSION,
                "clusterId": self.cluster_id,
                "ports": self.ports,
                "voterPorts": self.voter_ports,
            }
        )
        # The logs of the voters belong to this cluster, so its id must be on the disk before they are.
        replace_file(DiskFiles(self.data_dir), _FILE, f"{text}\n".encode())


def _check_free(ports: list[int], voters: int, listen: ListenAddress) -> None:
    for at, port in enumerate(ports):
        host = listen.bind if at < voters else LOOPBACK.bind
        if not is_free(port, host=host):
            raise ConfigError(
                f"base_port={ports[0]}: port {port} on {host} is in use by another process; expected {len(ports)} free "
                f"ports from {ports[0]} on"
            )


def _read(data_dir: Path) -> Layout | None:
    files = DiskFiles(data_dir)
    if not files.exists(_FILE):
        return None
    path = files.path_of(_FILE)
    content = files.read(_FILE)
    try:
        read = json.loads(content)
        if read["version"] != _VERSION:
            raise ConfigError(f"{path} has version {read['version']}, expected {_VERSION}")
        return Layout(
            data_dir=data_dir,
            cluster_id=read["clusterId"],
            ports={NodeId(int(node_id)): int(port) for node_id, port in read["ports"].items()},
            voter_ports={NodeId(int(node_id)): int(port) for node_id, port in read["voterPorts"].items()},
        )
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise ConfigError(f"{path} does not describe a quorum: {error!r}") from error
