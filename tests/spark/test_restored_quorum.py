"""A quorum that was restored from a backup: its new cluster id keeps the checkpoints of old queries away."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.errors import StreamingQueryException
from pyspark.sql import SparkSession

from raft.backup import restore_backup, take_backup
from raft.config import NodeConfig
from tests.node.harness.properties import CLUSTER_ID, voters_properties
from tests.processes.node_quorum import NodeQuorum
from tests.spark.frames import Frames, numbered
from tests.spark.streams import Delivered

pytestmark = pytest.mark.spark


def test_checkpoint_of_the_old_quorum_is_refused_and_a_new_query_reads_everything(
    spark: SparkSession, tmp_path: Path
) -> None:
    (properties,) = voters_properties(tmp_path, voters=1).values()
    backup = tmp_path / "quorum.backup"
    with NodeQuorum(tmp_path / "old", {1: properties}).start() as quorum:
        frames = Frames(spark, quorum.bootstrap_servers)
        frames.write(frames.values(numbered("old", 5)).coalesce(1))
        with quorum.client() as client:
            take_backup(client, backup)
        # These records are lost, and their offsets are used again.
        frames.write(frames.values(numbered("lost", 3)).coalesce(1))
        Delivered(frames.stream(startingOffsets="earliest"), tmp_path / "checkpoint").run()

    # The same address, another disk.
    restored = {key: value for key, value in properties.items() if key != "cluster.id"}
    restored["log.dirs"] = str(tmp_path / "new disk")
    cluster_id = restore_backup(backup, NodeConfig.from_properties(restored)).cluster_id
    with NodeQuorum(tmp_path / "new", {1: restored}).start():
        frames.write(frames.values(numbered("new", 4)).coalesce(1))
        old = Delivered(frames.stream(), tmp_path / "checkpoint")
        with pytest.raises(StreamingQueryException) as refused:
            old.run()
        new = Delivered(frames.stream(startingOffsets="earliest"), tmp_path / "another checkpoint")
        new.run()

    assert f"has cluster id {cluster_id}, expected {CLUSTER_ID} as in the checkpoint" in str(refused.value)
    assert old.values == []
    assert new.values == numbered("old", 5) + numbered("new", 4)
