"""A cluster of Apache Kafka: our node follows it as an observer, and our client and Spark read its metadata."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from raft.client import Client, ClientSettings
from raft.errors import ConfigError, OffsetOutOfRangeError
from raft.records.batches import read_batches
from raft.types import Batch, Endpoint, Offset
from tests.java.cluster import BROKER_ID, CLUSTER_ID, CONTROLLER_ID, KafkaCluster
from tests.java.kafka import Kafka, MainClass
from tests.java.observer import OBSERVER_ID, kraft_observer
from tests.java.quorum_tool import read_replication, read_status
from tests.node.harness.waiting import eventually
from tests.processes.kraft import kraft, kraft_json
from tests.spark.session import spark as spark
from tests.spark.streams import Delivered

TOPIC_RECORD = b"\x01\x02"
"""The begin of the value of a TopicRecord: the frame version and the API key of the record."""


@pytest.fixture(scope="module")
def cluster(kafka: Kafka, tmp_path_factory: pytest.TempPathFactory) -> Iterator[KafkaCluster]:
    """A cluster that writes a snapshot after every few records, and deletes the log before it a minute later."""
    settings = {
        "metadata.log.max.record.bytes.between.snapshots": "2000",
        "internal.metadata.log.segment.bytes": "4000",
        "metadata.max.retention.bytes": "8000",
    }
    with KafkaCluster(kafka, tmp_path_factory.mktemp("cluster"), settings).start() as running:
        running.create_topics("first", partitions=30)
        eventually(running.latest_snapshot, "a snapshot")
        yield running


@pytest.fixture(scope="module")
def plain_cluster(kafka: Kafka, tmp_path_factory: pytest.TempPathFactory) -> Iterator[KafkaCluster]:
    """A cluster without snapshots."""
    with KafkaCluster(kafka, tmp_path_factory.mktemp("plain")).start() as running:
        yield running


def client_of(*servers: Endpoint) -> Client:
    return Client(ClientSettings(bootstrap_servers=servers, api_timeout_ms=20_000))


def read_log(client: Client, start_offset: Offset | None = None) -> list[Batch]:
    """Return all committed records, fetched a few at a time."""
    batches: list[Batch] = []
    offset = client.log_start_offset() if start_offset is None else start_offset
    while offset < client.last_stable_offset():
        batches += list(read_batches(client.fetch(offset, max_bytes=1000).records))
        offset = batches[-1].header.end_offset
    return batches


def test_observer_follows_a_cluster_and_is_listed(plain_cluster: KafkaCluster, kafka: Kafka, tmp_path: Path) -> None:
    with kraft_observer(tmp_path, plain_cluster.controller) as observer, client_of(plain_cluster.controller) as client:
        observer.wait_for_end(client.last_stable_offset())
        plain_cluster.create_topics("while-followed", partitions=3)
        observer.wait_for_end(client.last_stable_offset())

        rows = read_replication(
            kafka.output(
                MainClass.METADATA_QUORUM,
                *("--bootstrap-controller", str(plain_cluster.controller), "describe", "--replication"),
            )
        )
        kept = observer.batches()
        leaders = read_log(client)

    assert {row["NodeId"]: row["Status"] for row in rows} == {
        CONTROLLER_ID: "Leader",
        BROKER_ID: "Observer",
        OBSERVER_ID: "Observer",
    }
    assert {row["Lag"] for row in rows} == {0}
    assert kept == leaders
    assert "Follower" in observer.last_output


@pytest.mark.rule("FETCH-23", "LOG-15")
def test_observer_loads_a_snapshot_and_follows_from_its_end(cluster: KafkaCluster, tmp_path: Path) -> None:
    snapshot = cluster.latest_snapshot()
    assert snapshot is not None
    with kraft_observer(tmp_path, cluster.controller) as observer, client_of(cluster.controller) as client:
        observer.wait_for_end(client.last_stable_offset())
        cluster.create_topics("behind-the-snapshot")
        observer.wait_for_end(client.last_stable_offset())
        (loaded,) = observer.snapshots()
        kept = observer.batches()
        leaders = read_log(client, kept[0].header.base_offset)

    assert loaded.name >= snapshot.name
    assert loaded.read_bytes() == (cluster.partition / loaded.name).read_bytes()
    assert kept == leaders


def test_observer_continues_after_its_snapshot_when_it_is_restarted(cluster: KafkaCluster, tmp_path: Path) -> None:
    with client_of(cluster.controller) as client:
        with kraft_observer(tmp_path, cluster.controller) as observer:
            observer.wait_for_end(client.last_stable_offset())
            observer.kill()
        cluster.create_topics("while-the-observer-was-down")
        with kraft_observer(tmp_path, cluster.controller) as observer:
            observer.wait_for_end(client.last_stable_offset())
            kept = observer.batches()
        leaders = read_log(client, kept[0].header.base_offset)

    assert kept == leaders


def test_node_that_is_configured_as_a_voter_of_a_cluster_stops_before_it_votes(
    plain_cluster: KafkaCluster, kafka: Kafka, tmp_path: Path
) -> None:
    arguments = ("--bootstrap-controller", str(plain_cluster.controller), "describe", "--status")
    before = read_status(kafka.output(MainClass.METADATA_QUORUM, *arguments))

    with kraft_observer(tmp_path, plain_cluster.controller, votes=True) as node:
        node.wait_until_printed("this node is set up to vote beside it")
        node.wait()

    after = read_status(kafka.output(MainClass.METADATA_QUORUM, *arguments))
    assert "leave out controller.quorum.voters" in node.last_output
    assert [after[name] for name in ("LeaderId", "LeaderEpoch")] == [CONTROLLER_ID, before["LeaderEpoch"]]


@pytest.mark.parametrize("server", ["controller", "broker"])
def test_client_reads_the_metadata_whichever_server_it_asks_first(cluster: KafkaCluster, server: str) -> None:
    with client_of(getattr(cluster, server)) as client:
        batches = read_log(client)
        end = client.last_stable_offset()
        described = client.describe_quorum()
        newest = batches[-1].header
        found = client.find_offset(newest.max_timestamp_ms)

        ends = [batch.header.end_offset for batch in batches]
        assert [batch.header.base_offset for batch in batches[1:]] == ends[:-1]
        assert ends[-1] == end
        assert client.cluster_id == described.cluster_id == CLUSTER_ID
        assert described.leader_id == CONTROLLER_ID
        assert client.end_of_epoch(client.epoch) is not None
        assert client.find_offset(newest.max_timestamp_ms + 1_000_000) is None
        assert found is not None
        assert found.offset <= newest.last_offset


def test_client_does_not_write_to_a_cluster(cluster: KafkaCluster) -> None:
    with client_of(cluster.controller) as client:
        assert client.feature_level() == 0
        with pytest.raises(
            ConfigError, match=f"cluster {CLUSTER_ID} is an Apache Kafka cluster: its metadata can be read"
        ):
            client.append(b"")


@pytest.mark.parametrize("is_alone", [True, False], ids=["alone", "before a controller"])
def test_client_reads_the_metadata_and_writes_nothing_when_it_asks_our_observer_first(
    plain_cluster: KafkaCluster, tmp_path: Path, is_alone: bool
) -> None:
    with client_of(plain_cluster.controller) as client:
        expected = read_log(client)
        end = client.last_stable_offset()
    with kraft_observer(tmp_path, plain_cluster.controller) as observer:
        observer.wait_for_end(end)
        servers = [observer.endpoint] if is_alone else [observer.endpoint, plain_cluster.controller]
        with client_of(*servers) as client:
            assert read_log(client)[: len(expected)] == expected
            assert client.describe_quorum().leader_id == CONTROLLER_ID
            assert client.feature_level() == 0
            with pytest.raises(ConfigError, match=f"cluster {CLUSTER_ID} is an Apache Kafka cluster"):
                client.append(b"")


def test_command_reads_a_cluster_and_reports_that_it_cannot_write(cluster: KafkaCluster) -> None:
    server = ("--bootstrap-server", str(cluster.controller))

    records = kraft_json("read", *server)
    refused = kraft("append", *server, stdin=b"a value\n")

    assert len(records) > 10
    assert refused.exit_code == 1
    assert "only its own controllers write it" in refused.errors


@pytest.mark.spark
def test_spark_streams_the_raw_records_of_a_cluster(spark: SparkSession, cluster: KafkaCluster, tmp_path: Path) -> None:
    stream = (
        spark.readStream.format("kraft")
        .option("kraft.bootstrap.servers", str(cluster.controller))
        .option("startingOffsets", "earliest")
        .load()
        .selectExpr("offset", "hex(value) value")
    )
    delivered = Delivered(stream, tmp_path / "checkpoint")
    delivered.run()
    before = len(delivered.values)
    cluster.create_topics("streamed")
    delivered.run()
    with client_of(cluster.controller) as client:
        data = [batch for batch in read_log(client) if not batch.header.is_control]

    values = [bytes.fromhex(value) for value in delivered.values if value is not None]
    assert len(values) == sum(batch.header.record_count for batch in data)
    assert any(value.startswith(TOPIC_RECORD) and b"streamed" in value for value in values[before:])
    assert not any(b"streamed" in value for value in values[:before])


@pytest.mark.spark
def test_spark_writes_nothing_to_a_cluster(spark: SparkSession, cluster: KafkaCluster) -> None:
    with client_of(cluster.controller) as client:
        before = client.last_stable_offset()
        rows = spark.createDataFrame([("v",)], "value string")

        with pytest.raises(Exception, match="is not a quorum of kraft-spark"):
            rows.write.format("kraft").option("kraft.bootstrap.servers", str(cluster.controller)).mode("append").save()

        assert client.last_stable_offset() == before


def test_log_without_its_beginning_is_read_and_followed_from_its_start_offset(
    cluster: KafkaCluster, tmp_path: Path
) -> None:
    for number in range(10):
        cluster.create_topics(f"more-than-is-kept-{number}", partitions=20)
    with client_of(cluster.controller) as client:
        # The controller checks once a minute what it may delete.
        log_start = eventually(client.log_start_offset, "the start of the log is deleted")
        cluster.create_topics("behind-the-start")
        batches = read_log(client)
        with pytest.raises(OffsetOutOfRangeError, match=f"offset 0 is out of range: the log holds {log_start} to "):
            client.fetch(Offset(0))
        with kraft_observer(tmp_path, cluster.controller) as observer:
            observer.wait_for_end(client.last_stable_offset())
            kept = observer.batches()

    assert batches[0].header.base_offset == log_start
    assert kept == batches[len(batches) - len(kept) :]


def test_dump_log_reads_the_log_of_the_observer(cluster: KafkaCluster, kafka: Kafka, tmp_path: Path) -> None:
    with kraft_observer(tmp_path, cluster.controller) as observer, client_of(cluster.controller) as client:
        observer.wait_for_end(client.last_stable_offset())
        (snapshot,) = observer.snapshots()
        (segment,) = observer.segments()

    for file in (snapshot, segment):
        output = kafka.output(MainClass.DUMP_LOG_SEGMENTS, "--cluster-metadata-decoder", "--files", str(file))
        assert "Dumping" in output
        assert "isvalid: false" not in output
