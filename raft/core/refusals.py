"""Which nodes refuse this one because it is not authorized, and when this node stops for that (rule ERROR-6).

The fault may be on either side: this node proves a wrong name, or the rules of the other node are wrong. One node
cannot tell. So the refusal of a single node, even of the leader, never stops another one: a voter whose rules are lost
would otherwise stop each node that sends it a request, until no majority is left. If a majority of the voters refuses
this node, it can neither win an election nor follow a leader of that majority, and its operator has to act.
"""

from __future__ import annotations

from raft.core.config import CoreConfig
from raft.types import NodeId

REFUSAL_COUNTS_MS = 10_000
"""How long a refusal counts. A node that is refused asks all others within a few seconds; two nodes whose rules were
wrong at different times must not add up."""

_FEWEST = 2


class Refusals:
    """The nodes whose last response was CLUSTER_AUTHORIZATION_FAILED.

    The voters count. A bootstrap server counts as the voter whose address it has. A node that knows no voters counts
    its bootstrap servers. It does not count a leader that messages name, which may be one of them.

    Args:
        config: the node's place in the quorum.
    """

    __slots__ = ("_known_as", "_refused_ms", "total")

    def __init__(self, config: CoreConfig) -> None:
        self._known_as = _known_as(config)
        self._refused_ms: dict[NodeId, int] = {}
        self.total = len(config.voters) or len(config.bootstrap_servers)
        """How many nodes the majority is of: this node is one of them if it is a voter."""

    @property
    def needed(self) -> int:
        """How many nodes have to refuse this one before it stops: a majority, and never a single node."""
        return max(self.total // 2 + 1, _FEWEST)

    def refused(self, node_id: NodeId, now_ms: int) -> None:
        """Note that a node has refused a request."""
        self._refused_ms[self._known_as.get(node_id, node_id)] = now_ms

    def accepted(self, node_id: NodeId) -> None:
        """Note that a node has handled a request."""
        self._refused_ms.pop(self._known_as.get(node_id, node_id), None)

    def is_by(self, node_id: NodeId | None) -> bool:
        """Whether the last response of a node was a refusal."""
        return node_id is not None and self._known_as.get(node_id, node_id) in self._refused_ms

    def counted(self, now_ms: int) -> list[NodeId]:
        """Return the nodes whose refusals count now, in order."""
        recent = {node for node, refused_ms in self._refused_ms.items() if now_ms - refused_ms < REFUSAL_COUNTS_MS}
        return sorted(recent.intersection(self._known_as.values()))


def _known_as(config: CoreConfig) -> dict[NodeId, NodeId]:
    """Return as which node each node counts whose refusal counts."""
    others = config.voters.others(config.node_id)
    known_as = {voter: voter for voter in others}
    by_address = {(at.host, at.port): voter for voter in others for at in config.voters.endpoints(voter)}
    for node_id, endpoint in config.bootstrap_nodes():
        counted = by_address.get((endpoint.host, endpoint.port)) if len(config.voters) else node_id
        if counted is not None:
            known_as[node_id] = counted
    return known_as
