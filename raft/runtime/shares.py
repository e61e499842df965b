"""Clients that wait for their turns: first their owners share the time, then the connections of each owner.

An owner is a principal, or an address where clients have no names. So a client that opens many connections gets no
more time by that than a client with one.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

from raft.runtime.fair_queue import FairQueue

Client = TypeVar("Client")

_KEPT_OWNERS = 1_000
"""So many owners are remembered before those are dropped whose clients do not wait."""


class Shares(Generic[Client]):
    """Clients that wait, by their owners. A client waits once, however often it is added.

    Args:
        key: returns what tells a client from all others, earlier ones included. What was done for a client is kept by
            its key, so that it does not keep a closed connection in memory.
    """

    def __init__(self, key: Callable[[Client], Hashable]) -> None:
        self._key = key
        self._owners: FairQueue[Hashable] = FairQueue()
        self._keys: dict[Hashable, FairQueue[Hashable]] = {}
        """The keys of the clients of each owner."""
        self._waiting: dict[Hashable, tuple[Client, Hashable]] = {}
        """The clients that wait, by their keys, and the owner of each as it was when the client began to wait."""
        self._prune_at = _KEPT_OWNERS

    def __bool__(self) -> bool:
        return bool(self._waiting)

    def add(self, client: Client, owner: Hashable) -> None:
        """Let a client of this owner wait."""
        key = self._key(client)
        if not self._waiting:
            # No client had to wait for what was done before, so it does not count.
            self._owners.rest()
            self._keys.clear()
        if key not in self._waiting:
            self._waiting[key] = client, owner
            self._of(owner).add(key)
            self._owners.add(owner)

    def forget(self, client: Client, owner: Hashable) -> None:
        """Let a client of this owner wait no more, and forget it. What was done for it still counts for its owner."""
        key = self._key(client)
        _, owner = self._waiting.pop(key, (client, owner))
        keys = self._keys.get(owner)
        if keys is not None:
            keys.forget(key)
            if not keys:
                self._owners.remove(owner)

    def take(self) -> Client:
        """Return the client whose turn it is; it waits no more. There must be one."""
        owner = self._owners.take()
        keys = self._keys[owner]
        client, _ = self._waiting.pop(keys.take())
        if keys:
            self._owners.add(owner)
        return client

    def charge(self, client: Client, owner: Hashable, work_s: float) -> None:
        """Count work that was done for a client of this owner, if any client waits.

        Args:
            client: the client.
            owner: its owner.
            work_s: processor time, in seconds.
        """
        if not self._waiting:
            return
        self._owners.charge(owner, work_s)
        self._of(owner).charge(self._key(client), work_s)

    def _of(self, owner: Hashable) -> FairQueue[Hashable]:
        keys = self._keys.get(owner)
        if keys is None:
            if len(self._keys) >= self._prune_at:
                self._keys = {each: waiting for each, waiting in self._keys.items() if waiting}
                self._prune_at = max(_KEPT_OWNERS, 2 * len(self._keys))
            keys = self._keys[owner] = FairQueue()
        return keys
