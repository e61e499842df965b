"""The quorum beside the driver: started, recovered, watched, and refused where it would do harm."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

import psutil
import pytest
from pyspark.sql import SparkSession

from kraft_spark import QuorumService
from raft.errors import ConfigError
from tests.spark.frames import Frames

pytestmark = pytest.mark.spark

LIMIT_S = 30


def test_quorum_keeps_its_voters_running_and_its_data_over_a_restart(spark: SparkSession, tmp_path: Path) -> None:
    with QuorumService.start(spark, voters=3, data_dir=tmp_path) as quorum:
        frames = Frames(spark, quorum.bootstrap_servers)
        frames.write(frames.values(["kept"]))
        before, cluster_id = quorum.pids, quorum.cluster_id
        assert [*before] == [1, 2, 3]
        assert quorum.leader_id() in before

        killed = quorum.leader_id()
        os.kill(before[killed], signal.SIGKILL)
        deadline_s = time.monotonic() + LIMIT_S
        while quorum.pids.get(killed) in (None, before[killed]):
            assert time.monotonic() < deadline_s, "the voter is not started again"
            time.sleep(0.05)
        assert quorum.leader_id() in quorum.pids
        assert quorum.pids.items() - before.items() == {(killed, quorum.pids[killed])}, "the others run on"
        last = [psutil.Process(pid) for pid in quorum.pids.values()]

    assert quorum.pids == {}
    assert psutil.wait_procs(last, timeout=0)[1] == []
    with pytest.raises(ConfigError, match="holds a quorum of 3 voters; 1 are wanted"):
        QuorumService.start(spark, voters=1, data_dir=tmp_path)

    with QuorumService.start(spark, voters=3, data_dir=str(tmp_path)) as quorum:
        assert quorum.cluster_id == cluster_id
        assert Frames(spark, quorum.bootstrap_servers).log_values() == ["kept"]


def test_second_quorum_on_a_directory_is_refused(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("raft.local.quorum._LOCK_WAIT_S", 0.2)
    with QuorumService.start(spark, voters=1, data_dir=tmp_path) as quorum:
        with pytest.raises(ConfigError, match=str(tmp_path)):
            QuorumService.start(spark, voters=1, data_dir=tmp_path)

        assert quorum.leader_id() == 1, "the first one runs on"


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"message.max.bytes": "lots"}, "message.max.bytes=lots"),
        ({"raft.topic.id": "short"}, "raft.topic.id=short"),
    ],
    ids=["number", "uuid"],
)
def test_quorum_is_refused_when_its_nodes_refuse_a_setting(
    spark: SparkSession, tmp_path: Path, settings: dict[str, str], message: str
) -> None:
    with pytest.raises(ConfigError, match=f"voter 1 does not start: .*{message}"):
        QuorumService.start(spark, voters=1, data_dir=tmp_path, settings=settings)


def test_quorum_of_no_voters_is_refused(spark: SparkSession, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="voters=0: allowed are whole numbers of 1 or more"):
        QuorumService.start(spark, voters=0, data_dir=tmp_path)


def test_quorum_is_refused_without_a_driver_of_its_own(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="needs a classic SparkSession"):
        QuorumService.start(object(), data_dir=tmp_path)  # type: ignore[arg-type]  # as Spark Connect's is none
