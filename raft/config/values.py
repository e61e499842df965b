"""How the text of a configuration value becomes a value; every refusal names key, value and what is allowed."""

from __future__ import annotations

import re
from collections.abc import Mapping

from raft.errors import ConfigError
from raft.types import Endpoint, NodeId, Uuid
from raft.uuids import parse_uuid

_LISTENER = re.compile(r"(?P<name>[A-Za-z0-9_.-]+)://(?P<host>\[[^\]]*\]|[^:/]*):(?P<port>\d+)")
_ADDRESS = re.compile(r"(?P<host>\[[^\]]+\]|[^:/@\s]+):(?P<port>\d+)")
_WHOLE = re.compile(r"[+-]?[0-9]{1,19}")
_HOST = re.compile(r"(?!-)[A-Za-z0-9_-]{1,63}(\.[A-Za-z0-9_-]{1,63})*\.?")
_TOPIC = re.compile(r"[A-Za-z0-9._-]{1,249}")
_MAX_PORT = 65_535
_MAX_NODE_ID = (1 << 31) - 1


_SECRET = re.compile(r"password|secret|jaas|token|credential|private[._-]?key", re.IGNORECASE)
"""In the name of a key whose value is never printed."""

HIDDEN = "[hidden]"
"""What is printed in the place of a secret, as Kafka does it (ConfigDef.Type.PASSWORD)."""

_EVERY_INTERFACE = frozenset(["", "0.0.0.0", "::"])  # noqa: S104 - values to recognise, nothing is bound here


def refuse(key: str, value: str, allowed: str) -> ConfigError:
    """The error for a value that cannot be used; it does not show a secret."""
    return ConfigError(f"{key}={HIDDEN if is_secret(key) else value}: allowed {allowed}")


def is_secret(key: str) -> bool:
    """Whether the value of a key may be a secret, by the key's name."""
    return _SECRET.search(key) is not None


def is_every_interface(host: str) -> bool:
    """Whether a host says where to listen, but not where to connect to."""
    return host in _EVERY_INTERFACE


def whole_number(key: str, value: str, *, at_least: int, at_most: int | None = None) -> int:
    """A whole number within bounds.

    Raises:
        ConfigError: it is none.
    """
    allowed = f"are whole numbers of {at_least} or more" if at_most is None else f"are {at_least} to {at_most}"
    if not _WHOLE.fullmatch(value):
        raise refuse(key, value, allowed)
    number = int(value)
    if number < at_least or (at_most is not None and number > at_most):
        raise refuse(key, value, allowed)
    return number


def truth(key: str, value: str) -> bool:
    """`true` or `false`, in any case.

    Raises:
        ConfigError: it is neither.
    """
    lowered = value.lower()
    if lowered not in ("true", "false"):
        raise refuse(key, value, "are true and false")
    return lowered == "true"


def words(value: str) -> tuple[str, ...]:
    """The parts between commas, without blanks; empty parts are dropped."""
    return tuple(part.strip() for part in value.split(",") if part.strip())


def address(key: str, value: str) -> Endpoint:
    """`host:port`, the host of IPv6 in brackets.

    Raises:
        ConfigError: it is none, or the port is out of range.
    """
    match = _ADDRESS.fullmatch(value)
    if match is None or not 0 < int(match["port"]) <= _MAX_PORT:
        raise refuse(key, value, f"is host:port with a port of 1 to {_MAX_PORT}")
    return Endpoint(_host(key, value, match["host"]), int(match["port"]))


def _host(key: str, value: str, host: str) -> str:
    """A name or an address; an IPv6 address stands in brackets."""
    if host.startswith("[") or not host:
        return host.strip("[]")
    if not _HOST.fullmatch(host):
        raise refuse(key, value, f"is the name or address of a host before the port; {host} is neither")
    return host


def addresses(key: str, value: str) -> tuple[Endpoint, ...]:
    """`host:port,host:port,...`.

    Raises:
        ConfigError: a part is no address.
    """
    return tuple(address(key, part) for part in words(value))


def voters(key: str, value: str) -> Mapping[NodeId, Endpoint]:
    """`id@host:port,...`, each id and each address once.

    Raises:
        ConfigError: a part is no voter, an id or an address stands there twice, or others cannot connect to an address.
    """
    allowed = "is id@host:port,id@host:port,... with each id once"
    found: dict[NodeId, Endpoint] = {}
    for part in words(value):
        node_id, at, where = part.partition("@")
        if not at or not _WHOLE.fullmatch(node_id) or not 0 <= int(node_id) <= _MAX_NODE_ID:
            raise refuse(key, value, allowed)
        if NodeId(int(node_id)) in found:
            raise refuse(key, value, allowed)
        voter = address(key, where)
        if is_every_interface(voter.host):
            raise refuse(key, value, f"are addresses that other nodes can connect to, which {voter.host} is not")
        if any(_is_same_place(voter, other) for other in found.values()):
            raise refuse(key, value, f"is each address once, as each voter is a process of its own; {voter} is twice")
        found[NodeId(int(node_id))] = voter
    return found


def _is_same_place(one: Endpoint, other: Endpoint) -> bool:
    return (one.host.lower(), one.port) == (other.host.lower(), other.port)


def listeners(key: str, value: str) -> tuple[Endpoint, ...]:
    """`NAME://host:port,...`; an empty host means every interface.

    Raises:
        ConfigError: a part is no listener, or a name stands there twice.
    """
    found: list[Endpoint] = []
    for part in words(value):
        match = _LISTENER.fullmatch(part)
        if match is None or not 0 < int(match["port"]) <= _MAX_PORT:
            raise refuse(key, value, f"is NAME://host:port,... with ports of 1 to {_MAX_PORT}")
        found.append(Endpoint(_host(key, value, match["host"]), int(match["port"]), match["name"].upper()))
    if len({listener.name for listener in found}) < len(found):
        raise refuse(key, value, "is each listener name once")
    return tuple(found)


def protocol_map(key: str, value: str) -> Mapping[str, str]:
    """`NAME:PROTOCOL,...`, in capitals.

    Raises:
        ConfigError: a part is no such pair.
    """
    pairs = [part.upper().split(":") for part in words(value)]
    if any(len(pair) != 2 or not all(pair) for pair in pairs):
        raise refuse(key, value, "is NAME:PROTOCOL,..., such as CONTROLLER:PLAINTEXT")
    return {pair[0]: pair[1] for pair in pairs}


def topic_name(key: str, value: str) -> str:
    """The name of a topic, as Kafka allows it.

    Raises:
        ConfigError: it is none.
    """
    if not _TOPIC.fullmatch(value) or value in (".", ".."):
        raise refuse(key, value, "are up to 249 letters, digits, dots, underscores and dashes")
    return value


def uuid(key: str, value: str) -> Uuid:
    """16 bytes in 22 characters of base64url.

    Raises:
        ConfigError: it is something else.
    """
    try:
        return parse_uuid(value)
    except ValueError as error:
        expected = "is 16 bytes as 22 characters of base64url, such as AAAAAAAAAAAAAAAAAAAAAQ"
        raise refuse(key, value, expected) from error
