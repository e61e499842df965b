"""Streams and batches that read from nodes besides the leader, while leaders are killed and suspended."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from raft.local.ports import free_ports
from tests.node.harness.properties import SHORT_TIMEOUTS, controller_properties, quorum_properties
from tests.node.harness.waiting import eventually
from tests.processes.node_process import NodeProcess
from tests.processes.node_quorum import NodeQuorum
from tests.spark.frames import Frames, numbered
from tests.spark.streams import Delivered, wait_until

pytestmark = [pytest.mark.spark, pytest.mark.rule("READ-4", "READ-5")]

OBSERVER = 9
NEAREST = {"kraft.read.from": "nearest", "kraft.client.rack": "near"}
ANY = {"kraft.read.from": "any"}
QUICK = {"kraft.request.timeout.ms": "2000"}


@pytest.fixture
def quorum(tmp_path: Path) -> Iterator[NodeQuorum]:
    """Three voters without a rack, and an observer in the rack "near"."""
    configurations = quorum_properties(tmp_path, 3, SHORT_TIMEOUTS)
    (port,) = free_ports(1)
    settings = {
        "controller.quorum.voters": configurations[1]["controller.quorum.voters"],
        "broker.rack": "near",
        **SHORT_TIMEOUTS,
    }
    configurations[OBSERVER] = controller_properties(
        tmp_path / "observer", node_id=OBSERVER, port=port, settings=settings
    )
    with NodeQuorum(tmp_path, configurations).start() as running:
        yield running


def another_leader_than(quorum: NodeQuorum, failed: NodeProcess) -> int:
    """Wait for a leader that is not the one that failed; return its id."""
    with quorum.client() as client:
        others = [each for each, node in quorum.nodes.items() if node is not failed]
        eventually(lambda: client.describe_quorum().leader_id in others, "another leader")
        return client.describe_quorum().leader_id


@pytest.mark.kafka_suite(45)
@pytest.mark.parametrize("fault", ["killed", "suspended"])
@pytest.mark.parametrize("options", [NEAREST, ANY], ids=["nearest", "any"])
def test_stream_reads_every_row_once_while_leaders_fail(
    spark: SparkSession, quorum: NodeQuorum, tmp_path: Path, options: dict[str, str], fault: str
) -> None:
    frames = Frames(spark, quorum.bootstrap_servers)
    stream = frames.stream(startingOffsets="earliest", maxOffsetsPerTrigger=4, **options, **QUICK)
    delivered = Delivered(stream, tmp_path / "checkpoint")
    expected = numbered("before", 10)
    frames.write(frames.values(expected).coalesce(1))
    query = delivered.start()

    try:
        wait_until(lambda: len(delivered.values) == 10, "the rows from before the fault", query)
        failing = quorum.leader()
        if fault == "killed":
            failing.kill()
        else:
            failing.suspend()
        another_leader_than(quorum, failing)
        frames.write(frames.values(numbered("during", 10)).coalesce(1), **QUICK)
        wait_until(lambda: len(delivered.values) == 20, "the rows of the next leader", query)
        if fault == "killed":
            quorum.start()
        else:
            failing.resume()
        frames.write(frames.values(numbered("after", 10)).coalesce(1), **QUICK)
        wait_until(lambda: len(delivered.values) == 30, "the rows after the fault", query)
    finally:
        query.stop()

    assert delivered.values == [*expected, *numbered("during", 10), *numbered("after", 10)]


def test_batch_read_from_the_observer_sees_the_rows_that_were_just_written(
    spark: SparkSession, quorum: NodeQuorum
) -> None:
    frames = Frames(spark, quorum.bootstrap_servers)
    written: list[str] = []

    for batch in range(5):
        written += (values := numbered(f"batch-{batch}", 100))
        frames.write(frames.values(values).coalesce(1))
        read = frames.read(**NEAREST).selectExpr("offset", "cast(value as string) value").orderBy("offset").collect()
        assert [row.value for row in read] == written
