"""A quorum whose nodes run the last release or this tree, on the same directories and configurations."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from raft.types import Offset
from tests.node.harness.batches import batches_in, records_of
from tests.processes.commands import KRAFT
from tests.processes.node_process import NodeProcess
from tests.processes.node_quorum import NodeQuorum
from tests.upgrade.release import Release


def serve_of(release: Release | None) -> tuple[str, ...]:
    """Return the command that starts a node of the release, or of this tree if it is None."""
    return (*(KRAFT if release is None else release.kraft), "serve")


def restart(
    quorum: NodeQuorum,
    node_id: int,
    folder: Path,
    release: Release | None = None,
    settings: Mapping[str, str] | None = None,
) -> None:
    """Stop a node with SIGTERM, start it again on its directory, and wait until it has caught up.

    Args:
        quorum: gets the new process.
        node_id: the node.
        folder: of its output.
        release: what it runs from now on; this tree if None.
        settings: keys of its configuration that change.
    """
    stop(quorum, node_id)
    start(quorum, node_id, folder, release, settings)


def stop(quorum: NodeQuorum, node_id: int) -> None:
    """Stop a node with SIGTERM."""
    assert quorum.nodes[node_id].terminate() == 0, quorum.nodes[node_id].last_output


def start(
    quorum: NodeQuorum,
    node_id: int,
    folder: Path,
    release: Release | None = None,
    settings: Mapping[str, str] | None = None,
) -> None:
    """Start a node that was stopped; see `restart`."""
    properties = quorum.nodes[node_id].properties | dict(settings or {})
    quorum.nodes[node_id] = NodeProcess(properties, folder / f"process-{node_id}", command=serve_of(release))
    quorum.start(node_id)
    quorum.settle()


def values_of(quorum: NodeQuorum) -> list[bytes | None]:
    """Return the value of each record in the order of the log, those of aborted transactions too."""
    found: list[bytes | None] = []
    with quorum.client() as client:
        offset, end = Offset(0), client.last_stable_offset()
        while offset < end:
            batches = batches_in(client.fetch(offset).records)
            found += [record.value for record in records_of(batches)]
            offset = batches[-1].header.end_offset
    return found
