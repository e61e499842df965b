"""kafka-metadata-quorum with controllers, against `kraft quorum describe`."""

from __future__ import annotations

import re
import time
from pathlib import Path
from typing import Any

import pytest

from raft.client import Client
from raft.local import LocalQuorum
from raft.records.batch import build_batch
from raft.records.record import Record
from tests.java.kafka import Kafka, MainClass
from tests.java.quorum_tool import read_replication, read_status
from tests.processes.kraft import kraft, kraft_json
from tests.processes.node_quorum import NodeQuorum

pytestmark = pytest.mark.java

Row = dict[str, Any]

_TIMES = ("LastFetchTimestamp", "LastCaughtUpTimestamp")
_CLOCK_MS = 10
"""Our node reads two clocks, one after the other, to convert a monotonic time into a time of day."""


@pytest.fixture
def settled_quorum(quorum: NodeQuorum) -> NodeQuorum:
    """A quorum in which no client writes and every voter has the whole log."""
    quorum.settle()
    return quorum


def describe(kafka: Kafka, servers: str, *form: str) -> str:
    """Run kafka-metadata-quorum; it must succeed."""
    return kafka.output(MainClass.METADATA_QUORUM, "--bootstrap-controller", servers, "describe", *form)


def described(servers: str, form: str) -> Any:
    """Run `kraft quorum describe --json`."""
    (value,) = kraft_json("quorum", "describe", "--bootstrap-server", servers, form)
    return value


def append(client: Client, count: int) -> None:
    """Append records, each in a batch of its own; they are committed when this returns."""
    for at in range(count):
        client.append(build_batch([Record(value=b"record %d" % at, timestamp_ms=0)]))


def without(rows: list[Row], *columns: str) -> list[Row]:
    return [{name: value for name, value in row.items() if name not in columns} for row in rows]


@pytest.mark.rule("DESCRIBE-7", "DESCRIBE-8")
def test_quorum_tool_prints_the_status_of_our_quorum(kafka: Kafka, settled_quorum: NodeQuorum) -> None:
    servers = settled_quorum.bootstrap_servers

    theirs = read_status(describe(kafka, servers, "--status"))

    # The time since the last fetch of a follower varies; it is at most the maximum wait of a fetch.
    assert 0 <= theirs.pop("MaxFollowerLagTimeMs") < 2000
    ours = described(servers, "--status")
    ours.pop("MaxFollowerLagTimeMs")
    assert theirs == ours
    assert [voter["endpoints"] for voter in theirs["CurrentVoters"]] == [
        [f"CLIENT://{server}"] for server in servers.split(",")
    ]


@pytest.mark.rule("DESCRIBE-4", "DESCRIBE-5", "DESCRIBE-9", "DESCRIBE-10")
def test_quorum_tool_prints_the_replicas_of_our_quorum(kafka: Kafka, settled_quorum: NodeQuorum) -> None:
    servers = settled_quorum.bootstrap_servers
    before = described(servers, "--replication")

    theirs = read_replication(describe(kafka, servers, "--replication"))

    after = described(servers, "--replication")
    assert without(theirs, *_TIMES) == without(before, *_TIMES, "LagTimeMs") == without(after, *_TIMES, "LagTimeMs")
    for first, row, last in zip(before, theirs, after, strict=True):
        for column in _TIMES:
            assert first[column] - _CLOCK_MS <= row[column] <= last[column] + _CLOCK_MS, column


@pytest.mark.rule("DESCRIBE-5", "DESCRIBE-11")
def test_quorum_tool_prints_ages_when_the_output_is_human_readable(kafka: Kafka, settled_quorum: NodeQuorum) -> None:
    servers = settled_quorum.bootstrap_servers
    before = described(servers, "--replication")
    asked_ms = time.time() * 1000

    theirs = read_replication(describe(kafka, servers, "--replication", "--human-readable"))

    answered_ms = time.time() * 1000
    after = described(servers, "--replication")
    assert without(theirs, *_TIMES) == without(before, *_TIMES, "LagTimeMs")
    for first, row, last in zip(before, theirs, after, strict=True):
        for column in _TIMES:
            age_ms = int(row[column].removesuffix(" ms ago"))
            assert first[column] - _CLOCK_MS <= answered_ms - age_ms, column
            assert asked_ms - age_ms <= last[column] + _CLOCK_MS, column


