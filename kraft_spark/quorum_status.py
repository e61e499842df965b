"""The state of the quorum beside the driver at one time, with a text form and one for notebooks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from kraft_spark.tables import html_table, text_table
from raft.client.results import QuorumDescription, ReplicaDescription

_COLUMNS = ("NodeId", "Status", "LogEndOffset", "Lag", "LastCaughtUp", "Pid", "Endpoint")


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeStatus:
    """A voter or an observer.

    Fields:
        node_id: of the node.
        status: Leader, Follower or Observer, as in Kafka's tools; None without a leader.
        log_end_offset: the end of its log; None if the leader does not know it.
        lag: offsets between the end of its log and the end of the leader's log; None if one of them is unknown.
        last_caught_up_ms: time since it last held the whole log of the leader; None if it is unknown.
        pid: of its process; None if none runs, and for a node that the service did not start.
        endpoint: host:port for clients; None for a node that the service did not start.
    """

    node_id: int
    status: str | None
    log_end_offset: int | None
    lag: int | None
    last_caught_up_ms: int | None
    pid: int | None
    endpoint: str | None

    def cells(self) -> tuple[str, ...]:
        """Return the cells of its row in a table."""
        caught_up = "unknown" if self.last_caught_up_ms is None else f"{self.last_caught_up_ms} ms ago"
        not_running = "" if self.endpoint is None else "not running"
        return (
            str(self.node_id),
            self.status or "unknown",
            _known(self.log_end_offset),
            _known(self.lag),
            caught_up,
            not_running if self.pid is None else str(self.pid),
            self.endpoint or "",
        )


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class QuorumStatus:
    """What `QuorumService.describe` returns; `repr`, and the last line of a notebook's cell, show it as a table.

    Fields:
        cluster_id: the id of the cluster.
        bootstrap_servers: host:port,... of the voters.
        leader_id, leader_epoch: the leader and its epoch; None if no leader responded.
        high_watermark: everything below it is committed; None if it is unknown.
        nodes: the voters, and the observers that fetch from the leader.
        problem: why there is no leader; None if there is one.
    """

    cluster_id: str
    bootstrap_servers: str
    leader_id: int | None
    leader_epoch: int | None
    high_watermark: int | None
    nodes: tuple[NodeStatus, ...]
    problem: str | None = None

    @property
    def has_leader(self) -> bool:
        """Whether a leader responded."""
        return self.leader_id is not None

    def __repr__(self) -> str:
        facts = [f"{name}: {value}" for name, value in self._facts()]
        return "\n".join([*facts, text_table(_COLUMNS, [node.cells() for node in self.nodes])])

    def _repr_html_(self) -> str:
        return html_table("KRaft quorum", self._facts(), _COLUMNS, [node.cells() for node in self.nodes])

    def _facts(self) -> list[tuple[str, object]]:
        leader = [("Problem", self.problem)] if self.problem is not None else [("LeaderEpoch", self.leader_epoch)]
        return [
            ("ClusterId", self.cluster_id),
            ("BootstrapServers", self.bootstrap_servers),
            ("LeaderId", "none" if self.leader_id is None else self.leader_id),
            *leader,
            ("HighWatermark", _known(self.high_watermark)),
        ]


def described_nodes(
    described: QuorumDescription, pids: Mapping[int, int], endpoints: Mapping[int, str], *, now_ms: int
) -> tuple[NodeStatus, ...]:
    """Return the nodes as their leader describes them: the leader, the other voters, the observers.

    Args:
        described: by the leader.
        pids: of the voters that run.
        endpoints: of the voters, for clients.
        now_ms: wall clock time.
    """
    leader = next((voter for voter in described.voters if voter.node_id == described.leader_id), None)
    end = None if leader is None else leader.log_end_offset

    def status(replica: ReplicaDescription, name: str) -> NodeStatus:
        caught_up_ms = now_ms if replica is leader else replica.last_caught_up_ms
        has_lag = end is not None and replica.log_end_offset is not None
        return NodeStatus(
            node_id=replica.node_id,
            status=name,
            log_end_offset=replica.log_end_offset,
            lag=(end or 0) - (replica.log_end_offset or 0) if has_lag else None,
            last_caught_up_ms=None if caught_up_ms is None else max(now_ms - caught_up_ms, 0),
            pid=pids.get(replica.node_id),
            endpoint=endpoints.get(replica.node_id),
        )

    followers = [voter for voter in described.voters if voter is not leader]
    return (
        *([] if leader is None else [status(leader, "Leader")]),
        *(status(voter, "Follower") for voter in sorted(followers, key=lambda voter: voter.node_id)),
        *(status(observer, "Observer") for observer in described.observers),
    )


def unknown_nodes(pids: Mapping[int, int], endpoints: Mapping[int, str]) -> tuple[NodeStatus, ...]:
    """Return the voters when no leader describes them.

    Args:
        pids: of the voters that run.
        endpoints: of all voters, for clients.
    """
    return tuple(
        NodeStatus(
            node_id=node_id,
            status=None,
            log_end_offset=None,
            lag=None,
            last_caught_up_ms=None,
            pid=pids.get(node_id),
            endpoint=endpoint,
        )
        for node_id, endpoint in endpoints.items()
    )


def _known(value: int | None) -> str:
    return "unknown" if value is None else str(value)
