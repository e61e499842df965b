"""Clients that wait for their turns: first their owners share the time, then the connections of each owner.

An owner is a principal, or an address where clients have no names. So a client that opens many connections gets no
more time by that than a client with one.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import Generic, TypeVar

from raft.runtime.fair_queue import FairQueue

Client = TypeVar("Client", bound=Hashable)

_KEPT_OWNERS = 1_000
"""So many owners are remembered before those are dropped whose clients do not wait."""


class Shares(Generic[Client]):
    """Clients that wait, by their owners. A client waits once, however often it is added."""

    def __init__(self) -> None:
        self._owners: FairQueue[Hashable] = FairQueue()
        self._clients: dict[Hashable, FairQueue[Client]] = {}
        self._owner_of: dict[Client, Hashable] = {}
        """The owner of each client that waits, as it was when the client began to wait."""
        self._prune_at = _KEPT_OWNERS

    def __bool__(self) -> bool:
        return bool(self._owner_of)

    def add(self, client: Client, owner: Hashable) -> None:
        """Let a client of this owner wait."""
        if client not in self._owner_of:
            self._owner_of[client] = owner
            self._of(owner).add(client)
            self._owners.add(owner)

    def forget(self, client: Client, owner: Hashable) -> None:
        """Let a client of this owner wait no more, and forget it. What was done for it still counts for its owner."""
        owner = self._owner_of.pop(client, owner)
        clients = self._clients.get(owner)
        if clients is not None:
            clients.forget(client)
            if not clients:
                self._owners.remove(owner)

    def take(self) -> Client:
        """Return the client whose turn it is; it waits no more. There must be one."""
        owner = self._owners.take()
        clients = self._clients[owner]
        client = clients.take()
        del self._owner_of[client]
        if clients:
            self._owners.add(owner)
        return client

    def charge(self, client: Client, owner: Hashable, work_s: float) -> None:
        """Count work that was done for a client of this owner.

        Args:
            client: the client.
            owner: its owner.
            work_s: processor time, in seconds.
        """
        self._owners.charge(owner, work_s)
        self._of(owner).charge(client, work_s)

    def _of(self, owner: Hashable) -> FairQueue[Client]:
        clients = self._clients.get(owner)
        if clients is None:
            if len(self._clients) >= self._prune_at:
                self._clients = {each: waiting for each, waiting in self._clients.items() if waiting}
                self._prune_at = max(_KEPT_OWNERS, 2 * len(self._clients))
            clients = self._clients[owner] = FairQueue()
        return clients
