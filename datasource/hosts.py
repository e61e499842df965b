"""The host of a process, and what to do if the quorum cannot be connected to from there.

If the driver has just had a response of the quorum, a task on the same host can connect too, unless there is an outage,
which ends by itself. On another host the cause may be another one, such as an address that leads to that host itself.
"""

from __future__ import annotations

import socket
from dataclasses import dataclass, replace
from pathlib import Path

from raft.client import ClientSettings
from raft.errors import QuorumUnreachableError

_LOOPBACK_CONNECT_TIMEOUT_MS = 1_000
_NETWORK = Path("/proc/self/ns/net")


@dataclass(frozen=True, slots=True, kw_only=True)
class Host:
    """The host of a process.

    Fields:
        name: its name.
        network: the network namespace of the process, as containers have; empty where that is unknown.
    """

    name: str
    network: str

    @classmethod
    def of_this_process(cls) -> Host:
        """Return the host of this process."""
        try:
            network = str(_NETWORK.readlink())
        except OSError:
            network = ""  # Another system than Linux.
        return cls(name=socket.gethostname(), network=network)

    @property
    def is_here(self) -> bool:
        """Whether this process runs on it."""
        return self == Host.of_this_process()


def for_task(settings: ClientSettings, planned_on: Host) -> ClientSettings:
    """Return the settings for a task of a plan that was made with the quorum.

    Args:
        settings: of the user.
        planned_on: the host from which the quorum was reached.
    """
    if planned_on.is_here:
        return of_reached(settings)
    limit_ms = settings.connect_timeout_ms
    if limit_ms is not None and all(is_loopback(server.host) for server in settings.bootstrap_servers):
        # These addresses lead to the host of the task, where the nodes do not run.
        return replace(settings, connect_timeout_ms=min(limit_ms, _LOOPBACK_CONNECT_TIMEOUT_MS))
    return settings


def of_reached(settings: ClientSettings) -> ClientSettings:
    """Return the settings for a process on a host from which the quorum was reached before.

    Its calls wait through an outage, even if this process has never had a response.
    """
    return replace(settings, connect_timeout_ms=None)


def with_remedy(error: QuorumUnreachableError) -> QuorumUnreachableError:
    """Return the error with the host of this process, and what to do."""
    remedy = (
        "Check that the nodes run, that kraft.bootstrap.servers has their addresses, and that no firewall is between"
    )
    own = sorted({host for host in error.hosts if is_loopback(host)})
    if own:
        remedy += (
            f". {', '.join(own)} leads to this host itself: if the nodes run on another one, start the quorum with "
            'QuorumService.start(listen="driver"), or set advertised.listeners of the nodes to '
            "addresses that all hosts of Spark can connect to"
        )
    message = f"{error} (from host {socket.gethostname()}). {remedy}"
    return QuorumUnreachableError(message, hosts=error.hosts)


def is_loopback(host: str) -> bool:
    """Whether a name or an address leads to the host that connects to it."""
    return host.startswith("127.") or host.lower() in ("localhost", "::1")
