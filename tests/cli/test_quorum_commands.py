"""`kraft quorum describe`: the fields, columns and figures of kafka-metadata-quorum."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from raft.cli.quorum_commands import node_view, quorum_replication, quorum_status
from raft.client import NodeDescription, QuorumDescription, ReplicaDescription
from raft.types import ZERO_UUID, Endpoint, Epoch, NodeId, Offset, Uuid
from tests.cli.in_process import KraftInProcess
from tests.node.harness.loop import NodesInProcess
from tests.node.harness.properties import CLUSTER_ID, voters_properties
from tests.node.harness.waiting import eventually

DIRECTORY = Uuid("AAECAwQFBgcICQoLDA0ODw")
NOW_MS = 1_000_000


def replica(node_id: int, end: int | None, lag_ms: int | None, directory: Uuid = ZERO_UUID) -> ReplicaDescription:
    return ReplicaDescription(
        node_id=NodeId(node_id),
        directory_id=directory,
        log_end_offset=None if end is None else Offset(end),
        last_fetch_ms=None if lag_ms is None else NOW_MS,
        last_caught_up_ms=None if lag_ms is None else NOW_MS - lag_ms,
    )


EXAMPLE = QuorumDescription(
    cluster_id="c",
    leader_id=NodeId(0),
    leader_epoch=Epoch(15),
    high_watermark=Offset(234130),
    voters=(replica(0, 234134, 0), replica(1, 234130, 10), replica(2, 234100, 15)),
    observers=(replica(3, 234124, 12), replica(4, 234130, 15)),
    endpoints={},
)
"""The example of KIP-595, section Tool."""


@pytest.mark.rule("SCENARIO-35", "DESCRIBE-7", "DESCRIBE-8")
def test_summary_has_the_figures_of_the_kip() -> None:
    assert quorum_status(EXAMPLE) == {
        "ClusterId": "c",
        "LeaderId": 0,
        "LeaderEpoch": 15,
        "HighWatermark": 234130,
        "MaxFollowerLag": 34,
        "MaxFollowerLagTimeMs": 15,
        "CurrentVoters": [{"id": 0}, {"id": 1}, {"id": 2}],
        "CurrentObservers": [{"id": 3}, {"id": 4}],
    }


@pytest.mark.rule("SCENARIO-35", "DESCRIBE-9", "DESCRIBE-10")
def test_rows_have_the_figures_of_the_kip() -> None:
    rows = quorum_replication(EXAMPLE)

    assert [row["NodeId"] for row in rows] == [0, 1, 2, 3, 4]
    assert [row["Status"] for row in rows] == ["Leader", "Follower", "Follower", "Observer", "Observer"]
    assert [row["Lag"] for row in rows] == [0, 4, 34, 10, 4]
    assert [row["LagTimeMs"] for row in rows] == [0, 10, 15, 12, 15]
    assert rows[1] == {
        "NodeId": 1,
        "DirectoryId": ZERO_UUID,
        "LogEndOffset": 234130,
        "Lag": 4,
        "LastFetchTimestamp": NOW_MS,
        "LastCaughtUpTimestamp": NOW_MS - 10,
        "Status": "Follower",
        "LagTimeMs": 10,
    }


@pytest.mark.rule("DESCRIBE-10")
def test_leader_comes_first_in_any_order_of_the_response() -> None:
    described = replace(EXAMPLE, leader_id=NodeId(2))

    assert [row["NodeId"] for row in quorum_replication(described)] == [2, 0, 1, 3, 4]


@pytest.mark.rule("DESCRIBE-8")
def test_voter_that_never_fetched_has_an_unknown_lag_in_time() -> None:
    described = replace(EXAMPLE, voters=(replica(0, 10, 0), replica(1, None, None)), high_watermark=None)

    summary = quorum_status(described)
    row = quorum_replication(described)[1]

    assert (summary["HighWatermark"], summary["MaxFollowerLag"], summary["MaxFollowerLagTimeMs"]) == (-1, 11, -1)
    assert (row["LogEndOffset"], row["LastFetchTimestamp"], row["LastCaughtUpTimestamp"]) == (-1, -1, -1)


@pytest.mark.rule("DESCRIBE-8")
def test_sole_voter_is_not_behind_itself() -> None:
    summary = quorum_status(replace(EXAMPLE, voters=(replica(0, 10, 0),)))

    assert (summary["MaxFollowerLag"], summary["MaxFollowerLagTimeMs"]) == (0, 0)


@pytest.mark.rule("DESCRIBE-7")
def test_what_is_known_of_a_voter_is_shown() -> None:
    described = replace(
        EXAMPLE, voters=(replica(0, 10, 0, DIRECTORY),), endpoints={NodeId(0): (Endpoint("h", 9093, "CONTROLLER"),)}
    )

    assert quorum_status(described)["CurrentVoters"] == [
        {"id": 0, "directoryId": DIRECTORY, "endpoints": ["CONTROLLER://h:9093"]}
    ]


@pytest.mark.rule("DESCRIBE-7")
def test_summary_is_printed_line_by_line(here: KraftInProcess, shelf: str) -> None:
    done = here("quorum", "describe", "--bootstrap-server", shelf, "--status")

    assert done.exit_code == 0
    assert done.output.splitlines() == [
        f"ClusterId:              {CLUSTER_ID}",
        "LeaderId:               1",
        "LeaderEpoch:            1",
        "HighWatermark:          6",
        "MaxFollowerLag:         0",
        "MaxFollowerLagTimeMs:   0",
        f'CurrentVoters:          [{{"id": 1, "endpoints": ["CONTROLLER://{shelf}"]}}]',
        "CurrentObservers:       []",
    ]


@pytest.mark.rule("DESCRIBE-9", "DESCRIBE-11")
@pytest.mark.parametrize(("options", "time"), [((), r"\d{13}"), (("--human-readable",), r"\d+ ms ago")])
def test_rows_are_printed_as_a_table(here: KraftInProcess, shelf: str, options: tuple[str, ...], time: str) -> None:
    done = here("quorum", "describe", "--bootstrap-controller", shelf, "--replication", *options)

    header, row = ([cell.strip() for cell in line.split("\t")] for line in done.output.splitlines())
    assert header == [
        "NodeId",
        "DirectoryId",
        "LogEndOffset",
        "Lag",
        "LastFetchTimestamp",
        "LastCaughtUpTimestamp",
        "Status",
        "",
    ]
    assert row[:4] == ["1", ZERO_UUID, "6", "0"]
    assert all(re.fullmatch(time, cell) for cell in row[4:6])
    assert row[6:] == ["Leader", ""]


def test_both_are_printed_as_json(here: KraftInProcess, shelf: str) -> None:
    summary = here("quorum", "describe", "--bootstrap-server", shelf, "--status", "--json")
    rows = here("quorum", "describe", "--bootstrap-server", shelf, "--replication", "--json")

    assert json.loads(summary.output)["HighWatermark"] == 6
    assert [row["LagTimeMs"] for row in json.loads(rows.output)] == [0]


@pytest.fixture
def three(tmp_path: Path) -> Iterator[NodesInProcess]:
    """A quorum of three nodes with a leader."""
    with NodesInProcess(voters_properties(tmp_path / "three")) as nodes:
        nodes.start().wait_for_leader()
        yield nodes


def test_follower_is_asked_and_the_leader_is_described(here: KraftInProcess, three: NodesInProcess) -> None:
    leader = three.wait_for_leader()
    follower = next(node_id for node_id in three.running if node_id != leader)

    done = here("quorum", "describe", "--bootstrap-server", str(three.endpoint(follower)), "--status", "--json")

    assert done.exit_code == 0
    described = json.loads(done.output)
    assert (described["LeaderId"], len(described["CurrentVoters"])) == (leader, 3)


@pytest.mark.parametrize("option", ["--status", "--replication"])
def test_without_a_leader_the_view_of_each_node_is_printed(
    here: KraftInProcess, three: NodesInProcess, option: str
) -> None:
    left = three.wait_for_leader()
    end = three.thread.look(lambda: three.running[left].core.log.end_offset)
    for node_id in set(three.running) - {left}:
        three.stop(node_id)
    eventually(lambda: three.leader() is None, "the last node does not lead")
    servers = ",".join(str(three.endpoint(node_id)) for node_id in three.configurations)
    asked = ("quorum", "describe", "--bootstrap-server", servers, "--timeout-ms", "1000", option)

    done, as_json = here(*asked), here(*asked, "--json")

    assert (done.exit_code, as_json.exit_code) == (1, 1)
    assert done.errors.startswith("kraft: no leader found within 1000 ms: ")
    head, *lines = done.output.splitlines()
    assert head == f"View of the node at {three.endpoint(left)}, which does not lead:"
    shown = dict(re.split(r":\s+", line, maxsplit=1) for line in lines)
    assert (shown["ClusterId"], shown["NodeId"], shown["LeaderId"]) == (CLUSTER_ID, str(left), "-1")
    assert shown["Role"] in ("Resigned", "Unattached", "Prospective")
    assert shown["LogEndOffset"] == str(end)
    (view,) = json.loads(as_json.output)["NodeViews"].values()
    assert (view["NodeId"], view["LogEndOffset"]) == (left, end)


def test_view_of_an_observer_says_so() -> None:
    described = NodeDescription(
        cluster_id="c",
        node_id=NodeId(7),
        role="Unattached",
        is_voter=False,
        leader_id=None,
        leader_epoch=Epoch(3),
        log_end_offset=Offset(12),
        high_watermark=None,
    )

    assert node_view(described) == {
        "ClusterId": "c",
        "NodeId": 7,
        "Role": "Unattached (observer)",
        "LeaderId": -1,
        "LeaderEpoch": 3,
        "LogEndOffset": 12,
        "HighWatermark": -1,
    }


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ([], "expected exactly one of --status and --replication"),
        (["--status", "--replication"], "expected exactly one of --status and --replication"),
        (["--status", "--human-readable"], "--human-readable needs --replication"),
    ],
)
@pytest.mark.rule("DESCRIBE-11")
def test_wrong_usage_is_exit_code_2(here: KraftInProcess, shelf: str, options: list[str], words: str) -> None:
    done = here("quorum", "describe", "--bootstrap-server", shelf, *options)

    assert done.exit_code == 2
    assert words in done.errors
