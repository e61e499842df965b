"""Kafka's TestRaftServer and a node of ours: the same file of properties, the same log directory."""

from __future__ import annotations

from pathlib import Path

import pytest

from raft.types import Uuid
from tests.java.dumped_log import read_dump
from tests.java.kafka import Kafka, MainClass
from tests.java.kraft import kraft, kraft_json
from tests.java.processes import Server
from tests.java.seats import RAFT_SERVER_TOPIC, seat_voters
from tests.node.harness.waiting import eventually

pytestmark = pytest.mark.java

_DIRECTORY_ID = Uuid("a3JhZnQtc3Bhcmstb25lLQ")


def epoch_led_by_java(server: Server) -> int:
    """Wait until a voter of Kafka's leads and has committed something; return its epoch."""
    return int(server.wait_until_logged(r"High watermark set to .* for the first time for epoch (\d+)")[1])


def test_node_of_either_kind_goes_on_where_the_other_one_stopped(kafka: Kafka, tmp_path: Path) -> None:
    (voter,) = seat_voters(tmp_path, 1, RAFT_SERVER_TOPIC).values()
    java = kafka.raft_server(voter, directory_id=_DIRECTORY_ID, records_per_s=200)
    ours = voter.kraft_server()

    with java:
        first_epoch = epoch_led_by_java(java)
        eventually(lambda: len(voter.segments()[0].read_bytes()) > 20_000, "Java writes records", within_s=20)
    with ours:
        ours.wait_until_logged("-> Leader")
        kraft("append", "--bootstrap-server", str(voter.endpoint), "from Python").output()
        rows = kraft_json("read", "--bootstrap-server", str(voter.endpoint))
    with java:
        last_epoch = epoch_led_by_java(java)

    assert [row["epoch"] for row in rows[:-1]] == [first_epoch] * (len(rows) - 1)
    assert (rows[-1]["epoch"], rows[-1]["value"]) == (first_epoch + 1, "from Python")
    assert last_epoch == first_epoch + 2
    (segment,) = voter.segments()
    dumped = kafka.program(MainClass.DUMP_LOG_SEGMENTS).output("--files", str(segment), "--print-data-log")
    leaders = [row["partitionLeaderEpoch"] for row in read_dump(dumped) if row.get("isControl")]
    assert leaders == [first_epoch, first_epoch + 1, last_epoch]
