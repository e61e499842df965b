"""The quorum beside the driver: started, recovered, watched, and refused where it cannot work."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path
from types import SimpleNamespace
from urllib.request import urlopen
from xml.etree import ElementTree

import psutil
import pytest
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from kraft_spark import QuorumService
from kraft_spark.quorum_status import QuorumStatus
from kraft_spark.spark_application import SparkApplication
from raft.client import Client
from raft.errors import ConfigError
from raft.local import LocalQuorum
from tests.local.client_config import client_from
from tests.local.conftest import QUICK
from tests.node.harness.batches import batch_of
from tests.node.harness.waiting import eventually
from tests.workload.committed import read_all

pytestmark = pytest.mark.spark


def client_of(quorum: QuorumService) -> Client:
    """A client with the file that other programs of the user have."""
    return client_from(quorum.client_config, cluster_id=quorum.cluster_id)


def test_quorum_keeps_its_voters_running_and_its_data_over_a_restart(spark: SparkSession, tmp_path: Path) -> None:
    with QuorumService.start(spark, voters=3, data_dir=tmp_path, settings=QUICK) as quorum:
        with client_of(quorum) as client:
            client.append(batch_of(b"kept"))
        before, cluster_id = quorum.pids, quorum.cluster_id
        assert [*before] == [1, 2, 3]
        assert quorum.leader_id() in before

        killed = quorum.leader_id()
        os.kill(before[killed], signal.SIGKILL)
        eventually(lambda: quorum.pids.get(killed) not in (None, before[killed]), "it is started again")
        assert quorum.leader_id() in quorum.pids
        assert quorum.pids.items() - before.items() == {(killed, quorum.pids[killed])}, "the others run on"
        last = [psutil.Process(pid) for pid in quorum.pids.values()]

    assert quorum.pids == {}
    assert psutil.wait_procs(last, timeout=0)[1] == []
    with pytest.raises(ConfigError, match="has a quorum of 3 voters, expected 1"):
        QuorumService.start(spark, voters=1, data_dir=tmp_path)

    with QuorumService.start(spark, voters=3, data_dir=str(tmp_path), settings=QUICK) as quorum:
        assert quorum.cluster_id == cluster_id
        with client_of(quorum) as client:
            assert [record.value for record in read_all(client)] == [b"kept"]


def test_voters_serve_metrics_where_the_service_says(spark: SparkSession, tmp_path: Path) -> None:
    with QuorumService.start(spark, voters=1, data_dir=tmp_path, settings=QUICK, metrics=True) as quorum:
        (url,) = quorum.metrics_urls.values()
        scraped = urlopen(url, timeout=10).read().decode()

        with pytest.raises(ConfigError, match="metrics=True"):
            QuorumService.start(spark, voters=1, data_dir=tmp_path, settings=QUICK)

    assert "kafka_server_raft_metrics_current_leader 1.0" in scraped


def test_second_start_on_a_directory_gives_the_quorum_that_runs(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    data_dir, settings = tmp_path / "data", {"message.max.bytes": 9000}
    with QuorumService.start(spark, voters=1, data_dir=data_dir, settings=settings) as quorum:
        pids = quorum.pids
        again = QuorumService.start(spark, voters=1, data_dir="data", settings={"message.max.bytes": "9000"})

        assert again.pids == pids
        again.stop()
        assert quorum.pids == pids, "the quorum runs on for its first user"
        with pytest.raises(ConfigError, match=r"runs a quorum on data with voters=1, .* not with voters=3, "):
            QuorumService.start(spark, voters=3, data_dir="data")

    with QuorumService.start(spark, voters=1, data_dir="data") as another:
        assert another.pids != pids
        assert another.leader_id() == 1


def test_read_of_a_quorum_that_the_application_has_stopped_says_so(spark: SparkSession, tmp_path: Path) -> None:
    with QuorumService.start(spark, voters=1, data_dir=tmp_path, settings=QUICK) as quorum:
        read = spark.read.format("kraft").option("kraft.bootstrap.servers", quorum.bootstrap_servers)
        read = read.option("kraft.default.api.timeout.ms", "1000")
        assert read.load().count() == 0

    with pytest.raises(PySparkException, match=f"This application has stopped the quorum of {tmp_path}: call "):
        read.load().count()

    with QuorumService.start(spark, voters=1, data_dir=tmp_path, settings=QUICK):
        assert read.load().count() == 0


def test_quorum_on_a_directory_that_another_process_uses_is_refused(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("raft.local.lock._WAIT_S", 0.2)
    with (
        LocalQuorum.start(tmp_path, voters=1) as quorum,
        pytest.raises(ConfigError, match=str(tmp_path)),
    ):
        QuorumService.start(spark, voters=1, data_dir=tmp_path)
    assert quorum.pids == {}


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
    with pytest.raises(ConfigError, match=f"^{message}"):
        QuorumService.start(spark, voters=1, data_dir=tmp_path, settings=settings)


def test_quorum_warns_when_executors_may_be_on_other_machines(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(SparkApplication, "is_local", False)

    with pytest.warns(UserWarning, match="listen on 127.0.0.1") as warned:
        QuorumService.start(spark, voters=1, data_dir=tmp_path).stop()

    assert warned[0].filename == __file__


def test_quorum_of_no_voters_is_refused(spark: SparkSession, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="voters=0: expected a whole number of 1 or more"):
        QuorumService.start(spark, voters=0, data_dir=tmp_path)


def test_quorum_is_refused_without_a_driver_of_its_own(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="needs a classic SparkSession"):
        QuorumService.start(object(), data_dir=tmp_path)  # type: ignore[arg-type]  # as Spark Connect's is none


def test_quorum_is_refused_when_its_application_is_over(tmp_path: Path) -> None:
    stopped = SimpleNamespace(_jvm=object(), sparkContext=SimpleNamespace(_jsc=None))

    with pytest.raises(ConfigError, match="needs a SparkSession that is not stopped"):
        QuorumService.start(stopped, data_dir=tmp_path)  # type: ignore[arg-type]  # what a session is like after stop()


def test_description_shows_each_voter_and_follows_the_leader(spark: SparkSession, tmp_path: Path) -> None:
    with QuorumService.start(spark, voters=3, data_dir=tmp_path, settings=QUICK) as quorum:
        with client_of(quorum) as client:
            client.append(batch_of(b"one", b"two"))
        described = eventually(lambda: _described_whole(quorum), "the leader has heard from each follower")
        leader, *followers = described.nodes
        shown = repr(quorum)
        markup = ElementTree.fromstring(quorum._repr_html_())
        os.kill(quorum.pids[leader.node_id], signal.SIGKILL)
        later = eventually(lambda: _leader_after(quorum, described), "another epoch has a leader")

    assert (described.cluster_id, described.problem) == (quorum.cluster_id, None)
    assert described.bootstrap_servers == quorum.bootstrap_servers
    assert (leader.node_id, leader.status, leader.lag) == (described.leader_id, "Leader", 0)
    assert described.high_watermark is not None
    assert leader.log_end_offset is not None
    assert 3 <= described.high_watermark <= leader.log_end_offset
    assert [follower.status for follower in followers] == ["Follower", "Follower"]
    assert all(follower.pid is not None and follower.lag is not None for follower in followers)
    assert {node.endpoint for node in described.nodes} == {*quorum.bootstrap_servers.split(",")}
    assert later.leader_epoch is not None
    assert f"LeaderEpoch: {later.leader_epoch}\n" in repr(later)
    assert shown.startswith("<QuorumService 3 of 3 voters running ")
    assert quorum.bootstrap_servers in shown
    assert [row[2].text for row in markup.iter("tr")][1:] == quorum.bootstrap_servers.split(",")


def _described_whole(quorum: QuorumService) -> QuorumStatus | None:
    """The status when the leader knows how far each voter is."""
    found = quorum.describe()
    is_whole = len(found.nodes) == 3 and all(node.lag is not None for node in found.nodes)
    return found if is_whole else None


def _leader_after(quorum: QuorumService, before: QuorumStatus) -> QuorumStatus | None:
    """The status when there is a leader of a later epoch."""
    found = quorum.describe()
    return found if (found.leader_epoch or 0) > (before.leader_epoch or 0) else None


def test_description_and_representation_tell_of_a_quorum_without_a_leader(spark: SparkSession, tmp_path: Path) -> None:
    with QuorumService.start(spark, voters=2, data_dir=tmp_path, settings=QUICK) as quorum:
        pids = quorum.pids
        for pid in pids.values():
            os.kill(pid, signal.SIGSTOP)
        try:
            began_s = time.monotonic()
            described = quorum.describe(timeout_ms=300)
            described_s = time.monotonic() - began_s
            shown, markup = repr(quorum), quorum._repr_html_()
            shown_s = time.monotonic() - began_s - described_s
        finally:
            for pid in pids.values():
                os.kill(pid, signal.SIGCONT)

    assert not described.has_leader
    assert described.problem
    assert described.problem in repr(described)
    assert [(node.node_id, node.status, node.pid) for node in described.nodes] == [
        (1, None, pids[1]),
        (2, None, pids[2]),
    ]
    assert described_s < 5
    assert shown_s < 0.2, "no request is sent"
    assert shown.startswith("<QuorumService 2 of 2 voters running ")
    assert "2 of 2 voters running" in markup


def test_stopped_quorum_is_described_and_shown_as_stopped(spark: SparkSession, tmp_path: Path) -> None:
    quorum = QuorumService.start(spark, voters=1, data_dir=tmp_path, settings=QUICK)

    quorum.stop()

    described = quorum.describe()
    assert (described.leader_id, described.problem) == (None, "the service is stopped")
    assert [node.pid for node in described.nodes] == [None]
    assert repr(quorum).startswith("<QuorumService stopped ")
    assert "not running" in quorum._repr_html_()
    assert "QuorumService, stopped" in quorum._repr_html_()
