"""Which nodes serve the fetches of a client: the leader, or any node that has the records (rules READ-4 to READ-6).

Only nodes of this project are readers: Apache Kafka's controllers serve Fetch only while they lead.

Source: KIP-392, except that the client chooses the node.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from raft.client.discovery import Lookup
from raft.client.settings import ClientSettings, ReadFrom
from raft.types import Endpoint

_FORGET_MS = 30_000
"""A node that did not serve a fetch is asked again after this time."""

MOST_READERS = 2
"""Most nodes that are asked before the leader."""


class Readers:
    """The nodes besides the leader that a session fetches from, the preferred one first.

    Args:
        settings: of the client; which nodes it wants.
        turn: which of several equal nodes is preferred, so that clients with other numbers use other nodes.
    """

    def __init__(self, settings: ClientSettings, *, turn: int) -> None:
        self._read_from = settings.read_from
        self._rack = settings.rack
        self._turn = turn
        self._found: list[Endpoint] = []
        self._known: frozenset[Endpoint] = frozenset()
        self._forget_at_ms = 0

    @property
    def is_leader_alone(self) -> bool:
        """Whether only the leader serves the fetches of this client."""
        return self._read_from is ReadFrom.LEADER

    def forget(self) -> None:
        """Forget all nodes, because they may be those of another quorum."""
        self._found, self._known = [], frozenset()

    def must_search(self, servers: Collection[Endpoint], now_ms: int) -> bool:
        """Whether the nodes have to be looked up, because others are known, or it was done some time ago."""
        return self._known != frozenset(servers) or now_ms >= self._forget_at_ms

    def found(self, lookups: Sequence[tuple[Endpoint, Lookup]], servers: Collection[Endpoint], now_ms: int) -> None:
        """Remember what the nodes said about themselves.

        Args:
            lookups: the nodes of this quorum that run this project, and what each said.
            servers: all nodes that were looked up.
            now_ms: the driver's clock.
        """
        # A node names itself by its advertised endpoint. With other names for it, the leader would count as a reader.
        fit = [
            server
            for server, lookup in lookups
            if server in lookup.servers and (self._rack is None or lookup.rack == self._rack)
        ]
        first = self._turn % len(fit) if fit else 0
        self._found = [*fit[first:], *fit[:first]]
        self._known, self._forget_at_ms = frozenset(servers), now_ms + _FORGET_MS

    def preferred(self, leader: Endpoint) -> list[Endpoint]:
        """Return the nodes to ask before the leader, in this order."""
        return [endpoint for endpoint in self._found if endpoint != leader][:MOST_READERS]

    def lags(self, endpoint: Endpoint) -> None:
        """Prefer the other nodes from now on, because this one lags behind."""
        self._found.remove(endpoint)
        self._found.append(endpoint)

    def failed(self, endpoint: Endpoint) -> None:
        """Do not ask this node for some time, because it did not serve a fetch; a node that is no reader stays none."""
        if endpoint in self._found:
            self._found.remove(endpoint)
