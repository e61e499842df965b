"""What the request handlers use."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
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
from raft.runtime.list_pace import ListPace
from raft.runtime.requests.relay import Relay
from raft.runtime.response_budget import ResponseBudget
from raft.runtime.scheduler import Scheduler
from raft.security.operations import Operation
from raft.security.outcomes import AuthenticationOutcome
from raft.security.rules import Rules
from raft.types import Endpoint, Epoch, NodeId, Offset
from raft.wire.mapping.partition import INDEX, TopicPartition


class VoterAddresses(Protocol):
    """The addresses from which requests in the name of a voter are accepted."""

    def has(self, node_id: NodeId, address: str) -> bool:
        """Return whether requests in the name of a voter are accepted from an address."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Context:
    """One node, as its request handlers use it.

    Fields:
        config: the configuration of the node.
        cluster_id: the cluster id.
        ours: the partition that the node hosts.
        engine: passes requests to the core.
        disk: reads and searches the log.
        scheduler: tells the time, and runs actions later.
        admissions: checks appends.
        responses: bounds the bytes of fetch responses to clients.
        lists: bounds how often all transactions are listed.
        relay: sends DescribeQuorum requests to the leader.
        refusals: logs refused requests.
        rules: returns the rules that say who may do what, as they are now; None if everyone may do everything.
        voter_addresses: the addresses of the voters; None accepts requests in a voter's name from any address.
        draw: draws random numbers, for producer ids and nonces.
        authentications: how many have ended in which way, by listener.
        unauthorized: how many requests were refused by the rules, by operation.
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
    rules: Callable[[], Rules] | None = None
    voter_addresses: VoterAddresses | None
    draw: Draw
    lists: ListPace = field(default_factory=ListPace)
    authentications: Counter[tuple[str, AuthenticationOutcome]] = field(default_factory=Counter)
    unauthorized: Counter[Operation] = field(default_factory=Counter)

    def count(self, caller: Caller, outcome: AuthenticationOutcome) -> None:
        """Count the end of an authentication, or of a session."""
        self.authentications[caller.listener.name, outcome] += 1

    def may(self, caller: Caller, operation: Operation) -> bool:
        """Return whether a caller may do an operation other than PEER."""
        return self.rules is None or self.rules().allow(caller.principal, operation)

    def refuse(self, caller: Caller, operation: Operation, request: str) -> None:
        """Log and count a request that the rules do not allow.

        Args:
            caller: the sender.
            operation: that the request needs.
            request: in words.
        """
        self.unauthorized[operation] += 1
        self.refusals.report(
            "node %s: refused %s: %s is not allowed to %s",
            self.node_id,
            request,
            caller.principal,
            operation.value,
            latest=f"address={caller}",
        )

    @property
    def node_id(self) -> NodeId:
        """The id of this node."""
        return self.config.node_id

    @property
    def epoch(self) -> Epoch:
        """The leader epoch of this node."""
        return self.engine.core.epoch

    @property
    def high_watermark(self) -> Offset | None:
        """Everything below is committed; None while unknown."""
        return self.engine.core.high_watermark

    @property
    def is_leader(self) -> bool:
        """Whether this node is leader."""
        return isinstance(self.engine.core.role, Leader)

    @property
    def serving_leader(self) -> NodeId | None:
        """The leader that clients should send requests to; None if it is unknown or has resigned."""
        return self.engine.core.leader_id if isinstance(self.engine.core.role, Leader | Follower) else None

    @property
    def known_leader(self) -> Endpoint | None:
        """The endpoint of the leader if that is another node; None if this node is leader or knows none."""
        endpoints = self.engine.core.leader_endpoints
        return endpoints[0] if isinstance(self.engine.core.role, Follower) and endpoints else None

    def nodes(self, caller: Caller) -> dict[NodeId, Endpoint]:
        """Return the endpoints of all nodes that a client can reach: the voters, the leader, and this node.

        Args:
            caller: the client. The endpoints are those of the listener that it is connected to.
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
        """Return the endpoints at which a client reaches the leader, as `nodes` does; empty if they are unknown."""
        if caller.for_clients is None:
            return self.engine.core.leader_endpoints
        leader_id = self.engine.core.leader_id
        endpoint = self.nodes(caller).get(leader_id) if leader_id is not None else None
        return (endpoint,) if endpoint is not None else ()

    def client_epoch_error(self, epoch: int) -> ErrorCode:
        """Return the error for the leader epoch in a client's request; -1 stands for no epoch (CLIENT-1)."""
        if epoch in (-1, self.epoch):
            return ErrorCode.NONE
        return ErrorCode.FENCED_LEADER_EPOCH if epoch < self.epoch else ErrorCode.UNKNOWN_LEADER_EPOCH

    def leader_only_error(self, epoch: int) -> ErrorCode:
        """Return the error for a request that only the leader of this epoch may serve."""
        error = self.client_epoch_error(epoch)
        if error == ErrorCode.NONE and not self.is_leader:
            return ErrorCode.NOT_LEADER_OR_FOLLOWER
        return error

    def is_ours_by_name(self, topic: str, partition: int) -> bool:
        """Return whether a request names the partition that this node hosts."""
        return topic == self.ours.topic_name and partition == INDEX
