"""Whether a node serves its quorum: it leads, or follows a known leader."""

from __future__ import annotations

from dataclasses import dataclass

from raft.core import RaftCore
from raft.core.roles import Follower, Leader
from raft.metrics.leader_contact import LeaderContact
from raft.metrics.raft_families import current_state


@dataclass(frozen=True, slots=True, kw_only=True)
class Readiness:
    """A node's role, and why it is not ready.

    Fields:
        node_id, epoch, leader_id: of the node; the leader is None if it is unknown.
        state: the value of current-state.
        reason: why it is not ready; None if it is.
        behind_records, behind_ms: see `LeaderContact`; None for a leader, and while they are unknown.
    """

    node_id: int
    state: str
    epoch: int
    leader_id: int | None
    reason: str | None = None
    behind_records: int | None = None
    behind_ms: int | None = None

    def fields(self) -> dict[str, object]:
        """Return the fields for a response; those without a value are left out."""
        found = {
            "ready": self.reason is None,
            "reason": self.reason,
            "node": self.node_id,
            "state": self.state,
            "epoch": self.epoch,
            "leader": self.leader_id,
            "behindRecords": self.behind_records,
            "behindMs": self.behind_ms,
        }
        return {name: value for name, value in found.items() if value is not None}


def readiness(core: RaftCore, contact: LeaderContact, *, fetch_timeout_ms: int, now_ms: int) -> Readiness:
    """Return whether a node is ready.

    Args:
        core: of the node.
        contact: with its leader.
        fetch_timeout_ms: a follower without a response of the leader for so long is not ready. A voter starts an
            election then; an observer does not.
        now_ms: the present time of the clock of the contact.
    """
    role = core.role
    is_follower = isinstance(role, Follower)
    return Readiness(
        node_id=core.node_id,
        state=current_state(core),
        epoch=core.epoch,
        leader_id=core.leader_id,
        reason=_reason(core, contact, fetch_timeout_ms, now_ms),
        behind_records=contact.behind_records(core.log.end_offset) if is_follower else None,
        behind_ms=contact.behind_ms(now_ms) if is_follower else None,
    )


def _reason(core: RaftCore, contact: LeaderContact, fetch_timeout_ms: int, now_ms: int) -> str | None:
    """Return why a node is not ready, or None."""
    role = core.role
    if isinstance(role, Leader):
        return None if core.high_watermark is not None else "it leads, but has not committed a record of its epoch yet"
    if not isinstance(role, Follower):
        return "it knows no leader that it could follow"
    if role.loading is not None:
        return f"it loads the snapshot at {role.loading.snapshot} of its leader"
    if contact.last_response_ms is None:
        return f"leader {role.leader_id} has not responded to a fetch yet"
    silent_ms = now_ms - contact.last_response_ms
    if silent_ms > fetch_timeout_ms:
        return f"leader {role.leader_id} has not responded to a fetch for {silent_ms} ms"
    return None
