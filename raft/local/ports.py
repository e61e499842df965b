"""Ports on loopback for the voters of a local quorum."""

from __future__ import annotations

import secrets
import socket
from contextlib import closing

_LOOPBACK = "127.0.0.1"
_PORTS = range(20_000, 32_768)
"""Below the range from which Linux, macOS and Windows take the ports of outgoing connections: none of those takes a
voter's port while the voter is down."""
_ATTEMPTS = 10_000


def free_ports(count: int, *, in_a_row: int = 1) -> list[int]:
    """Return different ports that nobody listens on now.

    Args:
        count: how many.
        in_a_row: the ports that follow each are free, too, until there are so many.

    Raises:
        OSError: there are not so many.
    """
    found: list[int] = []
    taken: set[int] = set()
    for _ in range(_ATTEMPTS):
        if len(found) == count:
            return found
        # Not the first free ones: another process may look for ports at the same time.
        first = _PORTS[secrets.randbelow(len(_PORTS) - in_a_row)]
        row = range(first, first + in_a_row)
        if taken.isdisjoint(row) and all(is_free(port) for port in row):
            found.append(first)
            taken.update(row)
    raise OSError(f"no {count} free ports on {_LOOPBACK} from {_PORTS.start} to {_PORTS.stop - 1}")


def is_free(port: int) -> bool:
    """Whether a node can listen on the port."""
    with closing(socket.socket()) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((_LOOPBACK, port))
        except OSError:
            return False
        return True
