"""Three members of etcd, with the default configuration: each flushes its log before it acknowledges."""

from __future__ import annotations

import json
import shutil
import subprocess
import urllib.request
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from benchmarks.servers.missing import require_programs
from raft.local.ports import free_ports
from tests.node.harness.properties import HOST
from tests.node.harness.waiting import eventually
from tests.processes.server import Server

_MEMBERS = 3
_READY_S = 60


class Etcd:
    """The members; one that is killed is not restarted before `recover`. The end of the block kills all.

    Args:
        folder: gets their data; must not exist yet.

    Raises:
        MissingPeerError: etcd is not installed.
    """

    def __init__(self, folder: Path) -> None:
        require_programs("etcd", needed_for="etcd", advice="run `sudo apt-get install etcd-server` and try again")
        folder.mkdir(parents=True)
        ports = free_ports(2 * _MEMBERS)
        self._ports, peer_ports = ports[:_MEMBERS], ports[_MEMBERS:]
        program = shutil.which("etcd")
        assert program is not None, "the program was found before"
        names = [f"member-{number}" for number in range(1, _MEMBERS + 1)]
        peers = [f"http://{HOST}:{port}" for port in peer_ports]
        cluster = ",".join(f"{name}={peer}" for name, peer in zip(names, peers, strict=True))
        self._servers = []
        for name, port, peer in zip(names, self._ports, peers, strict=True):
            arguments = {
                "--name": name,
                "--data-dir": str(folder / name),
                "--listen-client-urls": f"http://{HOST}:{port}",
                "--advertise-client-urls": f"http://{HOST}:{port}",
                "--listen-peer-urls": peer,
                "--initial-advertise-peer-urls": peer,
                "--initial-cluster": cluster,
                "--initial-cluster-state": "new",
            }
            words = [word for pair in arguments.items() for word in pair]
            # A variable ETCD_... of the user would change this configuration, or conflict with it.
            command = ["env", "--ignore-environment", program, *words]
            self._servers.append(Server(name, command, log_file=folder / f"{name}.log"))

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for server in self._servers:
            server.kill()

    @property
    def endpoints(self) -> str:
        """The members as the option of a client: host:port,..."""
        return ",".join(f"{HOST}:{port}" for port in self._ports)

    def leader(self) -> Server:
        """Return the member that leads."""
        return eventually(self._leader, "etcd has a leader", within_s=_READY_S)

    def recover(self) -> Self:
        """Start the members that do not run, and wait until all have applied the whole log.

        Raises:
            AssertionError: they have not.
        """
        try:
            for server in self._servers:
                if not server.is_running:
                    server.start()
            eventually(self._is_settled, "all members of etcd have the whole log", within_s=_READY_S)
        except BaseException:
            self.__exit__(None, None, None)
            raise
        return self

    def _leader(self) -> Server | None:
        for server, port in zip(self._servers, self._ports, strict=True):
            status = _status(port)
            if status is not None and status.get("leader") == status["header"]["member_id"]:
                return server
        return None

    def _is_settled(self) -> bool:
        statuses = [_status(port) for port in self._ports]
        found = {(status["leader"], status["raftAppliedIndex"]) for status in statuses if status and "leader" in status}
        return None not in statuses and len(found) == 1


def etcd_version() -> str:
    """Return the version of the installed etcd.

    Raises:
        FileNotFoundError: none is installed.
    """
    said = subprocess.run(["etcd", "--version"], capture_output=True, text=True, check=True)
    return said.stdout.splitlines()[0].removeprefix("etcd Version: ")


def _status(port: int) -> dict[str, Any] | None:
    """Return the status of a member; None if it sends no response."""
    request = urllib.request.Request(f"http://{HOST}:{port}/v3/maintenance/status", data=b"{}")
    try:
        with urllib.request.urlopen(request, timeout=1) as response:
            status: dict[str, Any] = json.load(response)
            return status
    except (OSError, ValueError):
        return None
