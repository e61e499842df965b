"""All nodes are stopped and started one after the other while Spark writes and reads: nothing is lost or doubled."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from tests.node.harness.properties import voters_properties
from tests.processes.node_quorum import NodeQuorum
from tests.upgrade.traffic import Traffic
from tests.upgrade.versions import start, stop

pytestmark = pytest.mark.spark


def test_stream_and_sink_go_on_through_a_rolling_restart(spark: SparkSession, tmp_path: Path) -> None:
    with NodeQuorum(tmp_path, voters_properties(tmp_path)).start() as quorum:
        # The leader is the last one, so that leadership moves as seldom as possible.
        order = [*quorum.followers_of(quorum.leader_id()), quorum.leader_id()]
        with Traffic(spark, quorum.bootstrap_servers, tmp_path) as traffic:
            traffic.pass_rows("before")
            for node_id in order:
                traffic.send(f"while node {node_id} stops")
                stop(quorum, node_id)
                traffic.pass_rows(f"while node {node_id} is stopped")
                traffic.send(f"while node {node_id} starts")
                start(quorum, node_id, tmp_path)
                traffic.wait(f"after the restart of node {node_id}")

        sent = [value for _, value in traffic.sent]
        assert traffic.delivered == sent
        assert traffic.frames.log_values() == sent
        assert list(quorum.unexpected_ends()) == []
        assert list(quorum.reported_errors()) == []
