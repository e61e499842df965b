"""What a voter does that should not lead, because its disk is full (LOG-28) or its log is damaged (LOG-30).

A leader resigns if a voter without such a reason can win the election. A voter with one starts no election at first,
but votes. If no other voter is elected, it does: when all have a reason, one of them still has to lead.
"""

from __future__ import annotations

from raft.core.progress import ReplicaProgress
from raft.core.roles import Leader
from raft.core.state import State
from raft.types import NodeId

ROUNDS_ASIDE = 2
"""How many rounds of pre-votes such a voter leaves to others, one after the other."""

HANDOVER_AFTER_MS = 2_500
"""How long the disk of a leader is full before it resigns. Each voter measures its disk each second, and its next
fetch, half a second later at most, says whether there is room. And a snapshot may make room meanwhile."""


def stands_aside(state: State) -> bool:
    """Whether this node asks for no pre-votes in this round."""
    return _has_reason(state) and not state.config.is_only_voter and state.rounds_aside <= ROUNDS_ASIDE


def begin_round(state: State) -> None:
    """Count a round of pre-votes that this node leaves to others, if it has a reason."""
    state.rounds_aside = state.rounds_aside + 1 if _has_reason(state) else 0


def reason_to_resign(state: State, now_ms: int) -> str | None:
    """Return why this leader resigns in favor of another voter, and which one; None if it does not resign."""
    full_since_ms = state.disk_room.full_since_ms
    if state.damage.exists:
        why, advantage = "its log is damaged", "is sound"
    elif full_since_ms is not None and now_ms >= full_since_ms + HANDOVER_AFTER_MS:
        why, advantage = "its disk is full", "has room"
    else:
        return None
    successor = _successor(state, now_ms)
    return None if successor is None else f"{why}, and node {successor} {advantage}"


def _has_reason(state: State) -> bool:
    return state.disk_room.is_full or state.damage.exists


def _successor(state: State, now_ms: int) -> NodeId | None:
    """Return the voter in whose favor this leader resigns; None if none can win.

    It is the first preferred successor that has room and a sound log, has fetched lately, and can win: a majority has
    no more records.
    """
    role = state.role
    assert isinstance(role, Leader), "only a leader has successors"
    voters = role.progress.voters
    lately_ms = now_ms - state.config.fetch_timeout_ms
    for voter in role.progress.successors():
        progress = voters[voter]
        if not (progress.is_fit and _has_fetched_since(progress, lately_ms)):
            continue
        end_offset = progress.fetch_offset or 0
        others = [each.fetch_offset for each in voters.values() if _has_fetched_since(each, lately_ms)]
        votes = sum(offset is not None and offset <= end_offset for offset in (*others, state.log.end_offset))
        if votes >= state.config.voters.majority:
            return voter
    return None


def _has_fetched_since(progress: ReplicaProgress, since_ms: int) -> bool:
    return progress.last_fetch_ms is not None and progress.last_fetch_ms >= since_ms
