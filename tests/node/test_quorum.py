"""Quorums of several nodes in one process: elections, replication, restarts, observers."""

from __future__ import annotations

import logging
from pathlib import Path

import pytest

from raft.core import messages as core
from raft.core.roles import Follower, Leader, Resigned
from raft.errors import CorruptBatchError, ErrorCode
from raft.local.ports import free_ports
from raft.records.batches import read_batches
from raft.records.control import leader_change_batch
from raft.types import Epoch, LeaderAndEpoch, NodeId, Offset, OffsetAndEpoch
from raft.wire.messages.produce import ProduceResponse
from tests.hang import HANG_S
from tests.node.harness.batches import batch_of, values_in
from tests.node.harness.loop import NodesInProcess
from tests.node.harness.pair import Pair
from tests.node.harness.peer import Answer, friendly
from tests.node.harness.properties import bootstrap_servers, node_properties, voters_properties
from tests.node.harness.requests import produce_request, produced
from tests.node.harness.waiting import eventually


def append(nodes: NodesInProcess, *values: bytes) -> None:
    with nodes.client() as client:
        for value in values:
            client.append(batch_of(value))


def values_of(nodes: NodesInProcess, node_id: int) -> list[bytes | None]:
    """The data records in a node's own log, committed or not, read on its disk's thread."""
    found: list[bytes | CorruptBatchError] = []
    nodes.thread.look(
        lambda: nodes.running[node_id].parts.replica.context.disk.search(
            lambda log: log.read(Offset(0), max_bytes=1 << 24, end_offset=log.end_offset), found.append
        )
    )
    eventually(lambda: found, "it is read")
    assert isinstance(found[0], bytes), "the log is sound"
    return values_in(found[0])


def wait_until_all_have(nodes: NodesInProcess, values: list[bytes]) -> None:
    for node_id in nodes.running:
        eventually(lambda node_id=node_id: values_of(nodes, node_id) == values, f"node {node_id} has {values}")  # type: ignore[misc]


def test_every_node_has_what_is_appended(tmp_path: Path) -> None:
    with NodesInProcess(voters_properties(tmp_path)) as nodes:
        nodes.start().wait_for_leader()

        append(nodes, b"a", b"b", b"c")

        wait_until_all_have(nodes, [b"a", b"b", b"c"])
        leader = nodes.leader()
        roles = [type(node.core.role) for node_id, node in nodes.running.items() if node_id != leader]
        assert roles == [Follower, Follower]


def test_two_of_three_continue_and_the_third_catches_up(tmp_path: Path) -> None:
    with NodesInProcess(voters_properties(tmp_path)) as nodes:
        leader = nodes.start().wait_for_leader()
        away = min(node_id for node_id in nodes.running if node_id != leader)
        append(nodes, b"a")
        nodes.stop(away)
        append(nodes, b"b")

        nodes.start(away)

        wait_until_all_have(nodes, [b"a", b"b"])
        assert nodes.leader() == leader, "no election took place"


def test_another_leads_when_the_leader_stops_and_nothing_is_lost(tmp_path: Path) -> None:
    with NodesInProcess(voters_properties(tmp_path)) as nodes:
        old = nodes.start().wait_for_leader()
        append(nodes, b"a")
        nodes.stop(old)

        append(nodes, b"b")
        nodes.start(old)
        append(nodes, b"c")

        wait_until_all_have(nodes, [b"a", b"b", b"c"])


def test_all_nodes_restart_with_all_that_was_acknowledged(tmp_path: Path) -> None:
    with NodesInProcess(voters_properties(tmp_path)) as nodes:
        leader = nodes.start().wait_for_leader()
        epoch = nodes.running[leader].core.epoch
        append(nodes, b"a", b"b")
        for node_id in list(nodes.running):
            nodes.stop(node_id)

        nodes.start().wait_for_leader()

        wait_until_all_have(nodes, [b"a", b"b"])
        assert all(node.core.epoch > epoch for node in nodes.running.values())


@pytest.mark.rule("END-1", "END-11", "END-14")
def test_another_voter_leads_at_once_when_the_leader_shuts_down(tmp_path: Path) -> None:
    with NodesInProcess(voters_properties(tmp_path, controller__quorum__fetch__timeout__ms="3600000")) as nodes:
        old = nodes.start().wait_for_leader()
        append(nodes, b"a")

        nodes.leave(old)
        new = nodes.wait_for_leader(other_than=old)
        # Without the leader's EndQuorumEpoch the others would wait for an hour.
        append(nodes, b"b")

        nodes.start(old)
        wait_until_all_have(nodes, [b"a", b"b"])
        assert nodes.leader() == new


@pytest.mark.rule("END-14")
@pytest.mark.parametrize("voters", [1, 3])
def test_node_shuts_down_at_once_when_it_is_not_leader(tmp_path: Path, voters: int) -> None:
    with NodesInProcess(voters_properties(tmp_path, voters=voters)) as nodes:
        leader = nodes.start().wait_for_leader()
        leaving = leader if voters == 1 else min(node_id for node_id in nodes.running if node_id != leader)

        nodes.leave(leaving)

        assert leaving not in nodes.running


@pytest.mark.rule("END-14")
def test_leader_that_waits_for_a_successor_ends_at_once_when_told_to(tmp_path: Path) -> None:
    with NodesInProcess(voters_properties(tmp_path, controller__quorum__fetch__timeout__ms="3600000")) as nodes:
        leader = nodes.start().wait_for_leader()
        first, second = (node_id for node_id in nodes.running if node_id != leader)
        with nodes.slow_disk(first), nodes.slow_disk(second):  # So that neither can store the epoch of an election.
            leaving = nodes.thread.begin(nodes.running[leader].resign_and_leave(timeout_ms=3_600_000))
            eventually(lambda: isinstance(nodes.running[leader].core.role, Resigned), "it waits for a successor")
            is_waiting = not leaving.done()

            nodes.thread.look(nodes.running[leader].leave_now)

            leaving.result(HANG_S)
        assert is_waiting


