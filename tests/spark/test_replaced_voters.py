"""A quorum whose voters are replaced during a query: others, with empty disks, at addresses the query was not given.

In place of `Add partitions`, `topic deletions` and the stress test of new topics in Spark's suites: a quorum has one
log, and its voters are what may change under a query.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from raft.local.ports import free_ports
from tests.node.harness.properties import HOST, Properties, voters_properties
from tests.processes.node_process import NodeProcess
from tests.processes.node_quorum import NodeQuorum
from tests.spark.frames import Frames, numbered
from tests.spark.streams import Delivered, wait_until

pytestmark = pytest.mark.spark


def moved(configurations: Mapping[int, Properties], node_ids: Collection[int], folder: Path) -> dict[int, Properties]:
    """Return the configurations with new ports and disks for some voters."""
    ports = {
        node_id: int(properties["listeners"].rpartition(":")[2]) for node_id, properties in configurations.items()
    } | dict(zip(node_ids, free_ports(len(node_ids)), strict=True))
    voters = ",".join(f"{node_id}@{HOST}:{port}" for node_id, port in ports.items())
    changed = {
        node_id: {
            **properties,
            "controller.quorum.voters": voters,
            "listeners": f"CONTROLLER://{HOST}:{ports[node_id]}",
        }
        for node_id, properties in configurations.items()
    }
    for node_id in node_ids:
        changed[node_id]["log.dirs"] = str(folder / f"new-disk-{node_id}")
    return changed


@pytest.mark.kafka_suite(34)
def test_stream_reads_every_row_once_while_voters_are_replaced(spark: SparkSession, tmp_path: Path) -> None:
    configurations, expected = voters_properties(tmp_path), []
    with NodeQuorum(tmp_path, configurations).start() as quorum:
        frames = Frames(spark, quorum.bootstrap_servers)
        delivered = Delivered(frames.stream(startingOffsets="earliest"), tmp_path / "checkpoint")
        query = delivered.start()

        def write(when: str) -> None:
            frames.write(frames.values(values := numbered(when, 5)).coalesce(1))
            expected.extend(values)
            wait_until(lambda: len(delivered.values) >= len(expected), f"the rows {when}", query)

        def replace(node_id: int) -> None:
            quorum.nodes[node_id].stop()
            quorum.nodes[node_id] = NodeProcess(after[node_id], tmp_path / f"after-{node_id}")
            quorum.start(node_id)
            quorum.settle()

        try:
            write("before")
            stays = quorum.leader_id()
            after = moved(configurations, quorum.followers_of(stays), tmp_path)
            for node_id in quorum.followers_of(stays):
                replace(node_id)
                write(f"voter {node_id} is another one")
            # Its restart makes one of the others the leader.
            replace(stays)
            assert str(quorum.leader().client_endpoint) not in frames.servers.split(",")
            write("the leader is another one")
        finally:
            query.stop()

        assert delivered.values == expected
        assert list(quorum.unexpected_ends()) == []
