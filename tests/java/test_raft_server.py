"""Kafka's TestRaftServer and a node of ours: the same file of properties, the same log directory."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.java.dumped_log import read_dump
from tests.java.kafka import Kafka, MainClass
from tests.java.raft_server import raft_server_voters
from tests.node.harness.waiting import eventually
from tests.processes.kraft import kraft, kraft_json
from tests.processes.node_process import NodeProcess

pytestmark = pytest.mark.java


def epoch_led_by(java: NodeProcess) -> int:
    """Wait until a voter of Kafka leads and has committed a record; return its epoch."""
    return int(java.wait_until_printed(r"High watermark set to .* for the first time for epoch (\d+)")[1])


def test_node_of_either_kind_continues_the_log_of_the_other_one(kafka: Kafka, tmp_path: Path) -> None:
    (properties,) = raft_server_voters(tmp_path, 1, {}).values()
    with (
        kafka.raft_server(properties, tmp_path / "java", records_per_s=200) as java,
        NodeProcess(properties, tmp_path / "ours") as ours,
    ):
        first_epoch = epoch_led_by(java.start())
        eventually(lambda: java.segment.stat().st_size > 20_000, "Java appends records")
        java.stop()
        ours.start().wait_until_printed("-> Leader")
        kraft("append", "--bootstrap-server", str(ours.endpoint), "from Python").require_success()
        rows = kraft_json("read", "--bootstrap-server", str(ours.endpoint))
        ours.stop()
        last_epoch = epoch_led_by(java.start())
        java.stop()

    assert [row["epoch"] for row in rows[:-1]] == [first_epoch] * (len(rows) - 1)
    assert (rows[-1]["epoch"], rows[-1]["value"]) == (first_epoch + 1, "from Python")
    assert last_epoch == first_epoch + 2
    (segment,) = ours.segments()
    dumped = kafka.output(MainClass.DUMP_LOG_SEGMENTS, "--files", str(segment), "--print-data-log")
    leaders = [row["partitionLeaderEpoch"] for row in read_dump(dumped) if row.get("isControl")]
    assert leaders == [first_epoch, first_epoch + 1, last_epoch]
