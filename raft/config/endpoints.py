"""Parsers of addresses: servers, voters, listeners. Errors name the key, the value and what is expected."""

from __future__ import annotations

import re
from collections.abc import Mapping

from raft.config.values import refuse, words
from raft.types import Endpoint, NodeId

_LISTENER = re.compile(r"(?P<name>[A-Za-z0-9_.-]+)://(?P<host>\[[^\]]*\]|[^:/]*):(?P<port>\d+)")
_ADDRESS = re.compile(r"(?P<host>\[[^\]]+\]|[^:/@\s]+):(?P<port>\d+)")
_HOST = re.compile(r"(?!-)[A-Za-z0-9_-]{1,63}(\.[A-Za-z0-9_-]{1,63})*\.?")
_MAX_PORT = 65_535
_MAX_NODE_ID = (1 << 31) - 1
_NODE_ID = re.compile(r"[+-]?[0-9]{1,19}")
_EVERY_INTERFACE = frozenset(["", "0.0.0.0", "::"])  # noqa: S104 - values to recognise, nothing is bound here


def is_every_interface(host: str) -> bool:
    """Whether a host stands for all interfaces: a node can listen on it, but no client can connect to it."""
    return host in _EVERY_INTERFACE


def address(key: str, value: str) -> Endpoint:
    """Parse `host:port`; an IPv6 address is in brackets.

    Raises:
        ConfigError: it has another form, or the port is out of range.
    """
    match = _ADDRESS.fullmatch(value)
    if match is None or not 0 < int(match["port"]) <= _MAX_PORT:
        raise refuse(key, value, f"host:port with a port of 1 to {_MAX_PORT}")
    return Endpoint(_host(key, value, match["host"]), int(match["port"]))


def _host(key: str, value: str, host: str) -> str:
    """Return the host without the brackets of an IPv6 address.

    Raises:
        ConfigError: it is not the name or address of a host.
    """
    if host.startswith("[") or not host:
        return host.strip("[]")
    if not _HOST.fullmatch(host):
        raise refuse(key, value, f"the name or address of a host before the port, not {host}")
    return host


def addresses(key: str, value: str) -> tuple[Endpoint, ...]:
    """Parse `host:port,host:port,...`.

    Raises:
        ConfigError: a part is not an address.
    """
    return tuple(address(key, part) for part in words(value))


def voters(key: str, value: str) -> Mapping[NodeId, Endpoint]:
    """Parse `id@host:port,...`, each id and each address once.

    Raises:
        ConfigError: a part is not a voter, an id or an address is given twice, or other nodes cannot connect to one.
    """
    expected = "id@host:port,id@host:port,... with each id once"
    found: dict[NodeId, Endpoint] = {}
    for part in words(value):
        node_id, at, where = part.partition("@")
        if not at or not _NODE_ID.fullmatch(node_id) or not 0 <= int(node_id) <= _MAX_NODE_ID:
            raise refuse(key, value, expected)
        if NodeId(int(node_id)) in found:
            raise refuse(key, value, expected)
        voter = address(key, where)
        if is_every_interface(voter.host):
            raise refuse(key, value, f"addresses that other nodes can connect to, not {voter.host}")
        if any(_is_same_place(voter, other) for other in found.values()):
            raise refuse(key, value, f"each address once, because each voter is a process of its own; {voter} is twice")
        found[NodeId(int(node_id))] = voter
    return found


def _is_same_place(one: Endpoint, other: Endpoint) -> bool:
    return (one.host.lower(), one.port) == (other.host.lower(), other.port)


def listeners(key: str, value: str) -> tuple[Endpoint, ...]:
    """Parse `NAME://host:port,...`; an empty host stands for all interfaces.

    Raises:
        ConfigError: a part is not a listener, or a name is given twice.
    """
    found: list[Endpoint] = []
    for part in words(value):
        match = _LISTENER.fullmatch(part)
        if match is None or not 0 < int(match["port"]) <= _MAX_PORT:
            raise refuse(key, value, f"NAME://host:port,... with ports of 1 to {_MAX_PORT}")
        found.append(Endpoint(_host(key, value, match["host"]), int(match["port"]), match["name"].upper()))
    if len({listener.name for listener in found}) < len(found):
        raise refuse(key, value, "each listener name once")
    return tuple(found)


def http_listener(key: str, value: str) -> Endpoint:
    """Parse `HTTP://host:port` or `HTTPS://host:port`; an empty host stands for all interfaces.

    Raises:
        ConfigError: it has another form, or there are several.
    """
    expected = f"HTTP://host:port or HTTPS://host:port, such as HTTP://localhost:9404, with a port of 1 to {_MAX_PORT}"
    match = _LISTENER.fullmatch(value)
    if match is None or match["name"].upper() not in ("HTTP", "HTTPS") or not 0 < int(match["port"]) <= _MAX_PORT:
        raise refuse(key, value, expected)
    return Endpoint(_host(key, value, match["host"]), int(match["port"]), match["name"].upper())


def protocol_map(key: str, value: str) -> Mapping[str, str]:
    """Parse `NAME:PROTOCOL,...`; names and protocols are returned in capitals.

    Raises:
        ConfigError: a part is not such a pair.
    """
    pairs = [part.upper().split(":") for part in words(value)]
    if any(len(pair) != 2 or not all(pair) for pair in pairs):
        raise refuse(key, value, "NAME:PROTOCOL,..., such as CONTROLLER:PLAINTEXT")
    return {pair[0]: pair[1] for pair in pairs}
