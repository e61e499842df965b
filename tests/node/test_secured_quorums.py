"""Quorums whose voters prove their names to each other: they elect, commit, and go on without their leader."""

from __future__ import annotations

from pathlib import Path

import pytest

from raft.config.security import ClientSecurity
from raft.errors import ErrorCode
from raft.local.ports import free_ports
from raft.wire.messages.describe_quorum import (
    DescribeQuorumRequest,
    DescribeQuorumRequestPartition,
    DescribeQuorumRequestTopic,
    DescribeQuorumResponse,
)
from tests.node.harness.batches import batch_of
from tests.node.harness.keys import SCRAM, Keys, jaas, proof
from tests.node.harness.loop import NodesInProcess
from tests.node.harness.properties import TOPIC, Properties, bootstrap_servers, node_properties, voters_properties
from tests.node.harness.secured import MUTUAL_TLS, OPEN_SCRAM, TLS_PLAIN, TLS_SCRAM, VOTERS, Protection, secured
from tests.node.harness.secured_node import SecuredNodes
from tests.node.harness.waiting import eventually
from tests.node.harness.wire import Wire

WAYS = [
    pytest.param(TLS_SCRAM, id="SCRAM over TLS"),
    pytest.param(TLS_PLAIN, id="PLAIN over TLS"),
    pytest.param(MUTUAL_TLS, id="certificates"),
    pytest.param(OPEN_SCRAM, id="SCRAM without TLS"),
]
SHORT_SESSION_MS = 1000
JAAS_KEY = "listener.name.controller.scram-sha-512.sasl.jaas.config"


@pytest.fixture
def keys(tmp_path: Path) -> Keys:
    return Keys(tmp_path)


def trio_of(folder: Path, keys: Keys, protection: Protection, **overrides: str) -> dict[int, Properties]:
    return secured(voters_properties(folder), keys, {VOTERS: protection}, **overrides)


def alice(keys: Keys, protection: Protection) -> ClientSecurity:
    if protection.needs_certificate:
        return keys.client(protection.protocol, ssl__keystore__location=str(keys.certificate("alice", ())))
    return keys.client(protection.protocol, mechanism=protection.mechanisms[0])


@pytest.mark.parametrize("protection", WAYS)
@pytest.mark.rule("ACL-3", "AUTH-3")
def test_quorum_goes_on_without_its_leader_and_takes_it_back(
    tmp_path: Path, keys: Keys, protection: Protection
) -> None:
    with NodesInProcess(trio_of(tmp_path, keys, protection)) as trio:
        trio.start()
        with trio.client(security=alice(keys, protection)) as client:
            first = client.append(batch_of(b"before"))
            former = trio.wait_for_leader()

            trio.stop(former)
            trio.wait_for_leader(other_than=former)
            second = client.append(batch_of(b"without it"))
            trio.start(former).wait_for_leader()
            third = client.append(batch_of(b"with it"))

    assert first.base_offset < second.base_offset < third.base_offset


@pytest.mark.parametrize("protection", WAYS)
def test_follower_forwards_a_request_to_the_leader_by_its_own_name(
    tmp_path: Path, keys: Keys, protection: Protection
) -> None:
    partition = DescribeQuorumRequestPartition(partition_index=0)
    topic = DescribeQuorumRequestTopic(topic_name=TOPIC, partitions=(partition,))
    with NodesInProcess(trio_of(tmp_path, keys, protection)) as trio:
        leader = trio.start().wait_for_leader()
        follower = next(node_id for node_id in trio.running if node_id != leader)
        keystore = keys.certificate("bob", ()) if protection.needs_certificate else None
        tls = keys.tls(keystore) if protection.protocol.uses_tls else None

        with Wire(trio.endpoint(follower), tls=tls) as wire:
            if protection.mechanisms:
                wire.prove(proof("bob", protection.mechanisms[0]))
            response = wire.ask(DescribeQuorumRequest(topics=(topic,)), 2, DescribeQuorumResponse)

    ((described,),) = (each.partitions for each in response.topics)
    assert (described.error_code, described.leader_id) == (ErrorCode.NONE, leader)
    assert len(described.current_voters) == 3


