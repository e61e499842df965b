"""What the handlers of requests may look at."""

from __future__ import annotations

import time
from dataclasses import dataclass

from raft.config import NodeConfig
from raft.core.roles import Follower, Leader
from raft.errors import ErrorCode
from raft.node.admissions import Admissions
from raft.node.budget import AnswerBudget
from raft.node.caller import Caller
from raft.node.engine import Engine
from raft.node.faults import FaultLog
from raft.node.relay import Relay
from raft.node.voter_addresses import VoterAddresses
from raft.storage.log import Log
from raft.types import Endpoint, Epoch, NodeId, Offset
from raft.wire.mapping.partition import INDEX, TopicPartition


@dataclass(frozen=True, slots=True, kw_only=True)
class Context:
    """One node, as its handlers see it.

    Fields:
        answers: how many bytes of answers to clients' fetches may be in memory.
        relay: the way to the leader for what only it can answer.
        refusals: where refused requests are told of.
        voter_addresses: from where the voters' requests may come; None takes them from anywhere.
    """

    config: NodeConfig
    cluster_id: str
    ours: TopicPartition
    engine: Engine
    log: Log
    admissions: Admissions
    answers: AnswerBudget
    relay: Relay
    voter_addresses: VoterAddresses | None
    refusals: FaultLog

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

    @staticmethod
    def wall_clock_ms() -> int:
        """The time of day, for records and reports."""
        return int(time.time() * 1000)
