"""A leader whose process has ended: its address refuses connections long before the fetch timeout expires (FAILOVER-1).

A refused connection is only a hint, because the process may be restarting, or a firewall may refuse this node alone. So
the follower tries again after a short wait, and then starts with pre-votes. Followers that still fetch from the leader
refuse these, and nothing changes. After a refused connection this node grants pre-votes itself; otherwise the followers
of a dead leader would refuse each other until their fetch timeouts.

The wait is random, so that two followers rarely start an election at the same time. The hint counts once per epoch: if
the pre-votes were refused, the fetch timeout decides.
"""

from __future__ import annotations

from dataclasses import replace

from raft.core.moves import become_prospective
from raft.core.roles import Follower
from raft.core.state import State
from raft.types import NodeId

RETRY_AFTER_REFUSAL_MS = 50
"""The second attempt follows the first refusal after one to three times this wait. A process takes longer to restart,
and the wait is short beside the fetch timeout."""


def on_connection_refused(state: State, node_id: NodeId, now_ms: int) -> None:
    """Count a refused connection; after the second one to its leader's address a voter starts an election."""
    role = state.role
    if not isinstance(role, Follower) or node_id != role.leader_id:
        return
    if not state.config.is_voter or state.is_shutting_down:
        return
    if not role.is_leader_refusing:
        state.update_role(replace(role, is_leader_refusing=True, has_fetched=False))
        wait_ms = RETRY_AFTER_REFUSAL_MS + state.draw(2 * RETRY_AFTER_REFUSAL_MS)
        state.requests.back_off(node_id, now_ms, at_least_ms=wait_ms)
    elif is_retry_due(state, role):
        state.failover_epoch = role.epoch
        become_prospective(state, now_ms=now_ms, reason=f"leader {node_id} refuses connections")


def is_retry_due(state: State, role: Follower) -> bool:
    """Whether the leader's address has refused a connection, and a second refusal would start an election."""
    return role.is_leader_refusing and state.failover_epoch != role.epoch
