"""The connections of a process whose requests have not begun."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.simulation.inbound import Inbound


class WaitingConnections:
    """Connections with requests that wait, counted by their owners.

    Attributes:
        began: how many times an owner has begun to wait.
        voters: how many connections of voters wait.
    """

    def __init__(self) -> None:
        self._connections: dict[Inbound, None] = {}
        self._owners: Counter[Hashable] = Counter()
        self.began = 0
        self.voters = 0

    def __len__(self) -> int:
        """Return how many owners have such connections."""
        return len(self._owners)

    @property
    def with_work(self) -> list[Inbound]:
        """Those that could begin a request now."""
        return [connection for connection in self._connections if connection.has_work]

    def is_alone(self, owner: Hashable) -> bool:
        """Return whether an owner has not more than one of them."""
        return self._owners[owner] <= 1

    def add(self, connection: Inbound, owner: Hashable) -> bool:
        """Add a connection; return whether it is the only one of its owner."""
        self._connections[connection] = None
        self._owners[owner] += 1
        is_alone = self.is_alone(owner)
        self.began += is_alone
        return is_alone

    def remove(self, connection: Inbound, owner: Hashable) -> None:
        """Remove a connection."""
        del self._connections[connection]
        self._owners[owner] -= 1
        if not self._owners[owner]:
            del self._owners[owner]
