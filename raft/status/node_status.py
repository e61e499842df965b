"""The report about one node: its files and its responses together."""

from __future__ import annotations

import platform
from dataclasses import dataclass
from typing import Any

from raft.client import NodeDescription, QuorumDescription
from raft.config import NodeConfig
from raft.status.directory import DirectoryStatus, directory_status
from raft.status.responses import NodeResponses, ask_node
from raft.version import __version__

NOT_RUNNING = "not running"


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeStatus:
    """A report about a node.

    Fields:
        is_running: whether the node responds on its listener.
        facts: groups of facts by their names; None stands for unknown. Sizes are in bytes, times in milliseconds.
        problems: what the operator may have to act on, one sentence each.
    """

    is_running: bool
    facts: dict[str, dict[str, Any]]
    problems: tuple[str, ...]


def node_status(config: NodeConfig, *, timeout_ms: int) -> NodeStatus:
    """Read the directory of a node on this machine, and ask the node.

    Args:
        config: of the node.
        timeout_ms: how long each response may take.
    """
    # The files come first. So a log end that the node names later is never behind the one in the files.
    directory = directory_status(config)
    responses = ask_node(config, timeout_ms=timeout_ms)
    problems = [*responses.problems, *directory.problems, *_contradictions(config, directory, responses)]
    return NodeStatus(
        is_running=responses.own is not None and _node_id(responses.own) == config.node_id,
        facts={
            "Node": _node(config, directory, responses),
            "Log": _log(directory, responses),
            "Disk": {
                "LogBytes": directory.log_bytes,
                "FreeBytes": directory.free_bytes,
                "ReserveBytes": config.reserve_bytes,
                "CleanupPolicy": config.cleanup_policy.value,
                "Directory": str(config.log_dir),
            },
            "Snapshot": _snapshot(directory),
            "Versions": {
                "kraft-spark": __version__,
                "python": platform.python_version(),
                "kraft.version": directory.kraft_version,
                **responses.features,
            },
        },
        problems=tuple(problems),
    )


def _node_id(described: NodeDescription | QuorumDescription) -> int:
    """Return the node that responded: the only one that describes the quorum itself is the leader."""
    return described.node_id if isinstance(described, NodeDescription) else described.leader_id


def _node(config: NodeConfig, directory: DirectoryStatus, responses: NodeResponses) -> dict[str, Any]:
    own, stored = responses.own, directory.election_state
    role, epoch, leader = NOT_RUNNING, None, None
    if isinstance(own, NodeDescription):
        role, epoch, leader = own.role if own.is_voter else f"{own.role} (observer)", own.leader_epoch, own.leader_id
    elif own is not None:
        role, epoch, leader = "Leader", own.leader_epoch, own.leader_id
    elif stored is not None:
        epoch, leader = stored.epoch, stored.leader_id
    return {
        "NodeId": config.node_id,
        "Role": role,
        "LeaderEpoch": epoch,
        "LeaderId": leader,
        "Listener": str(responses.endpoint),
        "ClusterId": directory.cluster_id if own is None else own.cluster_id,
        "DirectoryId": directory.directory_id,
    }


def _log(directory: DirectoryStatus, responses: NodeResponses) -> dict[str, Any]:
    own, leader = responses.own, responses.leader
    end, high_watermark = directory.log_end_offset, directory.high_watermark
    if isinstance(own, NodeDescription):
        end, high_watermark = own.log_end_offset, own.high_watermark
    elif own is not None:
        end, high_watermark = None if leader is None else leader.log_end_offset, own.high_watermark
    leader_end = None if leader is None else leader.log_end_offset
    return {
        "LogStartOffset": directory.log_start_offset,
        "LogEndOffset": end,
        "HighWatermark": high_watermark,
        # The leader was asked after the node, and may have appended meanwhile.
        "LagRecords": None if own is None or leader_end is None or end is None else max(leader_end - end, 0),
    }


def _snapshot(directory: DirectoryStatus) -> dict[str, Any]:
    snapshot = directory.snapshot
    if snapshot is None:
        return {"File": None}
    return {
        "File": snapshot.name,
        "EndOffset": snapshot.end_offset,
        "Epoch": snapshot.epoch,
        "SizeBytes": snapshot.size_bytes,
        "AgeMs": snapshot.age_ms,
    }


def _contradictions(config: NodeConfig, directory: DirectoryStatus, responses: NodeResponses) -> list[str]:
    found, own = [], responses.own
    if own is not None and _node_id(own) != config.node_id:
        found.append(f"{responses.endpoint} responds as node {_node_id(own)}, expected node {config.node_id}")
    if own is not None and directory.cluster_id not in (None, own.cluster_id):
        found.append(f"{responses.endpoint} responds as cluster {own.cluster_id}, the directory has another cluster id")
    if config.cluster_id is not None and directory.cluster_id not in (None, config.cluster_id):
        found.append(f"meta.properties has cluster.id={directory.cluster_id}, expected {config.cluster_id}")
    if isinstance(own, NodeDescription) and own.leader_id is None:
        found.append("the node knows no leader: look at the other voters")
    if directory.free_bytes is not None and directory.free_bytes <= config.reserve_bytes:
        found.append(
            f"the disk has {directory.free_bytes} bytes free, expected more than "
            f"raft.reserve.bytes={config.reserve_bytes}: no records are appended until there is room"
        )
    return found
