"""How the state of a quorum is shown: as text, and as HTML in a notebook."""

from __future__ import annotations

from xml.etree import ElementTree

import pytest

from kraft_spark.quorum_status import NodeStatus, QuorumStatus, described_nodes, unknown_nodes
from raft.client.results import QuorumDescription, ReplicaDescription
from raft.types import ZERO_UUID, Epoch, NodeId, Offset

NOW_MS = 1_800_000_000_000
ENDPOINTS = {1: "127.0.0.1:20001", 2: "127.0.0.1:20002", 3: "127.0.0.1:20003"}
PIDS = {1: 101, 2: 102}


def replica(node_id: int, end: int | None, caught_up_ms: int | None) -> ReplicaDescription:
    return ReplicaDescription(
        node_id=NodeId(node_id),
        directory_id=ZERO_UUID,
        log_end_offset=None if end is None else Offset(end),
        last_fetch_ms=caught_up_ms,
        last_caught_up_ms=caught_up_ms,
    )


def description(leader_id: int = 2) -> QuorumDescription:
    return QuorumDescription(
        cluster_id="a-cluster",
        leader_id=NodeId(leader_id),
        leader_epoch=Epoch(7),
        high_watermark=Offset(90),
        voters=(replica(3, None, None), replica(1, 88, NOW_MS - 250), replica(2, 95, None)),
        observers=(replica(9, 40, NOW_MS + 30),),
        endpoints={},
    )


def status_of(*, problem: str | None = None, cluster_id: str = "a-cluster") -> QuorumStatus:
    has_leader = problem is None
    return QuorumStatus(
        cluster_id=cluster_id,
        bootstrap_servers=",".join(ENDPOINTS.values()),
        leader_id=2 if has_leader else None,
        leader_epoch=7 if has_leader else None,
        high_watermark=90 if has_leader else None,
        nodes=described_nodes(description(), PIDS, ENDPOINTS, now_ms=NOW_MS)
        if has_leader
        else unknown_nodes(PIDS, ENDPOINTS),
        problem=problem,
    )


def test_text_has_a_line_for_each_node_the_leader_first() -> None:
    assert repr(status_of()).splitlines() == [
        "ClusterId: a-cluster",
        "BootstrapServers: 127.0.0.1:20001,127.0.0.1:20002,127.0.0.1:20003",
        "LeaderId: 2",
        "LeaderEpoch: 7",
        "HighWatermark: 90",
        "NodeId  Status    LogEndOffset  Lag      LastCaughtUp  Pid          Endpoint",
        "2       Leader    95            0        0 ms ago      102          127.0.0.1:20002",
        "1       Follower  88            7        250 ms ago    101          127.0.0.1:20001",
        "3       Follower  unknown       unknown  unknown       not running  127.0.0.1:20003",
        "9       Observer  40            55       0 ms ago",
    ]


def test_text_has_the_problem_and_the_processes_without_a_leader() -> None:
    status = status_of(problem="no leader responded within 2000 ms")

    assert not status.has_leader
    assert repr(status).splitlines() == [
        "ClusterId: a-cluster",
        "BootstrapServers: 127.0.0.1:20001,127.0.0.1:20002,127.0.0.1:20003",
        "LeaderId: none",
        "Problem: no leader responded within 2000 ms",
        "HighWatermark: unknown",
        "NodeId  Status   LogEndOffset  Lag      LastCaughtUp  Pid          Endpoint",
        "1       unknown  unknown       unknown  unknown       101          127.0.0.1:20001",
        "2       unknown  unknown       unknown  unknown       102          127.0.0.1:20002",
        "3       unknown  unknown       unknown  unknown       not running  127.0.0.1:20003",
    ]


def test_nodes_have_no_lag_when_the_leader_is_not_a_voter() -> None:
    nodes = described_nodes(description(leader_id=4), PIDS, ENDPOINTS, now_ms=NOW_MS)

    assert [(node.node_id, node.status, node.lag) for node in nodes] == [
        (1, "Follower", None),
        (2, "Follower", None),
        (3, "Follower", None),
        (9, "Observer", None),
    ]


@pytest.mark.parametrize("problem", [None, "no <leader> & no 'quorum'"], ids=["leader", "no leader"])
def test_html_is_well_formed_and_has_the_cells_of_the_text(problem: str | None) -> None:
    status = status_of(problem=problem)

    root = ElementTree.fromstring(status._repr_html_())

    header, *rows = [[cell.text or "" for cell in row] for row in root.iter("tr")]
    assert header == ["NodeId", "Status", "LogEndOffset", "Lag", "LastCaughtUp", "Pid", "Endpoint"]
    assert rows == [list(node.cells()) for node in status.nodes]
    facts = [code.text for code in root.iter("code")]
    assert facts[0] == "a-cluster"
    assert facts[3] == (problem or "7")


def test_html_shows_markup_in_a_value_as_text() -> None:
    hostile = "<script>alert('x')</script>\"&amp;"
    node = NodeStatus(
        node_id=1,
        status=hostile,
        log_end_offset=None,
        lag=None,
        last_caught_up_ms=None,
        pid=None,
        endpoint=hostile,
    )
    status = QuorumStatus(
        cluster_id=hostile,
        bootstrap_servers=hostile,
        leader_id=None,
        leader_epoch=None,
        high_watermark=None,
        nodes=(node,),
        problem=hostile,
    )

    markup = status._repr_html_()

    assert "<script" not in markup
    root = ElementTree.fromstring(markup)
    assert not [*root.iter("script")]
    assert [cell.text for cell in root.iter("td")][1] == hostile
