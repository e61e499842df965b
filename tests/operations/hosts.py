"""The three hosts of docs/operations.md and docs/security.md.

Folders of this machine stand for their files, ports for their names.

`systemctl` starts and stops the process that conf/kraft.service names. All other commands are run by bash.
"""

from __future__ import annotations

import re
import shlex
import sys
from collections.abc import Mapping
from configparser import ConfigParser
from pathlib import Path

from raft.local.ports import free_ports
from tests.node.harness.properties import HOST, SHORT_TIMEOUTS
from tests.processes.commands import child_environment
from tests.processes.finished import Finished, run_to_end
from tests.processes.server import Server

NAMES = ("node1", "node2", "node3")
KRAFT = "/opt/kraft/bin/kraft"
CONFIGURATION = "/etc/kraft/node.properties"
_UNIT = "/etc/systemd/system/kraft.service"
_SHARED = "/var/backups"
_PORTS = (9093, 9193, 9404)


class Host:
    """One host.

    Args:
        name: as in the document.
        folder: has the files of this host.
        shared: has those that the hosts copy to each other, and the command `kraft`.
        endpoints: what stands for the names and ports of all hosts.

    Attributes:
        variables: of the shell.
    """

    def __init__(self, name: str, folder: Path, shared: Path, endpoints: Mapping[str, str]) -> None:
        self.name = name
        self.folder = folder
        self.variables: dict[str, str] = {}
        self.service: Server | None = None
        self._shared = shared
        self._endpoints = endpoints
        for path in ("/etc/kraft", "/etc/systemd/system", "/var/lib/kraft"):
            self.path(path).mkdir(parents=True)

    def path(self, path: str) -> Path:
        """Return where a path of the host is."""
        return Path(self.here(path))

    def here(self, text: str) -> str:
        """Return a text of the document with the paths and endpoints of this machine."""
        for there, here in self._endpoints.items():
            text = text.replace(there, here)
        text = text.replace(_SHARED, str(self._shared)).replace(KRAFT, str(self._shared / "bin" / "kraft"))
        return re.sub(r"(?<![\w/.])(?=/(?:etc|var/lib)/)", str(self.folder), text)

    def configure(self, properties: str) -> None:
        """Append properties to the configuration; those of `node1` become those of this host."""
        number = self.name.removeprefix("node")
        own = re.sub(r"(?m)^node\.id=1$", f"node.id={number}", properties)
        own = re.sub(
            r"(?m)^(?:metrics\.)?listeners=.*$", lambda line: line[0].replace("//node1:", f"//{self.name}:"), own
        )
        with self.path(CONFIGURATION).open("a") as file:
            file.write(self.here(own))

    def run(self, command: str) -> Finished:
        """Run one command."""
        words = command.split()
        if words[0] == "systemctl":
            return self._systemctl(words[1:])
        if words[0] == "chown":
            # All users of a host are the one of this machine.
            return Finished(name=command, exit_code=0, output="", errors="")
        environment = child_environment(
            PATH=f"{self._shared / 'bin'}:{child_environment()['PATH']}", COLUMNS="200", **self.variables
        )
        # A host uses its own name where the document has that of another one.
        own = re.sub(r"(http://|CN=|DNS:)node\d\b", rf"\g<1>{self.name}", command)
        return run_to_end(f"{self.name}: {command}", ["bash", "-c", self.here(own)], environment=environment)

    def restart(self) -> None:
        """Restart the node, and wait until it serves."""
        self.run("systemctl restart kraft").require_success()
        assert self.service is not None
        self.service.wait_until_printed(" listens on ")

    def _systemctl(self, words: list[str]) -> Finished:
        match words:
            case ["daemon-reload"]:
                pass
            case ["enable", "--now", "kraft"] | ["start", "kraft"]:
                self._start()
            case ["stop", "kraft"]:
                self._stop()
            case ["restart", "kraft"]:
                self._stop()
                self._start()
            case _:
                raise AssertionError(f"systemctl {words}")
        return Finished(name="systemctl", exit_code=0, output="", errors="")

    def _start(self) -> None:
        unit = ConfigParser(interpolation=None, strict=False)
        unit.optionxform = str  # type: ignore[assignment,method-assign]  # names of systemd have capitals
        unit.read_string(self.path(_UNIT).read_text())
        command = shlex.split(self.here(unit["Service"]["ExecStart"]))
        self.service = Server(f"kraft on {self.name}", command, log_file=self.folder / "journal").start()

    def _stop(self) -> None:
        if self.service is not None and self.service.is_running:
            assert self.service.terminate() == 0, self.service.last_output


class Hosts:
    """All hosts; the end of the block kills their nodes.

    Args:
        folder: gets a folder for each of them.

    Attributes:
        by_name: the hosts.
        servers: where their nodes listen, as an option of a client.
        client_servers: where they listen for clients only, by host.
    """

    def __init__(self, folder: Path) -> None:
        pairs = [(name, port) for name in NAMES for port in _PORTS]
        ports = free_ports(len(pairs))
        endpoints = {f"{name}:{port}": f"{HOST}:{free}" for (name, port), free in zip(pairs, ports, strict=True)}
        # Certificates are for the addresses by which nodes and clients connect here.
        endpoints |= {f"DNS:{name}": f"IP:{HOST}" for name in NAMES}
        shared = folder / "shared"
        (shared / "bin").mkdir(parents=True)
        kraft = shared / "bin" / "kraft"
        kraft.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -m raft.cli "$@"\n')
        kraft.chmod(0o755)
        self.servers = ",".join(endpoints[f"{name}:9093"] for name in NAMES)
        self.client_servers = {name: endpoints[f"{name}:9193"] for name in NAMES}
        self.by_name = {name: Host(name, folder / name, shared, endpoints) for name in NAMES}

    def __enter__(self) -> Hosts:
        return self

    def __exit__(self, *_: object) -> None:
        for host in self.by_name.values():
            if host.service is not None:
                host.service.kill()

    def configure(self, properties: str) -> None:
        """Append properties to the configuration of each host."""
        for host in self.by_name.values():
            host.configure(properties)

    def make_impatient(self) -> None:
        """Give the nodes timeouts that fit a test."""
        self.configure("".join(f"{key}={value}\n" for key, value in SHORT_TIMEOUTS.items()))

    def restart(self) -> None:
        """Restart all nodes, one after the other."""
        for host in self.by_name.values():
            host.restart()
