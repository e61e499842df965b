"""A leader whose process is gone: its address refuses connections, at once, long before the fetch timeout (FAILOVER-1).

A refused connection is only a hint: the process may be starting again, or a firewall may refuse this node alone. So the
follower looks a second time after a short while, and then begins with pre-votes: followers that still fetch from the
leader refuse them, and nothing has changed. A refused connection also ends this node's own refusal of pre-votes, or
the followers of a dead leader would hold each other up until their fetch timeouts.

The wait before the second look is drawn, so that two followers rarely stand for election at the same moment. Within one
epoch the hint counts once: where pre-votes were refused, the fetch timeout decides.
"""

from __future__ import annotations

from dataclasses import replace

from raft.core.moves import become_prospective
from raft.core.roles import Follower
from raft.core.state import State
from raft.types import NodeId

SECOND_LOOK_MS = 50
"""The second look comes one to three times this long after the first refusal: a process that starts again takes
longer, an operator's eye does not notice it."""


def on_connection_refused(state: State, node_id: NodeId, now_ms: int) -> None:
    """Count a refused connection; the second one of a voter's leader starts an election."""
    role = state.role
    is_from_leader = isinstance(role, Follower) and node_id == role.leader_id
    if not is_from_leader or not state.config.is_voter or state.is_shutting_down:
        return
    assert isinstance(role, Follower), "looked at just now"
    if not role.is_leader_refusing:
        state.update_role(replace(role, is_leader_refusing=True, has_fetched=False))
        state.requests.back_off(node_id, now_ms, at_least_ms=SECOND_LOOK_MS + state.draw(2 * SECOND_LOOK_MS))
    elif is_second_look_due(state, role):
        state.failover_epoch = role.epoch
        become_prospective(state, now_ms=now_ms, reason=f"leader {node_id} refuses connections")


def is_second_look_due(state: State, role: Follower) -> bool:
    """Whether the leader's address has refused a connection, and a second refusal would count."""
    return role.is_leader_refusing and state.failover_epoch != role.epoch