@pytest.mark.rule("DESCRIBE-7", "DESCRIBE-9")
@pytest.mark.parametrize(
    "form", [("--status",), ("--replication",), ("--replication", "--human-readable")], ids=" ".join
)
def test_kraft_prints_what_the_quorum_tool_prints_except_for_times(
    kafka: Kafka, settled_quorum: NodeQuorum, form: tuple[str, ...]
) -> None:
    servers = settled_quorum.bootstrap_servers

    theirs = describe(kafka, servers, *form)

    ours = kraft("quorum", "describe", "--bootstrap-server", servers, *form).require_success()
    assert shape(ours) == shape(theirs)


def shape(text: str) -> list[str]:
    """Return the lines without what varies: times, ages, lags in time, and the widths of columns."""
    timeless = re.sub(r"\b\d{13}\b|\d+ ms ago|(?<=MaxFollowerLagTimeMs:   )\d+", "TIME", text)
    return [re.sub(r" *\t", "\t", line) for line in timeless.splitlines()]


def test_quorum_tool_describes_a_local_quorum_with_the_file_for_its_clients(kafka: Kafka, tmp_path: Path) -> None:
    with LocalQuorum.start(tmp_path, voters=1) as quorum:
        access = ("--bootstrap-controller", quorum.bootstrap_servers, "--command-config", str(quorum.client_config))

        theirs = read_status(kafka.output(MainClass.METADATA_QUORUM, *access, "describe", "--status"))

    assert (theirs["ClusterId"], theirs["LeaderId"]) == (quorum.cluster_id, 1)


@pytest.mark.rule("DESCRIBE-8", "DESCRIBE-10")
def test_quorum_tool_shows_the_lag_when_a_follower_is_dead(kafka: Kafka, nodes: NodeQuorum) -> None:
    with nodes.client() as client:
        leader_id = client.describe_quorum().leader_id
        dead = nodes.followers_of(leader_id)[0]
        nodes.nodes[dead].kill()
        append(client, 5)
    nodes.settle()

    status = read_status(describe(kafka, nodes.bootstrap_servers, "--status"))
    rows = read_replication(describe(kafka, nodes.bootstrap_servers, "--replication"))

    assert status["MaxFollowerLag"] == 5
    assert status["MaxFollowerLagTimeMs"] > 0
    assert {row["NodeId"]: row["Lag"] for row in rows} == {
        node_id: 5 if node_id == dead else 0 for node_id in nodes.nodes
    }
    ours = described(nodes.bootstrap_servers, "--replication")
    assert without(rows, *_TIMES) == without(ours, *_TIMES, "LagTimeMs")
    (dead_row,) = (row for row in rows if row["NodeId"] == dead)
    (our_row,) = (row for row in ours if row["NodeId"] == dead)
    for column in _TIMES:
        assert abs(dead_row[column] - our_row[column]) <= _CLOCK_MS, column


@pytest.mark.rule("DESCRIBE-4", "DESCRIBE-5", "DESCRIBE-8")
def test_quorum_tool_shows_a_dead_voter_without_times_when_it_was_the_leader(kafka: Kafka, nodes: NodeQuorum) -> None:
    dead = nodes.leader_id()
    nodes.nodes[dead].kill()
    with nodes.client() as client:
        append(client, 5)
    end_offset = nodes.settle().high_watermark

    status = read_status(describe(kafka, nodes.bootstrap_servers, "--status"))
    rows = read_replication(describe(kafka, nodes.bootstrap_servers, "--replication", "--human-readable"))

    assert status == described(nodes.bootstrap_servers, "--status")
    assert status["LeaderId"] in nodes.running
    assert status["MaxFollowerLagTimeMs"] == -1
    (dead_row,) = (row for row in rows if row["NodeId"] == dead)
    assert end_offset is not None
    assert without([dead_row], "DirectoryId") == [
        {
            "NodeId": dead,
            "LogEndOffset": -1,
            "Lag": end_offset + 1,
            "LastFetchTimestamp": -1,
            "LastCaughtUpTimestamp": -1,
            "Status": "Follower",
        }
    ]
