"""kafka-dump-log on the files of an unpacked backup."""

from __future__ import annotations

import tarfile
from pathlib import Path

import pytest

from raft.backup import take_backup
from tests.java.dumped_log import read_dump
from tests.java.kafka import Kafka, MainClass
from tests.node.harness.loop import NodesInProcess
from tests.node.harness.properties import voters_properties
from tests.node.harness.waiting import eventually
from tests.node.test_compaction import ROUNDS, start_offset, write

pytestmark = pytest.mark.java


def test_dump_tool_reads_snapshot_and_segments_of_a_backup(kafka: Kafka, tmp_path: Path) -> None:
    configurations = voters_properties(
        tmp_path / "source",
        voters=1,
        cleanup__policy="compact",
        metadata__log__max__record__bytes__between__snapshots="20000",
        metadata__max__retention__bytes="30000",
        min__cleanable__dirty__ratio="0.1",
    )
    with NodesInProcess(configurations) as nodes:
        nodes.start().wait_for_leader()
        with nodes.client() as client:
            for round_ in range(ROUNDS):
                write(client, {}, round_)
            eventually(lambda: start_offset(nodes, 1), "a snapshot replaced the start of the log")
            write(client, {}, ROUNDS)
            manifest = take_backup(client, tmp_path / "backup.tar")
    with tarfile.open(tmp_path / "backup.tar") as tar:
        tar.extractall(tmp_path / "unpacked", filter="data")

    snapshot, segment = (tmp_path / "unpacked" / member.name for member in manifest.members)
    of_snapshot = dump(kafka, snapshot)
    batches = [row for row in read_dump(dump(kafka, segment)) if "baseOffset" in row]

    assert f"\nSnapshot end offset: {manifest.first_offset}, epoch: 1\n" in of_snapshot
    assert of_snapshot.count("isvalid: true") == of_snapshot.count("isvalid: ") > 2
    assert "SnapshotHeader" in of_snapshot
    assert "SnapshotFooter" in of_snapshot
    assert batches[0]["baseOffset"] == manifest.first_offset
    assert batches[-1]["lastOffset"] + 1 == manifest.end_offset


def dump(kafka: Kafka, file: Path) -> str:
    return kafka.run(MainClass.DUMP_LOG_SEGMENTS, "--files", str(file), "--deep-iteration").require_success()