@pytest.mark.parametrize("protection", [TLS_SCRAM, TLS_PLAIN, OPEN_SCRAM], ids=["SCRAM", "PLAIN", "without TLS"])
@pytest.mark.rule("AUTH-9")
def test_voters_prove_their_names_again_before_their_sessions_end(
    tmp_path: Path, keys: Keys, protection: Protection
) -> None:
    configurations = trio_of(tmp_path, keys, protection, connections__max__reauth__ms=str(SHORT_SESSION_MS))
    with NodesInProcess(configurations) as trio:
        leader = trio.start().wait_for_leader()
        nodes = SecuredNodes(trio, keys)

        eventually(
            lambda: nodes.authentications("successful_reauthentication", VOTERS, leader) >= 4,
            "both followers twice",
        )

        assert trio.leader() == leader
        assert nodes.authentications("expired_connections_killed", VOTERS, leader) == 0
        assert nodes.authentications("failed_reauthentication", VOTERS, leader) == 0


def observer_of(folder: Path, keys: Keys, user: str, voters: dict[int, Properties]) -> Properties:
    (port,) = free_ports(1)
    properties = node_properties(
        folder / "observer",
        node_id=9,
        port=port,
        controller__quorum__bootstrap__servers=bootstrap_servers(*voters.values()),
    )
    observer = secured({9: properties}, keys, {VOTERS: TLS_SCRAM})[9]
    return observer | {
        f"listener.name.controller.{TLS_SCRAM.mechanisms[0].lower()}.sasl.jaas.config": jaas("SCRAM-SHA-512", user)
    }


@pytest.mark.rule("ACL-3")
def test_observer_follows_by_a_principal_that_the_rules_list(tmp_path: Path, keys: Keys) -> None:
    voters = trio_of(tmp_path, keys, TLS_SCRAM)
    with NodesInProcess(voters | {9: observer_of(tmp_path, keys, "mirror", voters)}) as nodes:
        nodes.start(1, 2, 3).wait_for_leader()
        with nodes.client(security=alice(keys, TLS_SCRAM)) as client:
            appended = client.append(batch_of(b"x"))

        observer = nodes.start(9).running[9]

        eventually(lambda: (observer.core.high_watermark or 0) > appended.base_offset, "it has the record")


@pytest.mark.rule("ACL-3")
def test_observer_gets_nothing_by_the_principal_of_a_client(
    tmp_path: Path, keys: Keys, caplog: pytest.LogCaptureFixture
) -> None:
    voters = trio_of(tmp_path, keys, TLS_SCRAM)
    with NodesInProcess(voters | {9: observer_of(tmp_path, keys, "alice", voters)}) as nodes:
        nodes.start(1, 2, 3).wait_for_leader()

        observer = nodes.start(9).running[9]

        line = "refused FetchRequest in the name of node 9: User:alice is not allowed to peer"
        eventually(lambda: line in caplog.text, "it is refused")
        assert observer.core.log.end_offset == 0


@pytest.mark.rule("ACL-3")
def test_voter_with_the_name_of_another_one_takes_no_part(
    tmp_path: Path, keys: Keys, caplog: pytest.LogCaptureFixture
) -> None:
    configurations = trio_of(tmp_path, keys, TLS_SCRAM)
    configurations[3][JAAS_KEY] = jaas(SCRAM, "node2")
    with NodesInProcess(configurations) as trio:
        trio.start(1, 2).wait_for_leader()
        others = [trio.running[1], trio.running[2]]
        epoch = others[0].core.epoch

        impostor = trio.start(3).running[3]
        eventually(lambda: "in the name of node 3: User:node2 is not allowed to peer" in caplog.text, "it is refused")
        with trio.client(security=alice(keys, TLS_SCRAM)) as client:
            client.append(batch_of(b"x"))

        assert [node.core.epoch for node in others] == [epoch, epoch]
        assert impostor.core.log.end_offset == 0
