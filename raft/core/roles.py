"""The six roles of a node (rules, section 2)."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import assert_never

from raft.core.progress import QuorumProgress
from raft.core.tally import Tally
from raft.types import ElectionState, Endpoint, Epoch, NodeId, Offset, OffsetAndEpoch, ReplicaKey


@dataclass(frozen=True, slots=True, kw_only=True)
class Unattached:
    """Knows no leader it could fetch from.

    `leader_id` may be known without an address. `election_deadline_ms` is None for observers, who never elect.
    """

    epoch: Epoch
    leader_id: NodeId | None = None
    voted_key: ReplicaKey | None = None
    election_deadline_ms: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Prospective:
    """Asks for pre-votes at its present epoch, before it dares to raise it."""

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
    """Won its epoch; accepts appends and answers fetches. `progress` is the one mutable field of all roles."""

    epoch: Epoch
    leader_id: NodeId
    voted_key: ReplicaKey | None
    epoch_start_offset: Offset
    progress: QuorumProgress = field(compare=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Resigned:
    """Led this epoch and gave it up, or restarted after leading it: neither leads nor votes in it again."""

    epoch: Epoch
    leader_id: NodeId
    voted_key: ReplicaKey | None
    election_deadline_ms: int
    preferred_successors: tuple[ReplicaKey, ...] = ()
    unacknowledged: frozenset[NodeId]


@dataclass(frozen=True, slots=True, kw_only=True)
class Loading:
    """A snapshot on its way from the leader; what lies below `position` has come."""

    snapshot: OffsetAndEpoch
    position: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Follower:
    """Knows the leader of the epoch and fetches from it.

    Fields:
        fetch_deadline_ms: when to give the leader up; None for observers, who just ask others too.
        has_fetched: whether this leader has answered a fetch since it is followed: such a follower refuses pre-votes.
        fetch_timeout_ms: without an answer for so long, the node asks for pre-votes; drawn each time it begins to
            follow, so that the followers of one leader do not do so at the same moment (FAILOVER-2).
        is_leader_refusing: whether the leader's address has refused a connection since the last answer.
        loading: the snapshot that is asked for instead of records.
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
    """What of a role must survive a crash."""
    match role:
        case Candidate():
            return ElectionState(epoch=role.epoch, leader_id=None, voted_key=role.voted_key)
        case Unattached() | Prospective() | Leader() | Resigned() | Follower():
            return ElectionState(epoch=role.epoch, leader_id=role.leader_id, voted_key=role.voted_key)
        case _:
            assert_never(role)


def known_leader(role: Role) -> NodeId | None:
    """The leader of the role's epoch, as far as the role knows it."""
    return None if isinstance(role, Candidate) else role.leader_id
