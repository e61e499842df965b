"""Short names for the roles that tests expect. `until` is the end of the role's timer."""

from __future__ import annotations

from collections.abc import Iterable

from raft.core.progress import QuorumProgress
from raft.core.roles import Candidate, Follower, Leader, Prospective, Resigned, Role, Unattached
from raft.core.tally import Tally
from raft.types import Endpoint, Epoch, NodeId, Offset, ReplicaKey
from tests.core.builder import voter_set
from tests.core.wording import US, endpoint, key, maybe_key, maybe_node


def tally(*granted: int, refused: Iterable[int] = (), of: Iterable[int] = (1, 2, 3)) -> Tally:
    """The votes of one round."""
    return Tally(
        voters=frozenset(NodeId(voter) for voter in of),
        granted=frozenset(NodeId(voter) for voter in granted),
        refused=frozenset(NodeId(voter) for voter in refused),
    )


def unattached(
    *, epoch: int, until: int | None, leader: int | None = None, voted: int | ReplicaKey | None = None
) -> Role:
    """It has no node to fetch from."""
    return Unattached(
        epoch=Epoch(epoch), leader_id=maybe_node(leader), voted_key=maybe_key(voted), election_deadline_ms=until
    )


def prospective(
    *,
    epoch: int,
    until: int,
    leader: int | None = None,
    at: tuple[Endpoint, ...] | None = None,
    voted: int | ReplicaKey | None = None,
    votes: Tally | None = None,
) -> Role:
    """It requests pre-votes; the address of a leader it knew is node `leader`'s own by default."""
    known_at = () if leader is None else (endpoint(leader),)
    return Prospective(
        epoch=Epoch(epoch),
        leader_id=maybe_node(leader),
        leader_endpoints=known_at if at is None else at,
        voted_key=maybe_key(voted),
        election_deadline_ms=until,
        tally=votes or tally(US),
    )


def candidate(*, epoch: int, until: int, votes: Tally | None = None) -> Role:
    """It requests votes."""
    return Candidate(epoch=Epoch(epoch), voted_key=key(US), election_deadline_ms=until, tally=votes or tally(US))


def leader(*, epoch: int, start: int) -> Role:
    """It leads; what it knows of the others is not compared."""
    nothing_known = QuorumProgress(voter_set(), NodeId(US), check_quorum_ms=0, begin_interval_ms=0, now_ms=0)
    return Leader(
        epoch=Epoch(epoch),
        leader_id=NodeId(US),
        voted_key=key(US),
        epoch_start_offset=Offset(start),
        progress=nothing_known,
    )


def resigned(
    *,
    epoch: int,
    until: int,
    successors: Iterable[int] = (),
    unacknowledged: Iterable[int] = (),
    voted: int | None = US,
) -> Role:
    """It led this epoch."""
    return Resigned(
        epoch=Epoch(epoch),
        leader_id=NodeId(US),
        voted_key=maybe_key(voted),
        election_deadline_ms=until,
        preferred_successors=tuple(key(successor) for successor in successors),
        unacknowledged=frozenset(NodeId(voter) for voter in unacknowledged),
    )


def follower(
    *,
    of: int,
    epoch: int,
    until: int | None,
    at: tuple[Endpoint, ...] | None = None,
    voted: int | ReplicaKey | None = None,
    has_fetched: bool = False,
    is_leader_refusing: bool = False,
) -> Role:
    """It follows a leader, at that node's own address by default."""
    return Follower(
        epoch=Epoch(epoch),
        leader_id=NodeId(of),
        leader_endpoints=(endpoint(of),) if at is None else at,
        voted_key=maybe_key(voted),
        fetch_deadline_ms=until,
        fetch_timeout_ms=2000,
        has_fetched=has_fetched,
        is_leader_refusing=is_leader_refusing,
    )
