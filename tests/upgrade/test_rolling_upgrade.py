"""Nodes of the last release are replaced by nodes of this tree, one after the other, while Spark writes and reads."""

from __future__ import annotations

from pathlib import Path

import pytest
from confluent_kafka import Producer
from pyspark.sql import SparkSession

from raft.types import Offset
from tests.node.harness.properties import TOPIC, voters_properties
from tests.node.harness.waiting import eventually
from tests.processes.node_quorum import NodeQuorum
from tests.upgrade.release import Release
from tests.upgrade.traffic import Traffic
from tests.upgrade.versions import restart, serve_of, start, stop

pytestmark = pytest.mark.spark

LARGE_ROWS = 30_000
LARGEST_BATCH = {"kraft.max.request.size": 400_000}
TRANSACTION_S = 30
SOON_COMPACTED = {
    "cleanup.policy": "compact",
    "metadata.log.max.record.bytes.between.snapshots": "20000",
    "metadata.max.retention.bytes": "30000",
    "min.cleanable.dirty.ratio": "0.1",
}


def commit_transaction(servers: str, rows: list[tuple[str, str]]) -> None:
    producer = Producer({"bootstrap.servers": servers, "transactional.id": "upgraded"})
    producer.init_transactions(TRANSACTION_S)
    producer.begin_transaction()
    for key, value in rows:
        producer.produce(TOPIC, key=key, value=value)
    producer.commit_transaction(TRANSACTION_S)


def compacted_end(traffic: Traffic) -> int:
    with traffic.frames.client() as client:
        return client.fetch(Offset(0)).compacted_end or 0


def test_stream_and_sink_go_on_through_a_rolling_upgrade_and_all_kinds_of_writes_work_after_it(
    spark: SparkSession, tmp_path: Path, release: Release
) -> None:
    with NodeQuorum(tmp_path, voters_properties(tmp_path), command=serve_of(release)).start() as quorum:
        with Traffic(spark, quorum.bootstrap_servers, tmp_path) as traffic:
            frames = traffic.frames
            traffic.pass_rows("before")
            for node_id in quorum.nodes:
                traffic.send(f"while node {node_id} stops")
                stop(quorum, node_id)
                traffic.pass_rows(f"while node {node_id} is stopped")
                traffic.send(f"while node {node_id} starts")
                start(quorum, node_id, tmp_path)
                traffic.wait(f"after the upgrade of node {node_id}")

            sent = [value for _, value in traffic.sent]
            assert traffic.delivered == sent
            assert frames.log_values() == sent

            large = [f"large {number}" for number in range(LARGE_ROWS)]
            rows = frames.spark.range(0, LARGE_ROWS, 1, 2).selectExpr("'large' key", "concat('large ', id) value")
            frames.write(rows, **LARGEST_BATCH)
            commit_transaction(quorum.bootstrap_servers, [("key-0", "committed"), ("key-1", "together")])
            traffic.pass_rows("after the upgrade")
            values = frames.log_values()
            assert sorted(map(str, values[len(sent) : len(sent) + LARGE_ROWS])) == sorted(large)
            sent = [value for _, value in traffic.sent]
            assert values[len(sent) - 20 + LARGE_ROWS :] == ["committed", "together", *sent[-20:]]
            assert traffic.delivered == values

            for node_id in quorum.nodes:
                restart(quorum, node_id, tmp_path, None, SOON_COMPACTED)
            traffic.pass_rows("after the change of the policy")
            eventually(lambda: compacted_end(traffic) > LARGE_ROWS, "a log that begins with a snapshot", within_s=30)
            values_by_key = frames.read(view="latest").selectExpr("cast(key as string)", "cast(value as string)")
            state = dict(map(tuple, values_by_key.collect()))

        assert state == {"large": values[len(sent) - 20 + LARGE_ROWS - 1], **dict(traffic.sent)}
        assert frames.read().count() < LARGE_ROWS
        assert len(traffic.delivered) == len(set(traffic.delivered)) == len(traffic.sent) + LARGE_ROWS + 2
        assert list(quorum.unexpected_ends()) == []
        assert list(quorum.reported_errors()) == []
