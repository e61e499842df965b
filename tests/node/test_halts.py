"""A node that halts to protect committed records, and a leader that sends damaged records."""

from __future__ import annotations

from pathlib import Path

import pytest

from raft.errors import ErrorCode
from raft.local.ports import free_ports
from raft.wire.messages.begin_quorum_epoch import (
    BeginQuorumEpochRequest,
    BeginQuorumEpochRequestPartition,
    BeginQuorumEpochRequestTopic,
    BeginQuorumEpochResponse,
)
from raft.wire.messages.fetch import FetchResponse
from tests.node.harness.batches import batch_of
from tests.node.harness.properties import CLUSTER_ID, TOPIC, bootstrap_servers, node_properties, voters_properties
from tests.node.harness.requests import fetch_request
from tests.node.harness.waiting import eventually
from tests.node.harness.wire import Wire
from tests.processes.node_process import NodeProcess, client_of

DAY_MS = 86_400_000


def announcement(leader: int) -> BeginQuorumEpochRequest:
    partition = BeginQuorumEpochRequestPartition(partition_index=0, leader_id=leader, leader_epoch=5)
    topic = BeginQuorumEpochRequestTopic(topic_name=TOPIC, partitions=(partition,))
    return BeginQuorumEpochRequest(cluster_id=CLUSTER_ID, topics=(topic,))


@pytest.mark.rule("GEN-12", "SCENARIO-22")
def test_node_stops_with_an_error_when_one_epoch_has_two_leaders(tmp_path: Path) -> None:
    properties = voters_properties(tmp_path)[1]
    with NodeProcess(properties, tmp_path / "process").start() as node:
        node.wait_until_serving()
        with Wire(node.endpoint) as wire:
            wire.ask(announcement(2), 1, BeginQuorumEpochResponse)
            wire.send(announcement(3), 1)
            exit_code = node.wait()

    assert exit_code == 1
    why = "two leaders in epoch 5: 2 is known, a message names 3"
    assert node.output.splitlines()[-1] == f"kraft: {why}"
    assert f"node 1 stops: {why}" in node.output
    assert "Traceback" not in node.output


@pytest.mark.rule("LOG-29", "LOG-30")
def test_replica_gets_nothing_damaged_and_goes_on_when_the_log_of_its_leader_is_sound_again(tmp_path: Path) -> None:
    scrub = {"raft.scrub.bytes.per.second": "200000000", "raft.scrub.interval.ms": "100"}
    leader = {**voters_properties(tmp_path, voters=1)[1], **scrub}
    observer = node_properties(
        tmp_path / "observer",
        node_id=7,
        port=free_ports(1)[0],
        controller__quorum__bootstrap__servers=bootstrap_servers(leader),
    )
    with (
        NodeProcess(leader, tmp_path / "leader").start() as node,
        NodeProcess(observer, tmp_path / "watching") as watching,
    ):
        node.wait_until_serving()
        with client_of(node) as client:
            # More than the leader keeps in memory, so that it reads the first of it from the disk.
            for _ in range(60):
                client.append(batch_of(*[b"x" * 1000] * 100))
        good = node.segment.read_bytes()
        _write_byte(node.segment, 300, b"\xff")
        watching.start().wait_until_serving()
        watching.wait_until_printed("node 1 responds STORAGE_ERROR to our FetchRequest")
        node.wait_until_printed("the log is damaged, although it was flushed")
        _write_byte(node.segment, 300, good[300:301])
        eventually(lambda: watching.segment.stat().st_size == len(good), "all of it, once it is whole again")


@pytest.mark.rule("LOG-30")
def test_waiting_client_learns_of_damaged_records_at_once_and_the_node_continues(tmp_path: Path) -> None:
    with NodeProcess(voters_properties(tmp_path, voters=1)[1], tmp_path / "process").start() as node:
        node.wait_until_serving()
        with client_of(node) as client:
            for _ in range(60):
                client.append(batch_of(*[b"x" * 1000] * 100))
            _write_byte(node.segment, 300, b"\xff")
            with Wire(node.endpoint) as wire:
                response = wire.ask(fetch_request(1, min_bytes=1 << 30, max_wait_ms=DAY_MS), 12, FetchResponse)
            client.append(batch_of(b"goes on"))

    (partition,) = response.responses[0].partitions
    assert (partition.error_code, partition.records) == (ErrorCode.STORAGE_ERROR, b"")
    assert "Traceback" not in node.output


def _write_byte(path: Path, position: int, byte: bytes) -> None:
    with path.open("r+b") as file:
        file.seek(position)
        file.write(byte)
