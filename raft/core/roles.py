"""The six roles of a node, and the table of legal moves between them (rules, section 2)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
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


class EpochStep(Enum):
    """What a move does to the epoch."""

    NONE = "the same epoch"
    ANY = "the same epoch, or a higher one"
    ONE = "the next epoch"
    UP = "a higher epoch"


ALLOWED: Mapping[type[Role], Mapping[type[Role], EpochStep]] = {
    Unattached: {Unattached: EpochStep.ANY, Prospective: EpochStep.NONE, Follower: EpochStep.ANY},
    Prospective: {
        Prospective: EpochStep.NONE,
        Candidate: EpochStep.ONE,
        Follower: EpochStep.ANY,
        Unattached: EpochStep.ANY,
    },
    Candidate: {
        Leader: EpochStep.NONE,
        Prospective: EpochStep.NONE,
        Unattached: EpochStep.UP,
        Follower: EpochStep.ANY,
    },
    Leader: {Resigned: EpochStep.NONE, Unattached: EpochStep.UP, Follower: EpochStep.UP},
    Resigned: {Unattached: EpochStep.UP, Follower: EpochStep.UP},
    Follower: {Prospective: EpochStep.NONE, Unattached: EpochStep.UP, Follower: EpochStep.ANY},
}
"""Every legal move, and what it does to the epoch. Who starts as what is another matter: see `raft.core.startup`."""


def check_move(old: Role, new: Role) -> None:
    """Make sure that a move is one of the table, and forgets nothing that an epoch must remember.

    Raises:
        AssertionError: it is not in the table; or within one epoch a vote or a leader would be lost or replaced.
    """
    step = ALLOWED[type(old)].get(type(new))
    assert step is not None, f"no move from {type(old).__name__} to {type(new).__name__}"
    up = new.epoch - old.epoch
    is_right = {EpochStep.NONE: up == 0, EpochStep.ANY: up >= 0, EpochStep.ONE: up == 1, EpochStep.UP: up > 0}[step]
    assert is_right, f"{type(old).__name__} to {type(new).__name__} is {step.value}, not {old.epoch} to {new.epoch}"
    if up == 0:
        kept_vote = old.voted_key in (None, new.voted_key)
        assert kept_vote, f"voted for {old.voted_key} in epoch {old.epoch}, now {new.voted_key}"
        kept_leader = known_leader(old) in (None, known_leader(new))
        assert kept_leader, f"leader {known_leader(old)} of epoch {old.epoch}, now {known_leader(new)}"


def check_update(old: Role, new: Role) -> None:
    """Make sure that an update of a role leaves its class, epoch, vote and leader as they are: those change by moves.

    Raises:
        AssertionError: it changes one of them.
    """
    assert type(old) is type(new), f"an update of {type(old).__name__} makes it {type(new).__name__}"
    assert old.epoch == new.epoch, f"an update of {type(old).__name__} changes epoch {old.epoch} to {new.epoch}"
    assert old.voted_key == new.voted_key, f"an update in epoch {old.epoch} changes the vote of {old.voted_key}"
    assert known_leader(old) == known_leader(new), f"an update in epoch {old.epoch} changes the leader"


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
