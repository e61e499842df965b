"""`kraft quorum describe`: the fields and columns of kafka-metadata-quorum (rules DESCRIBE-7..11)."""

from __future__ import annotations

import time
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Annotated, Any

import typer

from raft.cli.connection import BootstrapServer, CommandConfig, Timeout, client_for
from raft.cli.printable import to_json
from raft.client import descriptions
from raft.client.results import NodeDescription, QuorumDescription, ReplicaDescription
from raft.errors import QuorumUnavailableError, RaftError
from raft.printable import printable
from raft.types import ZERO_UUID

quorum = typer.Typer(help="The quorum as its leader sees it.", no_args_is_help=True)

_COLUMNS = ("NodeId", "DirectoryId", "LogEndOffset", "Lag", "LastFetchTimestamp", "LastCaughtUpTimestamp", "Status")


@quorum.callback()
def group() -> None:
    """The quorum as its leader sees it."""


@quorum.command()
def describe(
    bootstrap_server: BootstrapServer = None,
    status: Annotated[bool, typer.Option("--status", help="A summary.")] = False,
    replication: Annotated[bool, typer.Option("--replication", help="Each replica.")] = False,
    human_readable: Annotated[
        bool, typer.Option("--human-readable", help="Times as 'N ms ago'; with --replication.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="As JSON.")] = False,
    command_config: CommandConfig = None,
    timeout_ms: Timeout = 10_000,
) -> None:
    """Describe the quorum: exactly one of --status and --replication. Any node may be asked; it finds the leader.

    Without a leader, the view of each node that responds is printed, and the exit code is 1.
    """
    if status == replication:
        raise typer.BadParameter("expected exactly one of --status and --replication")
    if human_readable and not replication:
        raise typer.BadParameter("--human-readable needs --replication")
    described = _describe(bootstrap_server, timeout_ms, command_config, as_json=as_json)
    if status:
        summary = quorum_status(described)
        typer.echo(to_json(summary) if as_json else _lines(summary))
    else:
        rows = quorum_replication(described)
        typer.echo(to_json(rows) if as_json else _table(rows, human_readable=human_readable))


def _describe(
    bootstrap_server: str | None, timeout_ms: int, command_config: Path | None, *, as_json: bool
) -> QuorumDescription:
    """Return the leader's description of the quorum; print the views of the nodes if the leader cannot be asked."""
    with client_for(bootstrap_server, timeout_ms, command_config) as client:
        try:
            return client.describe_quorum()
        except QuorumUnavailableError:
            views: dict[str, NodeDescription] = {}
            for server in client.settings.bootstrap_servers:
                with suppress(RaftError):
                    described = client.call(descriptions.describe_node, server)
                    # The node may reach a leader that this client does not reach.
                    if isinstance(described, QuorumDescription):
                        return described
                    views[str(server)] = described
            if views:
                typer.echo(_views(views, as_json=as_json))
            raise


def node_view(described: NodeDescription) -> dict[str, Any]:
    """Return what a node that does not lead says of itself."""
    return {
        "ClusterId": described.cluster_id,
        "NodeId": described.node_id,
        "Role": described.role if described.is_voter else f"{described.role} (observer)",
        "LeaderId": _or_minus_one(described.leader_id),
        "LeaderEpoch": described.leader_epoch,
        "LogEndOffset": _or_minus_one(described.log_end_offset),
        "HighWatermark": _or_minus_one(described.high_watermark),
    }


def _views(views: dict[str, NodeDescription], *, as_json: bool) -> str:
    if as_json:
        return to_json({"NodeViews": {server: node_view(described) for server, described in views.items()}})
    return "\n\n".join(
        f"View of the node at {server}, which does not lead:\n{_lines(node_view(described))}"
        for server, described in views.items()
    )


def quorum_status(described: QuorumDescription) -> dict[str, Any]:
    """Return the summary, with the lag of the slowest voter in records and in time (DESCRIBE-8)."""
    leader = next(voter for voter in described.voters if voter.node_id == described.leader_id)
    slowest = min(described.voters, key=lambda voter: (_end(voter), voter.node_id))
    return {
        "ClusterId": described.cluster_id,
        "LeaderId": described.leader_id,
        "LeaderEpoch": described.leader_epoch,
        "HighWatermark": -1 if described.high_watermark is None else described.high_watermark,
        "MaxFollowerLag": _end(leader) - _end(slowest),
        "MaxFollowerLagTimeMs": _lag_time_ms(leader, slowest),
        "CurrentVoters": [_node(voter, described) for voter in described.voters],
        "CurrentObservers": [_node(observer, described) for observer in described.observers],
    }


def quorum_replication(described: QuorumDescription) -> list[dict[str, Any]]:
    """Return one row for each replica: the leader, the other voters, the observers (DESCRIBE-9, 10)."""
    leader = next(voter for voter in described.voters if voter.node_id == described.leader_id)
    followers = [voter for voter in described.voters if voter is not leader]
    return [
        *_rows([leader], leader, "Leader"),
        *_rows(followers, leader, "Follower"),
        *_rows(described.observers, leader, "Observer"),
    ]


def _rows(replicas: Iterable[ReplicaDescription], leader: ReplicaDescription, status: str) -> list[dict[str, Any]]:
    return [
        {
            "NodeId": replica.node_id,
            "DirectoryId": replica.directory_id,
            "LogEndOffset": _end(replica),
            "Lag": _end(leader) - _end(replica),
            "LastFetchTimestamp": _or_minus_one(replica.last_fetch_ms),
            "LastCaughtUpTimestamp": _or_minus_one(replica.last_caught_up_ms),
            "Status": status,
            "LagTimeMs": _lag_time_ms(leader, replica),
        }
        for replica in replicas
    ]


def _end(replica: ReplicaDescription) -> int:
    return _or_minus_one(replica.log_end_offset)


def _or_minus_one(number: int | None) -> int:
    return -1 if number is None else number


def _lag_time_ms(leader: ReplicaDescription, replica: ReplicaDescription) -> int:
    if leader is replica:
        return 0
    if leader.last_caught_up_ms is None or replica.last_caught_up_ms is None:
        return -1
    return leader.last_caught_up_ms - replica.last_caught_up_ms


def _node(replica: ReplicaDescription, described: QuorumDescription) -> dict[str, Any]:
    """Return one member of CurrentVoters or CurrentObservers, without unknown values, as in Kafka."""
    node: dict[str, Any] = {"id": replica.node_id}
    if replica.directory_id != ZERO_UUID:
        node["directoryId"] = replica.directory_id
    endpoints = described.endpoints.get(replica.node_id, ())
    if endpoints:
        node["endpoints"] = [f"{endpoint.name}://{endpoint}" for endpoint in endpoints]
    return node


def _lines(summary: dict[str, Any]) -> str:
    return "\n".join(
        f"{name + ':':<24}{to_json(value) if isinstance(value, list) else printable(str(value))}"
        for name, value in summary.items()
    )


def _table(rows: list[dict[str, Any]], *, human_readable: bool) -> str:
    now_ms = int(time.time() * 1000)

    def cell(row: dict[str, Any], column: str) -> str:
        value = row[column]
        if human_readable and column.endswith("Timestamp") and value >= 0:
            return f"{max(now_ms - value, 0)} ms ago"
        return str(value)

    cells = [list(_COLUMNS), *([cell(row, column) for column in _COLUMNS] for row in rows)]
    widths = [max(len(line[at]) for line in cells) for at in range(len(_COLUMNS))]
    # Each column ends with a tab as in Kafka's tools, so scripts for those tools can read this output.
    return "\n".join("".join(f"{text:<{width}}\t" for text, width in zip(line, widths, strict=True)) for line in cells)
