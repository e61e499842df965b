"""What the handlers of requests may look at."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from raft.config import NodeConfig
from raft.core.config import Draw
from raft.core.roles import Follower, Leader
from raft.errors import ErrorCode
from raft.runtime.admissions import Admissions
from raft.runtime.caller import Caller
from raft.runtime.disk import Disk
from raft.runtime.engine import Engine
from raft.runtime.fault_log import FaultLog
from raft.runtime.requests.relay import Relay
from raft.runtime.response_budget import ResponseBudget
from raft.runtime.scheduler import Scheduler
from raft.types import Endpoint, Epoch, NodeId, Offset
from raft.wire.mapping.partition import INDEX, TopicPartition


class VoterAddresses(Protocol):
    """From which addresses the requests of voters may come."""

    def has(self, node_id: NodeId, address: str) -> bool:
        """Return whether a request in the name of a voter may come from this address."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Context:
    """One node, as its handlers see it.

    Fields:
        config: of the node.
        cluster_id: of the cluster it belongs to.
        ours: the partition it hosts.
        engine: hands requests to the core.
        disk: for reads.
        scheduler: for time.
        admissions: where appends are checked.
        responses: how many bytes of responses to fetches of clients may be in memory.
        relay: the way to the leader for what only it can answer.
        refusals: where refused requests are logged.
        voter_addresses: from where requests of voters may come; None takes them from anywhere.
        draw: random numbers, for producer ids.
    """

    config: NodeConfig
    cluster_id: str
    ours: TopicPartition
    engine: Engine
    disk: Disk
    scheduler: Scheduler
    admissions: Admissions
    responses: ResponseBudget
    relay: Relay
    refusals: FaultLog
    voter_addresses: VoterAddresses | None
    draw: Draw

    @property
    def node_id(self) -> NodeId:
        """This node."""
        return self.config.node_id

    @property
    def epoch(self) -> Epoch:
        """Its epoch."""
        return self.engine.core.epoch

    @property
    def high_watermark(self) -> Offset | None:
        """Everything below is committed; None while unknown."""
        return self.engine.core.high_watermark

    @property
    def is_leader(self) -> bool:
        """Whether it leads."""
        return isinstance(self.engine.core.role, Leader)

    @property
    def serving_leader(self) -> NodeId | None:
        """The node that clients should turn to; a leader that has resigned is none."""
        return self.engine.core.leader_id if isinstance(self.engine.core.role, Leader | Follower) else None

    @property
    def known_leader(self) -> Endpoint | None:
        """Where another node listens that leads, as far as this one knows."""
        endpoints = self.engine.core.leader_endpoints
        return endpoints[0] if isinstance(self.engine.core.role, Follower) and endpoints else None

    def nodes(self, caller: Caller) -> dict[NodeId, Endpoint]:
        """Every node that a client may turn to, at the listener of the kind that it came in by: the voters, the leader
        wherever it told us it is, and this one.
        """
        if caller.for_clients is not None:
            return {**caller.for_clients.voters, self.node_id: caller.for_clients.advertised}
        nodes = dict(self.config.voters)
        leader_id, endpoints = self.serving_leader, self.engine.core.leader_endpoints
        if leader_id is not None and endpoints:
            nodes.setdefault(leader_id, endpoints[0])
        nodes[self.node_id] = self.config.advertised
        return nodes

    def leader_endpoints(self, caller: Caller) -> tuple[Endpoint, ...]:
        """Where a client that came in by this listener reaches the leader, as far as that is known."""
        if caller.for_clients is None:
            return self.engine.core.leader_endpoints
        leader_id = self.engine.core.leader_id
        endpoint = self.nodes(caller).get(leader_id) if leader_id is not None else None
        return (endpoint,) if endpoint is not None else ()

    def client_epoch_error(self, epoch: int) -> ErrorCode:
        """Compare the leader epoch that a client counts on with ours; -1 counts on none (CLIENT-1)."""
        if epoch in (-1, self.epoch):
            return ErrorCode.NONE
        return ErrorCode.FENCED_LEADER_EPOCH if epoch < self.epoch else ErrorCode.UNKNOWN_LEADER_EPOCH

    def leader_only_error(self, epoch: int) -> ErrorCode:
        """Refuse what only the leader of the right epoch may answer."""
        error = self.client_epoch_error(epoch)
        if error == ErrorCode.NONE and not self.is_leader:
            return ErrorCode.NOT_LEADER_OR_FOLLOWER
        return error

    def is_ours_by_name(self, topic: str, partition: int) -> bool:
        """Whether a request means the partition we host."""
        return topic == self.ours.topic_name and partition == INDEX
