"""The six roles of a node (rules, section 2)."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import assert_never

from raft.core.progress import QuorumProgress
from raft.core.tally import Tally
from raft.core.transaction_timeouts import TransactionTimeouts
from raft.core.write_hold import WriteHold
from raft.types import ElectionState, Endpoint, Epoch, NodeId, Offset, OffsetAndEpoch, ReplicaKey


@dataclass(frozen=True, slots=True, kw_only=True)
class Unattached:
    """Knows no leader it could fetch from.

    `leader_id` may be known without an address. `election_deadline_ms` is None for observers, which start no elections.
    """

    epoch: Epoch
    leader_id: NodeId | None = None
    voted_key: ReplicaKey | None = None
    election_deadline_ms: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Prospective:
    """Asks for pre-votes in its present epoch, before it raises the epoch."""

    epoch: Epoch
    leader_id: NodeId | None = None
    leader_endpoints: tuple[Endpoint, ...] = ()
    voted_key: ReplicaKey | None = None
    election_deadline_ms: int
    tally: Tally


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """Has raised its epoch, voted for itself, and asks for standard votes."""

    epoch: Epoch
    voted_key: ReplicaKey
    election_deadline_ms: int
    tally: Tally


@dataclass(frozen=True, slots=True, kw_only=True)
class Leader:
    """Was elected in its epoch; accepts appends and serves fetches. No other role has mutable fields."""

    epoch: Epoch
    leader_id: NodeId
    voted_key: ReplicaKey | None
    epoch_start_offset: Offset
    progress: QuorumProgress = field(compare=False)
    timeouts: TransactionTimeouts = field(default_factory=TransactionTimeouts, compare=False)
    write_hold: WriteHold = field(default_factory=WriteHold, compare=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Resigned:
    """Led this epoch and resigned, or restarted after leading it: it neither leads nor votes in it again."""

    epoch: Epoch
    leader_id: NodeId
    voted_key: ReplicaKey | None
    election_deadline_ms: int
    preferred_successors: tuple[ReplicaKey, ...] = ()
    unacknowledged: frozenset[NodeId]


@dataclass(frozen=True, slots=True, kw_only=True)
class Loading:
    """A snapshot that is being loaded from the leader.

    Fields:
        position: everything below this byte is stored.
        is_complete: whether all of it is, and it is being checked.
    """

    snapshot: OffsetAndEpoch
    position: int = 0
    is_complete: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Follower:
    """Knows the leader of the epoch and fetches from it.

    Fields:
        fetch_deadline_ms: when to start a pre-vote; None for observers, which ask other nodes for the leader instead.
        fetch_timeout_ms: how long the node follows without a successful fetch before it starts a pre-vote; drawn each
            time it begins to follow, so that the followers of one leader do not all start at once (FAILOVER-2).
        has_fetched: whether a fetch from this leader has succeeded: such a follower refuses pre-votes.
        is_leader_refusing: whether the leader's address has refused a connection since the last response.
        loading: the snapshot that is fetched instead of records.
    """

    epoch: Epoch
    leader_id: NodeId
    leader_endpoints: tuple[Endpoint, ...]
    voted_key: ReplicaKey | None = None
    fetch_deadline_ms: int | None
    fetch_timeout_ms: int
    has_fetched: bool = False
    is_leader_refusing: bool = False
    loading: Loading | None = None


Role = Unattached | Prospective | Candidate | Leader | Resigned | Follower


def election_state(role: Role) -> ElectionState:
    """Return the part of a role that must survive a crash."""
    match role:
        case Candidate():
            return ElectionState(epoch=role.epoch, leader_id=None, voted_key=role.voted_key)
        case Unattached() | Prospective() | Leader() | Resigned() | Follower():
            return ElectionState(epoch=role.epoch, leader_id=role.leader_id, voted_key=role.voted_key)
        case _:
            assert_never(role)


def known_leader(role: Role) -> NodeId | None:
    """Return the leader of the role's epoch, None if the role knows none."""
    return None if isinstance(role, Candidate) else role.leader_id
