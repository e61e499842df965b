"""Which nodes keep flushed records in the page cache: those that have readers."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from raft.local.ports import free_ports
from tests.node.harness.batches import batch_of
from tests.node.harness.loop import NodesInProcess
from tests.node.harness.properties import bootstrap_servers, node_properties, voters_properties
from tests.node.harness.waiting import eventually

pytestmark = pytest.mark.skipif(not hasattr(os, "posix_fadvise"), reason="macOS does not have the call")

OBSERVER = 9
BATCH_BYTES = 3 << 19
"""More than the smallest part of a file that is dropped."""


@pytest.fixture
def dropped_by(monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """The files of which a part was dropped from the page cache."""
    files: list[Path] = []
    advise = os.posix_fadvise

    def record(descriptor: int, offset: int, size_bytes: int, advice: int) -> None:
        files.append(Path(f"/proc/self/fd/{descriptor}").readlink())
        advise(descriptor, offset, size_bytes, advice)

    monkeypatch.setattr(os, "posix_fadvise", record)
    return files


def append(nodes: NodesInProcess, batches: int) -> None:
    with nodes.client() as client:
        for _ in range(batches):
            client.append(batch_of(bytes(BATCH_BYTES)))


def nodes_of(files: list[Path], folder: Path) -> set[int]:
    """The nodes to which files belong."""
    return {int(file.relative_to(folder).parts[0].rpartition("-")[2]) for file in files}


@pytest.mark.rule("LOG-23")
def test_only_following_voters_drop_flushed_records_from_the_page_cache(tmp_path: Path, dropped_by: list[Path]) -> None:
    configurations = voters_properties(tmp_path)
    configurations[OBSERVER] = node_properties(
        tmp_path / f"node-{OBSERVER}",
        node_id=OBSERVER,
        port=free_ports(1)[0],
        controller__quorum__bootstrap__servers=bootstrap_servers(*configurations.values()),
    )
    with NodesInProcess(configurations) as nodes:
        nodes.start().wait_for_leader()
        first_leader = nodes.leader()
        assert first_leader is not None
        followers = {1, 2, 3} - {first_leader}

        append(nodes, 4)
        eventually(lambda: nodes_of(dropped_by, tmp_path) == followers, "both followers drop what they flushed")

        dropped_by.clear()
        nodes.stop(first_leader)
        nodes.wait_for_leader()
        (follower,) = {1, 2, 3} - {first_leader, nodes.leader()}
        append(nodes, 4)
        eventually(lambda: nodes_of(dropped_by, tmp_path) == {follower}, "the new leader keeps what it flushes")
