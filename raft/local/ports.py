"""Ports for the voters of a local quorum."""

from __future__ import annotations

import errno
import secrets
import socket
from collections import deque
from collections.abc import Collection
from contextlib import closing

from raft.errors import ConfigError

_LOOPBACK = "127.0.0.1"
_PORTS = range(20_000, 32_768)
"""Below the range of ports that Linux, macOS and Windows use for outgoing connections by default. So no connection
takes the port of a voter while the voter is down."""
_ATTEMPTS = 10_000

_given: deque[int] = deque(maxlen=200)
"""Ports that were returned last: those who asked for them may not listen yet."""


def free_ports(count: int, *, in_a_row: int = 1, hosts: Collection[str] = (_LOOPBACK,)) -> list[int]:
    """Return different ports that no process listens on, and that this process has not asked for just before.

    Args:
        count: number of ports.
        in_a_row: number of consecutive free ports from each returned port on, with the port itself.
        hosts: the addresses of this machine on which the ports must be free.

    Raises:
        ConfigError: fewer ports are free.
    """
    found: list[int] = []
    taken = set(_given)
    for _ in range(_ATTEMPTS):
        if len(found) == count:
            _given.extend(port for first in found for port in range(first, first + in_a_row))
            return found
        # The ports are random, because another process may choose ports at the same time.
        first = _PORTS[secrets.randbelow(len(_PORTS) - in_a_row + 1)]
        row = range(first, first + in_a_row)
        if taken.isdisjoint(row) and all(is_free(port, host=host) for port in row for host in hosts):
            found.append(first)
            taken.update(row)
    named = " and ".join(sorted(hosts))
    raise ConfigError(f"fewer than {count} free ports on {named} from {_PORTS[0]} to {_PORTS[-1]}; set base_port")


def is_free(port: int, *, host: str = _LOOPBACK) -> bool:
    """Whether a node can listen on the port.

    Args:
        port: the port.
        host: a name or address of this machine.

    Raises:
        ConfigError: the host is not one of this machine.
    """
    try:
        family, _, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
    except OSError as error:
        raise ConfigError(f"cannot listen on {host}: {error.strerror}; expected an address of this machine") from error
    with closing(socket.socket(family)) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(address)
        except OSError as error:
            if error.errno == errno.EADDRNOTAVAIL:
                raise ConfigError(f"cannot listen on {host}: expected an address of this machine") from error
            return False
        return True
