"""Backups that all tests share."""

from __future__ import annotations

from pathlib import Path

import pytest

from raft.backup import take_backup
from tests.backup.quorums import compacting
from tests.node.harness.batches import batch_of
from tests.node.harness.loop import NodesInProcess
from tests.node.harness.properties import voters_properties
from tests.node.harness.waiting import eventually
from tests.node.test_compaction import ROUNDS, start_offset, write


@pytest.fixture(scope="session")
def small(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A backup with two segments."""
    folder = tmp_path_factory.mktemp("small")
    with NodesInProcess(voters_properties(folder / "source", voters=1)) as nodes:
        nodes.start().wait_for_leader()
        with nodes.client() as client:
            for number in range(6):
                client.append(batch_of(b"%d" % number * 50))
            take_backup(client, folder / "backup.tar", segment_bytes=500)
    return folder / "backup.tar"


@pytest.fixture(scope="session")
def compacted(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A backup with a snapshot."""
    folder = tmp_path_factory.mktemp("compacted")
    with NodesInProcess(compacting(folder / "source", voters=1)) as nodes:
        nodes.start().wait_for_leader()
        with nodes.client() as client:
            for round_ in range(ROUNDS):
                write(client, {}, round_)
            eventually(lambda: start_offset(nodes, 1), "a log that was cut")
            take_backup(client, folder / "backup.tar")
    return folder / "backup.tar"
