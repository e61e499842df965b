"""librdkafka's producer and consumer, and its list of metadata, as kcat uses it."""

from __future__ import annotations

from typing import Any

import pytest
from confluent_kafka import KafkaError
from confluent_kafka.admin import AdminClient

from raft.records.batches import read_batches
from raft.records.compression import Compression
from raft.types import Offset
from tests.java.kraft import end_offset
from tests.java.librdkafka import PARTITION, consume, produce
from tests.java.samples import placed, records_of_every_kind
from tests.node.harness.properties import CLUSTER_ID, TOPIC
from tests.node.harness.waiting import eventually
from tests.processes.kraft import kraft_json
from tests.processes.node_quorum import NodeQuorum

pytestmark = pytest.mark.java


def codec_at(quorum: NodeQuorum, offset: Offset | None) -> str:
    """Return the codec of the batch that has a record."""
    assert offset is not None
    with quorum.client() as client:
        batch, *_ = read_batches(client.fetch(offset).records)
    return Compression(int.from_bytes(batch.payload[21:23], "big") & 0x07).name.lower()


@pytest.mark.parametrize("codec", ["none", "gzip", "snappy", "lz4", "zstd"])
def test_librdkafka_reads_what_its_idempotent_producer_wrote(quorum: NodeQuorum, codec: str) -> None:
    records = records_of_every_kind(1000, codec)

    written = produce(quorum.bootstrap_servers, records, {"enable.idempotence": True, "compression.type": codec})

    start_offset = written[0].offset
    assert written == placed(records, start_offset)
    assert codec_at(quorum, start_offset) == codec
    for isolation_level in ("read_committed", "read_uncommitted"):
        read = consume(quorum.bootstrap_servers, start_offset, {"isolation.level": isolation_level})
        assert read == written, isolation_level


@pytest.mark.rule("CLIENT-2", "CONTROL-5")
def test_librdkafka_reads_what_kraft_reads_from_the_beginning_and_from_inside_a_batch(quorum: NodeQuorum) -> None:
    written = produce(quorum.bootstrap_servers, records_of_every_kind(10, "inside"), {})
    inside = written[4].offset

    everything = consume(quorum.bootstrap_servers, None, {})
    rest = consume(quorum.bootstrap_servers, inside, {})

    ours = kraft_json("read", "--bootstrap-server", quorum.bootstrap_servers)
    assert [(record.offset, record.timestamp_ms) for record in everything] == [
        (row["offset"], row["timestamp"]) for row in ours
    ]
    assert rest == written[4:]


@pytest.mark.rule("CLIENT-8", "TEST-8")
def test_librdkafka_loses_and_doubles_no_record_when_the_leader_is_killed_while_it_writes(nodes: NodeQuorum) -> None:
    servers = nodes.bootstrap_servers
    records = records_of_every_kind(3000, "through")
    leader_id = nodes.leader_id()

    def kill_leader_midway(at: int) -> None:
        if at == len(records) // 2:
            eventually(lambda: end_offset(nodes) > 1, "the first batches are committed")
            nodes.nodes[leader_id].kill()

    written = produce(
        servers, records, {"enable.idempotence": True, "batch.num.messages": 10}, before_each=kill_leader_midway
    )

    read = consume(servers, None, {"isolation.level": "read_committed"})
    assert read == written
    assert placed(read, 0) == placed(records, 0)
    epochs = {row["epoch"] for row in kraft_json("read", "--bootstrap-server", servers)}
    assert len(epochs) >= 2, "both leaders have appended records"


def test_librdkafka_lists_every_node_and_the_topic_when_it_requests_all_metadata(quorum: NodeQuorum) -> None:
    admin = AdminClient({"bootstrap.servers": quorum.bootstrap_servers})

    # Its type hints have None for every field.
    metadata: Any = admin.list_topics(timeout=20)

    with quorum.client() as client:
        leader_id = client.describe_quorum().leader_id
    assert metadata.cluster_id == CLUSTER_ID
    assert metadata.controller_id == leader_id
    brokers = [f"{broker.host}:{broker.port}" for _, broker in sorted(metadata.brokers.items())]
    assert brokers == quorum.bootstrap_servers.split(",")
    assert list(metadata.topics) == [TOPIC]
    assert list(metadata.topics[TOPIC].partitions) == [PARTITION]
    partition = metadata.topics[TOPIC].partitions[PARTITION]
    assert partition.error is None
    assert partition.leader == leader_id
    assert partition.replicas == partition.isrs == sorted(metadata.brokers)


def test_librdkafka_gets_an_error_when_it_requests_a_topic_that_does_not_exist(quorum: NodeQuorum) -> None:
    admin = AdminClient({"bootstrap.servers": quorum.bootstrap_servers})

    metadata: Any = admin.list_topics("elsewhere", timeout=20)

    assert metadata.topics["elsewhere"].error.code() == KafkaError.UNKNOWN_TOPIC_OR_PART
