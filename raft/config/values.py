"""Parsers of configuration values. Every error names the key, the value and what is expected."""

from __future__ import annotations

import re
from collections.abc import Mapping

from raft.errors import ConfigError
from raft.types import CleanupPolicy, Endpoint, NodeId, Uuid
from raft.uuids import parse_uuid

_LISTENER = re.compile(r"(?P<name>[A-Za-z0-9_.-]+)://(?P<host>\[[^\]]*\]|[^:/]*):(?P<port>\d+)")
_ADDRESS = re.compile(r"(?P<host>\[[^\]]+\]|[^:/@\s]+):(?P<port>\d+)")
_WHOLE = re.compile(r"[+-]?[0-9]{1,19}")
_HOST = re.compile(r"(?!-)[A-Za-z0-9_-]{1,63}(\.[A-Za-z0-9_-]{1,63})*\.?")
_TOPIC = re.compile(r"[A-Za-z0-9._-]{1,249}")
_MAX_PORT = 65_535
_MAX_NODE_ID = (1 << 31) - 1


_SECRET = re.compile(r"password|secret|jaas|token|credential|private[._-]?key", re.IGNORECASE)
"""What the name of a key with a secret value contains."""

HIDDEN = "[hidden]"
"""What is printed in place of a secret, as in Kafka (ConfigDef.Type.PASSWORD)."""

_EVERY_INTERFACE = frozenset(["", "0.0.0.0", "::"])  # noqa: S104 - values to recognise, nothing is bound here


def cleanup_policy(key: str, value: str) -> CleanupPolicy:
    """Return what becomes of old records."""
    try:
        return CleanupPolicy(value.lower())
    except ValueError:
        raise refuse(key, value, "none, compact or delete") from None


def ratio(key: str, value: str) -> float:
    """Return a number from 0 to 1, 1 excluded."""
    try:
        number = float(value)
    except ValueError:
        number = -1.0
    if not 0 <= number < 1:
        raise refuse(key, value, "a number from 0 up to, and not including, 1")
    return number


def refuse(key: str, value: str, expected: str) -> ConfigError:
    """Return the error for a value that cannot be used. It does not show secrets.

    Args:
        key: of the value.
        value: as it was given.
        expected: the values that can be used, in words.
    """
    return ConfigError(f"{key}={HIDDEN if is_secret(key) else value}: expected {expected}")


def is_secret(key: str) -> bool:
    """Whether a value may be a secret, judging by the name of its key."""
    return _SECRET.search(key) is not None


def is_every_interface(host: str) -> bool:
    """Whether a host stands for all interfaces: a node can listen on it, but no client can connect to it."""
    return host in _EVERY_INTERFACE


def whole_number(key: str, value: str, *, at_least: int, at_most: int | None = None) -> int:
    """Parse a whole number.

    Args:
        key: of the value.
        value: the text.
        at_least: the lowest number expected.
        at_most: the highest number expected; None for no bound.

    Raises:
        ConfigError: it is not a whole number, or out of bounds.
    """
    expected = f"a whole number of {at_least} or more" if at_most is None else f"{at_least} to {at_most}"
    if not _WHOLE.fullmatch(value):
        raise refuse(key, value, expected)
    number = int(value)
    if number < at_least or (at_most is not None and number > at_most):
        raise refuse(key, value, expected)
    return number


def truth(key: str, value: str) -> bool:
    """Parse `true` or `false`, in upper or lower case.

    Raises:
        ConfigError: it is neither.
    """
    lowered = value.lower()
    if lowered not in ("true", "false"):
        raise refuse(key, value, "true or false")
    return lowered == "true"


def words(value: str) -> tuple[str, ...]:
    """Split a text at its commas, and drop blanks and empty parts."""
    return tuple(part.strip() for part in value.split(",") if part.strip())


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
        if not at or not _WHOLE.fullmatch(node_id) or not 0 <= int(node_id) <= _MAX_NODE_ID:
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


def topic_name(key: str, value: str) -> str:
    """Check the name of a topic by Kafka's rules.

    Raises:
        ConfigError: Kafka does not allow the name.
    """
    if not _TOPIC.fullmatch(value) or value in (".", ".."):
        raise refuse(key, value, "1 to 249 letters, digits, dots, underscores and dashes")
    return value


def uuid(key: str, value: str) -> Uuid:
    """Parse a uuid: 16 bytes as 22 characters of base64url.

    Raises:
        ConfigError: it is not a uuid.
    """
    try:
        return parse_uuid(value)
    except ValueError as error:
        expected = "16 bytes as 22 characters of base64url, such as AAAAAAAAAAAAAAAAAAAAAQ"
        raise refuse(key, value, expected) from error
