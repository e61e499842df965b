"""Ports on loopback for the voters of a local quorum."""

from __future__ import annotations

import secrets
import socket
from contextlib import closing

from raft.errors import ConfigError

_LOOPBACK = "127.0.0.1"
_PORTS = range(20_000, 32_768)
"""Below the range of ports that Linux, macOS and Windows use for outgoing connections by default. So no connection
takes the port of a voter while the voter is down."""
_ATTEMPTS = 10_000


def free_ports(count: int, *, in_a_row: int = 1) -> list[int]:
    """Return different ports that no process listens on.

    Args:
        count: number of ports.
        in_a_row: number of consecutive free ports from each returned port on, with the port itself.

    Raises:
        ConfigError: fewer ports are free.
    """
    found: list[int] = []
    taken: set[int] = set()
    for _ in range(_ATTEMPTS):
        if len(found) == count:
            return found
        # The ports are random, because another process may choose ports at the same time.
        first = _PORTS[secrets.randbelow(len(_PORTS) - in_a_row + 1)]
        row = range(first, first + in_a_row)
        if taken.isdisjoint(row) and all(is_free(port) for port in row):
            found.append(first)
            taken.update(row)
    raise ConfigError(f"fewer than {count} free ports on {_LOOPBACK} from {_PORTS[0]} to {_PORTS[-1]}; set base_port")


def is_free(port: int) -> bool:
    """Whether a node can listen on the port."""
    with closing(socket.socket()) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((_LOOPBACK, port))
        except OSError:
            return False
        return True
