"""The rules that say who may do what, from a TOML file.

    [allow]
    read = ["User:spark", "User:reports"]
    append = ["User:spark"]
    describe = ["User:monitor"]

    [allow.peer]
    1 = ["User:node1"]                  # who may speak as voter 1
    2 = ["User:node2"]
    3 = ["User:node3"]
    observers = ["User:mirror"]         # who may speak as a node that is not a voter

What no rule allows is refused. `User:*` stands for everyone, also for callers without a name; it cannot be a voter.
Super users may do everything, except speak as a voter that has a rule of its own.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from reprlib import repr as shortened
from typing import Any

from raft.config.authorization import principal
from raft.errors import ConfigError
from raft.security.operations import Operation
from raft.types import NodeId

EVERYONE = "User:*"

_OBSERVERS = "observers"
_LISTED = (Operation.READ, Operation.APPEND, Operation.DESCRIBE)
_EXPECTED = ", ".join(
    (*(f"allow.{operation.value}" for operation in _LISTED), "allow.peer.<node id>", f"allow.peer.{_OBSERVERS}")
)

_NODE_ID = re.compile(r"0|[1-9][0-9]{0,9}")
_MAX_NODE_ID = (1 << 31) - 1

Principals = frozenset[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """Who may do what.

    Fields:
        allowed: the principals that may do each operation.
        voters: those that may speak as each voter.
        observers: those that may speak as another node.
        super_users: those that may do everything.
    """

    allowed: Mapping[Operation, Principals] = field(default_factory=dict)
    voters: Mapping[NodeId, Principals] = field(default_factory=dict)
    observers: Principals = frozenset()
    super_users: Principals = frozenset()

    @classmethod
    def parse(cls, text: str, *, super_users: Principals) -> Rules:
        """Return the rules in the text of a file.

        Args:
            text: as TOML.
            super_users: see the class.

        Raises:
            ConfigError: it has another form; names the key.
        """
        try:
            tables = tomllib.loads(text)
        except (ValueError, RecursionError) as error:
            raise ConfigError(f"the file is no TOML: {error}") from error
        allow = _table("allow", tables.pop("allow", {}))
        peer = _table("allow.peer", allow.pop("peer", {}))
        lists = {f"allow.{name}": value for name, value in allow.items()}
        known = {f"allow.{operation.value}": operation for operation in _LISTED}
        for key in (*tables, *(key for key in lists if key not in known)):
            raise ConfigError(f"the file has the key {key}: expected {_EXPECTED}")
        observers = _list("allow.peer.observers", peer.pop(_OBSERVERS, []))
        return cls(
            allowed={known[key]: _list(key, value) for key, value in lists.items()},
            voters=dict(_voter(name, value) for name, value in peer.items()),
            observers=observers,
            super_users=super_users,
        )

    def allow(self, caller: str, operation: Operation) -> bool:
        """Return whether a principal may do an operation other than PEER."""
        if caller in self.super_users or self._lists(caller, operation):
            return True
        if operation not in (Operation.DESCRIBE, Operation.READ):
            return False
        # A node gets all records anyway, and reads those that are damaged on its disk like a client (LOG-31).
        if self._is_node(caller):
            return True
        # Who may read or append has to find the topic and the leader first, and so has a node.
        return operation is Operation.DESCRIBE and (
            self._lists(caller, Operation.READ) or self._lists(caller, Operation.APPEND)
        )

    def allow_peer(self, caller: str, node_id: NodeId, *, is_voter: bool) -> bool:
        """Return whether a principal may speak as a node.

        Args:
            caller: the principal.
            node_id: of the node.
            is_voter: whether the node is a voter.
        """
        if is_voter:
            return caller in self.voters.get(node_id, self.super_users)
        return caller in self.super_users or not self.observers.isdisjoint((caller, EVERYONE))

    def _is_node(self, caller: str) -> bool:
        return not self.observers.isdisjoint((caller, EVERYONE)) or any(
            caller in principals for principals in self.voters.values()
        )

    def _lists(self, caller: str, operation: Operation) -> bool:
        return not self.allowed.get(operation, frozenset()).isdisjoint((caller, EVERYONE))


def _table(key: str, value: Any) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise ConfigError(f"{key} is {shortened(value)}: expected a table of {_EXPECTED}")
    return dict(value)


def _list(key: str, value: Any) -> Principals:
    if not isinstance(value, list) or not all(isinstance(each, str) for each in value):
        raise ConfigError(f'{key} is {shortened(value)}: expected a list of principals, such as ["User:spark"]')
    return frozenset(principal(key, each) for each in value)


def _voter(name: str, value: Any) -> tuple[NodeId, Principals]:
    key = f"allow.peer.{name}"
    if not _NODE_ID.fullmatch(name) or int(name) > _MAX_NODE_ID:
        raise ConfigError(f"the file has the key {key}: expected {_EXPECTED}")
    principals = _list(key, value)
    if EVERYONE in principals:
        raise ConfigError(f"{key} has {EVERYONE}: expected the principal of that voter")
    return NodeId(int(name)), principals
