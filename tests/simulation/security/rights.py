"""Who may do what in a run, as the file of the nodes says it."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from enum import Enum
from functools import cached_property

from raft.security.rules import Rules
from raft.types import NodeId

EVERYONE = "*"


class Right(Enum):
    """What a user may do, by its name in the file."""

    READ = "read"
    APPEND = "append"
    DESCRIBE = "describe"


@dataclass(frozen=True, kw_only=True)
class Permissions:
    """Who may do what. Users are named without `User:`.

    Fields:
        rights: of each user; `EVERYONE` stands for all of them.
        voters: who may speak as each voter.
        observers: who may speak as another node.
        super_users: may do everything, and speak as a voter for which `voters` has no user.
    """

    rights: Mapping[str, frozenset[Right]]
    voters: Mapping[NodeId, str]
    observers: frozenset[str]
    super_users: frozenset[str]

    def without(self, user: str, right: Right) -> Permissions:
        """Return these permissions without a right of a user."""
        return self._with_rights(user, self._rights_of(user) - {right})

    def with_right(self, user: str, right: Right) -> Permissions:
        """Return these permissions with one more right of a user."""
        return self._with_rights(user, self._rights_of(user) | {right})

    def without_nodes(self, nodes: Collection[NodeId], observers: Collection[str]) -> Permissions:
        """Return these permissions when nodes have other users than those that they use.

        Args:
            nodes: the nodes. A voter that only super users may speak as stays as it is.
            observers: the users of those that are not voters.
        """
        voters = {voter: f"former {user}" if voter in nodes else user for voter, user in self.voters.items()}
        return replace(self, voters=voters, observers=self.observers - set(observers))

    @cached_property
    def rules(self) -> Rules:
        """The rules as a node reads them."""
        return Rules.parse(self._to_text(), super_users=frozenset(map(principal_of, self.super_users)))

    def _to_text(self) -> str:
        lines = ["[allow]"]
        for right in Right:
            users = [user for user, rights in sorted(self.rights.items()) if right in rights]
            lines.append(f"{right.value} = {_listed(users)}")
        lines.append("[allow.peer]")
        lines += [f"{node_id} = {_listed([user])}" for node_id, user in sorted(self.voters.items())]
        lines.append(f"observers = {_listed(self.observers)}")
        return "\n".join(lines)

    def _rights_of(self, user: str) -> frozenset[Right]:
        return self.rights.get(user, frozenset())

    def _with_rights(self, user: str, rights: frozenset[Right]) -> Permissions:
        return replace(self, rights={**self.rights, user: rights})


def principal_of(user: str) -> str:
    """Return the principal of a user."""
    return f"User:{user}"


def _listed(users: Collection[str]) -> str:
    return "[" + ", ".join(f'"{principal_of(user)}"' for user in sorted(users)) + "]"
