"""Quorums whose log is copied, and those that are restored from the copy."""

from __future__ import annotations

from pathlib import Path

from raft.backup import restore_backup
from raft.config import NodeConfig
from tests.node.harness.properties import Properties, voters_properties


def compacting(folder: Path, *, voters: int = 3) -> dict[int, Properties]:
    """The configurations of a quorum that soon makes snapshots."""
    return voters_properties(
        folder,
        voters=voters,
        cleanup__policy="compact",
        metadata__log__max__record__bytes__between__snapshots="20000",
        metadata__max__retention__bytes="30000",
        min__cleanable__dirty__ratio="0.1",
    )


def without_cluster_id(configurations: dict[int, Properties]) -> dict[int, Properties]:
    return {
        node_id: {key: value for key, value in properties.items() if key != "cluster.id"}
        for node_id, properties in configurations.items()
    }


def restore_all(backup: Path, configurations: dict[int, Properties]) -> str:
    """Restore all nodes of a quorum; return its cluster id."""
    cluster_id = None
    for properties in configurations.values():
        cluster_id = restore_backup(backup, NodeConfig.from_properties(properties), cluster_id=cluster_id).cluster_id
    assert cluster_id is not None
    return cluster_id
