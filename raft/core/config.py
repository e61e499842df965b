"""The configuration of a core."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from raft import defaults
from raft.core.voter_set import VoterSet
from raft.types import Endpoint, LoggedVoters, NodeId, ReplicaKey

Draw = Callable[[int], int]
"""Random numbers: `draw(n)` returns one from 0 to n - 1, evenly distributed."""

FETCH_MAX_WAIT_MS = 500
"""How long a leader may park our fetch (TIMER-6)."""

HIGH_WATERMARK_LINGER_MS = 10
"""How long the leader delays a response that only has a higher high watermark (LINGER-1)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CoreConfig:
    """One node's place in the quorum, and its timeouts (rules, section 4).

    Fields:
        replica: this node.
        cluster_id: its cluster; None if it does not know it yet.
        voters: the voters of the quorum.
        bootstrap_servers: nodes from which to get the leader; empty for the voters.
        election_timeout_ms: an election timeout is drawn from this up to twice as much.
        fetch_timeout_ms: a fetch timeout is drawn from this up to `fetch_timeout_spread_ms` more.
        fetch_timeout_spread_ms: width of that range.
        high_watermark_linger_ms: how long the leader delays a response that only has a higher high watermark.
        election_backoff_max_ms: longest wait of a voter for better successors of a resigned leader.
        request_timeout_ms: how long to wait for a response.
        retry_backoff_ms: how long no request is sent to a node after a failed one.
        fetch_max_bytes: most bytes of records to fetch at once.
        fetch_snapshot_max_bytes: most bytes of a snapshot to fetch at once.
        transaction_max_timeout_ms: longest duration of a transaction; one that is open for longer is aborted.
    """

    replica: ReplicaKey
    cluster_id: str | None
    voters: VoterSet
    bootstrap_servers: tuple[Endpoint, ...] = ()
    election_timeout_ms: int = defaults.ELECTION_TIMEOUT_MS
    fetch_timeout_ms: int = defaults.FETCH_TIMEOUT_MS
    fetch_timeout_spread_ms: int = 0
    high_watermark_linger_ms: int = 0
    election_backoff_max_ms: int = defaults.ELECTION_BACKOFF_MAX_MS
    request_timeout_ms: int = defaults.REQUEST_TIMEOUT_MS
    retry_backoff_ms: int = defaults.RETRY_BACKOFF_MS
    fetch_max_bytes: int = defaults.FETCH_MAX_BYTES
    fetch_snapshot_max_bytes: int = defaults.FETCH_SNAPSHOT_MAX_BYTES
    transaction_max_timeout_ms: int = defaults.TRANSACTION_MAX_TIMEOUT_MS

    @property
    def node_id(self) -> NodeId:
        """This node."""
        return self.replica.node_id

    @property
    def is_voter(self) -> bool:
        """Whether this node votes; else it is an observer."""
        return self.voters.is_voter(self.replica)

    @property
    def is_only_voter(self) -> bool:
        """Whether this node is the only voter."""
        return self.is_voter and len(self.voters) == 1

    def difference_to(self, logged: LoggedVoters | None) -> str | None:
        """Return how the voters of the log differ from those by which this voter counts majorities (CONTROL-10).

        Observers take part in no election and count nothing, so they go on.
        """
        return None if logged is None or not self.is_voter else logged.difference(self.voters.ids)

    def drawn_fetch_timeout_ms(self, draw: Draw) -> int:
        """Draw the fetch timeout of a node that begins to follow (FAILOVER-2)."""
        spread_ms = self.fetch_timeout_spread_ms
        return self.fetch_timeout_ms + (draw(spread_ms) if spread_ms else 0)

    @property
    def check_quorum_ms(self) -> int:
        """A leader resigns when no majority has fetched for this long (TIMER-4)."""
        return self.fetch_timeout_ms * 3 // 2

    @property
    def begin_interval_ms(self) -> int:
        """Time between two announcements of a leader (TIMER-5)."""
        return max(self.fetch_timeout_ms // 2, 1)

    def bootstrap_nodes(self) -> tuple[tuple[NodeId, Endpoint], ...]:
        """Return the nodes to ask for the leader; bootstrap servers get the ids -2, -3, ... (BOOT-9)."""
        if self.bootstrap_servers:
            return tuple((NodeId(-2 - index), endpoint) for index, endpoint in enumerate(self.bootstrap_servers))
        others = self.voters.others(self.node_id)
        return tuple((voter, self.voters.endpoints(voter)[0]) for voter in others)
