"""A quorum of ours with Kafka's default timeouts, for the programs of Kafka."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from raft.types import Offset
from tests.node.harness.properties import quorum_properties
from tests.processes.node_quorum import NodeQuorum


def kraft_quorum(folder: Path, voters: int = 3, settings: Mapping[str, str] | None = None) -> NodeQuorum:
    """Return a quorum of ours, not started yet.

    Args:
        folder: has the files of all nodes.
        voters: how many.
        settings: further keys of their configurations.
    """
    return NodeQuorum(folder, quorum_properties(folder, voters, settings or {}))


def end_offset(quorum: NodeQuorum) -> Offset:
    """Return the offset of the next record, while no client appends."""
    with quorum.client() as client:
        return client.last_stable_offset()
