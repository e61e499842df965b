"""Voters of Kafka and of ours in one quorum over SSL and SASL_SSL: each kind leads, and the other one follows."""

from __future__ import annotations

from pathlib import Path

import pytest

from raft.types import NodeId
from tests.java.kafka import Kafka
from tests.java.mixed_quorum import Fault, Kind, MixedQuorum
from tests.java.workload import Workload
from tests.node.harness.properties import Properties
from tests.node.harness.waiting import eventually
from tests.processes.kraft import kraft_json
from tests.secured.secured_voters import PlainVoters, ScramVoters, SecuredVoters

pytestmark = pytest.mark.java

_VOTERS = [Kind.JAVA, Kind.OURS, Kind.OURS]
_MOST_ELECTIONS = 8
_WORK_S = 0.3

_PATIENT = {
    # When a leader of ours is lost, the voter of Kafka stands for election before the other one of ours.
    "controller.quorum.fetch.timeout.ms": "2500",
    "controller.quorum.election.timeout.ms": "2000",
}


@pytest.mark.rule("AUTH-3", "ACL-3")
@pytest.mark.parametrize(
    "make",
    [
        pytest.param(SecuredVoters, id="SSL"),
        pytest.param(PlainVoters, id="SASL_SSL PLAIN"),
        pytest.param(ScramVoters, id="SASL_SSL SCRAM-SHA-256 of Kafka's voter, PLAIN of ours"),
    ],
)
def test_voters_of_each_kind_lead_those_of_the_other(kafka: Kafka, tmp_path: Path, make: type[SecuredVoters]) -> None:
    security = make(tmp_path, range(1, len(_VOTERS) + 1))

    def settings(node_id: NodeId, kind: Kind) -> Properties:
        return security.properties(node_id) | (_PATIENT if kind is Kind.OURS else {})

    open_wire = security.open_wire
    with MixedQuorum(kafka, tmp_path, _VOTERS, settings=settings, open_wire=open_wire, has_proxies=False) as quorum:
        workload = Workload(quorum, security.client())
        kinds_that_led = lead_in_turn(quorum, workload)
        segments = [segment for node in quorum.nodes.values() for segment in node.segments()]
        quorum.end_when(lambda: len({segment.read_bytes() for segment in segments}) == 1)

    assert kinds_that_led == {Kind.JAVA, Kind.OURS}
    values = {row["offset"]: row.get("value") for row in kraft_json("dump-log", str(segments[0])) if "offset" in row}
    assert workload.acknowledged
    assert {offset: value.decode() for offset, value in workload.acknowledged.items()}.items() <= values.items()
    assert not [line for node_id in quorum.of_kind(Kind.OURS) for line in quorum.nodes[node_id].error_lines]


def lead_in_turn(quorum: MixedQuorum, workload: Workload) -> set[Kind]:
    """Kill leaders until one of each kind has led, and committed records; return the kinds that have."""
    leadership = quorum.wait_for_leader()
    led: set[Kind] = set()
    for _ in range(_MOST_ELECTIONS):
        workload.run(leadership.leader_id, _WORK_S)
        led.add(quorum.kinds[leadership.leader_id])
        if led == quorum.kinds_of_voters:
            break
        quorum.inject(leadership.leader_id, Fault.KILLED)
        leadership = quorum.wait_for_leader(after=leadership.epoch)
        quorum.end_fault()
        leadership = quorum.wait_for_leader()
    return led


@pytest.mark.rule("ACL-3")
def test_voter_of_kafka_gets_no_records_when_it_has_the_certificate_of_another_voter(
    kafka: Kafka, tmp_path: Path
) -> None:
    security = SecuredVoters(tmp_path, [1, 2, 3])

    def settings(node_id: NodeId, _kind: Kind) -> Properties:
        return security.properties(2 if node_id == 1 else node_id)

    open_wire = security.open_wire
    with MixedQuorum(kafka, tmp_path, _VOTERS, settings=settings, open_wire=open_wire, has_proxies=False) as quorum:
        impostor, *others = quorum.nodes.values()
        # Kafka ends a node that another one refuses.
        impostor.wait_until_printed("ClusterAuthorizationException")
        eventually(lambda: any(" -> Leader" in node.output for node in others), "a leader")
        eventually(lambda: all(node.segment.stat().st_size for node in others), "a record in both logs")
        refusal = "in the name of node 1: User:node2 is not allowed to peer"

        assert any(refusal in node.output for node in others)
        assert impostor.segment.stat().st_size == 0
