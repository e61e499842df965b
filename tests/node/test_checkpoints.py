"""The checkpoints of a running node: recovery point, high watermark, table of writers."""

from __future__ import annotations

from pathlib import Path

import pytest

from raft.records.batch import build_batch
from raft.records.record import Record
from raft.storage.disk import DiskFiles
from raft.storage.high_watermark import HIGH_WATERMARK_NAME, HighWatermarkCheckpoint
from raft.storage.recovery_point import RECOVERY_POINT_NAME, RecoveryPoint
from raft.types import Offset
from raft.writers import WriteKey
from tests.node.harness.batches import batch_of
from tests.node.harness.loop import NodesInProcess
from tests.node.harness.properties import voters_properties
from tests.node.harness.waiting import eventually

TOPIC = "__cluster_metadata"
PARTITION = f"{TOPIC}-0"


def checkpoints(log_dir: Path) -> tuple[Offset, Offset]:
    """Recovery point and high watermark, as the disk says."""
    files = DiskFiles(log_dir)
    point = RecoveryPoint(files, f"{PARTITION}/{RECOVERY_POINT_NAME}", topic=TOPIC, partition=0)
    mark = HighWatermarkCheckpoint(files, f"{PARTITION}/{HIGH_WATERMARK_NAME}", topic=TOPIC, partition=0)
    return point.offset, mark.offset


@pytest.mark.rule("LOG-18", "LOG-21")
def test_checkpoints_reach_the_end_of_the_log_when_nothing_more_is_appended(tmp_path: Path) -> None:
    configurations = voters_properties(tmp_path, voters=3)
    with NodesInProcess(configurations) as nodes:
        nodes.start().wait_for_leader()
        with nodes.client() as client:
            for _ in range(3):
                end = Offset(client.append(batch_of(b"a", b"b")).base_offset + 2)

        eventually(
            lambda: {checkpoints(Path(each["log.dirs"])) for each in configurations.values()} == {(end, end)},
            "the checkpoints of all three say everything",
        )


@pytest.mark.rule("LOG-22", "CLIENT-8")
def test_write_is_known_again_when_a_node_starts_with_a_producer_snapshot(tmp_path: Path) -> None:
    def keyed(version: int) -> bytes:
        key = WriteKey("a query", version)
        return build_batch(
            [Record(value=b"x" * (3 << 20))],
            producer_id=key.producer_id,
            producer_epoch=key.producer_epoch,
            base_sequence=key.base_sequence,
        )

    configurations = voters_properties(tmp_path, voters=1)
    configurations[1]["metadata.log.segment.bytes"] = str(8 << 20)
    folder = Path(configurations[1]["log.dirs"]) / PARTITION
    with NodesInProcess(configurations) as nodes:
        nodes.start().wait_for_leader()
        with nodes.client() as client:
            offsets = [client.append(keyed(version)).base_offset for version in range(4)]
        eventually(lambda: list(folder.glob("*.snapshot")), "a producer snapshot")
        nodes.leave(1)

        nodes.start().wait_for_leader()
        with nodes.client() as client:
            assert client.append(keyed(3)).base_offset == offsets[3]
            assert client.append(keyed(4)).base_offset > offsets[3]
