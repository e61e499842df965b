"""Hosts for the processes of a cluster: network namespaces where this machine allows them, else loopback addresses.

All namespaces belong to processes that end with the test run, and nothing outside of them is changed.
"""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field

from tests.node.harness.waiting import eventually
from tests.processes.piped_process import PipedProcess

_SUBNET = "10.77.0"
_TOOLS = ("ip", "nsenter", "unshare")
_HOLD = ("unshare", "--net", "--", "sh", "-c", "echo ready; exec cat")
"""Prints a line in a new network namespace, and keeps the namespace until its input is closed or it is killed."""


@dataclass(frozen=True)
class Host:
    """Where processes run.

    Fields:
        address: what its processes listen on, and others connect to.
        enter: put before a command, it runs the command on this host.
    """

    address: str
    enter: tuple[str, ...] = field(default=())


@contextmanager
def hosts(count: int) -> Iterator[list[Host]]:
    """Make hosts that reach each other; processes on one do not reach what listens on the loopback of another, if the
    hosts are namespaces.
    """
    if not are_namespaces_allowed():
        yield [Host(f"127.0.0.{2 + at}") for at in range(count)]
        return
    with ExitStack() as stack:
        switch = stack.enter_context(_Namespace("switch"))
        switch.run("ip", "link", "add", "bridge", "type", "bridge")
        switch.run("ip", "link", "set", "bridge", "up")
        made: list[Host] = []
        for at in range(count):
            namespace = stack.enter_context(_Namespace(f"host {at}"))
            address = f"{_SUBNET}.{1 + at}"
            switch.run(
                *("ip", "link", "add", f"port{at}", "type", "veth"),
                *("peer", "name", "eth0", "netns", str(namespace.pid)),
            )
            switch.run("ip", "link", "set", f"port{at}", "master", "bridge", "up")
            namespace.run("ip", "address", "add", f"{address}/24", "dev", "eth0")
            namespace.run("ip", "link", "set", "eth0", "up")
            namespace.run("ip", "link", "set", "lo", "up")
            made.append(Host(address, namespace.enter))
        yield made


def are_namespaces_allowed() -> bool:
    """Whether this process may make network namespaces and connect them."""
    if not all(map(shutil.which, _TOOLS)):
        return False
    attempt = ("unshare", "--net", "--", "ip", "link", "add", "bridge", "type", "bridge")
    return subprocess.run(attempt, capture_output=True, check=False).returncode == 0


class _Namespace(PipedProcess):
    """A network namespace, kept by a process."""

    def __init__(self, name: str) -> None:
        super().__init__(f"namespace of {name}", _HOLD)
        eventually(lambda: self.line() == "ready", f"{self.name} is made")

    @property
    def enter(self) -> tuple[str, ...]:
        return ("nsenter", f"--net=/proc/{self.pid}/ns/net", "--")

    def run(self, *command: str) -> None:
        """Run a command in it that sets up the network."""
        subprocess.run([*self.enter, *command], check=True, capture_output=True)


def on(host: Host, command: Sequence[str]) -> list[str]:
    """Return the command that runs a command on a host."""
    return [*host.enter, *command]