@pytest.mark.rule("BOOT-5", "FETCH-9")
def test_observer_finds_the_leader_by_its_bootstrap_servers(tmp_path: Path) -> None:
    configurations = voters_properties(tmp_path)
    servers = bootstrap_servers(*configurations.values())
    observer = node_properties(
        tmp_path / "observer", node_id=9, port=free_ports(1)[0], controller__quorum__bootstrap__servers=servers
    )
    with NodesInProcess(configurations | {9: observer}) as nodes:
        nodes.start().wait_for_leader()
        append(nodes, b"a", b"b")

        wait_until_all_have(nodes, [b"a", b"b"])
        with nodes.client() as client:
            described = client.describe_quorum()
        assert [replica.node_id for replica in described.observers] == [9]
        assert {replica.node_id for replica in described.voters} == {1, 2, 3}


def test_node_catches_up_when_a_batch_is_larger_than_it_would_take_itself(tmp_path: Path) -> None:
    configurations = voters_properties(tmp_path, voters=1)
    observer = node_properties(
        tmp_path / "observer",
        node_id=9,
        port=free_ports(1)[0],
        controller__quorum__bootstrap__servers=bootstrap_servers(configurations[1]),
        message__max__bytes="1000",
    )
    large = b"x" * (3 << 20)
    with NodesInProcess(configurations | {9: observer}) as nodes:
        nodes.start().wait_for_leader()

        append(nodes, large, b"small")

        wait_until_all_have(nodes, [large, b"small"])


@pytest.mark.rule("CLUSTERID-2", "CLUSTERID-3", "CLUSTERID-5")
def test_voter_of_another_cluster_is_refused_and_logged(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    configurations = voters_properties(tmp_path)
    configurations[3]["cluster.id"] = "another-cluster"
    with caplog.at_level(logging.WARNING), NodesInProcess(configurations) as nodes:
        nodes.start(1, 2)
        leader = nodes.wait_for_leader()
        epoch = nodes.running[leader].core.epoch
        nodes.start(3)
        eventually(lambda: _refusals(caplog, of=3), "node 3 hears that it is refused")

        append(nodes, b"a")

        assert {nodes.running[node_id].core.epoch for node_id in (1, 2)} == {epoch}
        assert nodes.running[3].core.leader_id is None
        assert nodes.running[3].core.log.end_offset == 0


def _refusals(caplog: pytest.LogCaptureFixture, *, of: int) -> list[str]:
    return [
        message
        for message in caplog.messages
        if message.startswith(f"node {of}: ") and "INCONSISTENT_CLUSTER_ID" in message
    ]


@pytest.mark.rule("DIVERGE-5", "DIVERGE-6")
def test_replaced_leader_truncates_what_was_not_committed(leading: Pair, caplog: pytest.LogCaptureFixture) -> None:
    start = leading.commit()
    epoch = Epoch(leading.epoch + 1)

    def play(request: core.OutgoingRequest) -> Answer:
        if not isinstance(request, core.FetchRequest):
            return friendly(request)
        leader = LeaderAndEpoch(epoch=epoch, leader_id=NodeId(2))
        response = core.FetchResponse(leader=leader, high_watermark=Offset(start))
        if request.last_fetched_epoch == epoch:
            return None
        if request.fetch_offset > start:
            diverging = OffsetAndEpoch(epoch=Epoch(epoch - 1), offset=Offset(start))
            return core.FetchResponse(leader=leader, diverging=diverging)
        record = leader_change_batch(
            base_offset=Offset(start),
            epoch=epoch,
            leader_id=NodeId(2),
            voters=(NodeId(1), NodeId(2)),
            granting_voters=(NodeId(2),),
            timestamp_ms=1,
        )
        return core.FetchResponse(
            leader=leader,
            high_watermark=response.high_watermark,
            batches=tuple(read_batches(record)),
        )

    leading.peer.play = play
    with leading.wire() as wire:
        for sequence in range(3):
            wire.send(produce_request(batch_of(b"lost", producer_id=5, sequence=sequence)), 9)
        leading.wait_for_log_end(start + 3)
        leading.announce_itself(epoch=epoch)
        codes = [produced(wire.receive(ProduceResponse)).error_code for _ in range(3)]
        eventually(lambda: leading.log_end == start + 1 and not leading.is_leading, "one record of the new leader")

    assert codes == [ErrorCode.NOT_LEADER_OR_FOLLOWER] * 3
    (line,) = [record.message for record in caplog.records if "truncates" in record.message]
    assert line == (
        f"node 1 truncates its log at offset {start}: leader 2 does not have what follows; everything below "
        f"offset {start} is known to be committed"
    )
    assert values_of(leading.nodes, 1) == []
    leading.nodes.stop(1)
    leading.nodes.start(1)
    assert leading.log_end == start + 1, "on the disk too"


@pytest.mark.rule("FETCH-17", "SCENARIO-26")
def test_leader_resigns_when_no_voter_follows_it(tmp_path: Path) -> None:
    with NodesInProcess(voters_properties(tmp_path)) as nodes:
        leader = nodes.start().wait_for_leader()
        for node_id in [node_id for node_id in nodes.running if node_id != leader]:
            nodes.stop(node_id)

        eventually(lambda: not isinstance(nodes.running[leader].core.role, Leader), "it resigns")
