"""Another program takes all room on disks, the reserve too: no node stops, and each goes on when there is room."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from raft.client import Client
from raft.config import NodeConfig
from raft.errors import QuorumUnavailableError
from raft.storage.directory_check import DirectoryCheck
from raft.storage.disk import DiskFiles
from raft.storage.log_check import LogFinding
from tests.node.harness.batches import batch_of
from tests.node.harness.full_disk import FullDisks
from tests.node.harness.loop import NodesInProcess
from tests.node.harness.properties import SHORT_TIMEOUTS, quorum_properties
from tests.node.harness.waiting import eventually
from tests.workload.committed import read_all

LARGE = b"x" * 20_000
"""More than the last block of a file has room for."""


@pytest.fixture
def disks(monkeypatch: pytest.MonkeyPatch) -> FullDisks:
    return FullDisks(monkeypatch)


@pytest.fixture
def nodes(tmp_path: Path, disks: FullDisks) -> Iterator[NodesInProcess]:
    with NodesInProcess(quorum_properties(tmp_path, 3, SHORT_TIMEOUTS)) as nodes:
        yield nodes.start(1, 2, 3)


def directory(nodes: NodesInProcess, node_id: int) -> Path:
    return NodeConfig.from_properties(nodes.configurations[node_id]).log_dir


def wait_until_equal(nodes: NodesInProcess) -> None:
    def ends() -> set[object]:
        return {(node.core.log.end_offset, node.core.durable_end) for node in nodes.running.values()}

    eventually(lambda: len(ends()) == 1, "all nodes have the same log on their disks")


def values_in(client: Client) -> list[bytes | None]:
    return [record.value for record in read_all(client)]


def is_waiting(nodes: NodesInProcess, node_id: int) -> bool:
    return nodes.running[node_id].parts.replica.context.disk.waits_for_room


@pytest.mark.rule("LOG-27")
def test_follower_without_room_goes_on_by_itself(nodes: NodesInProcess, disks: FullDisks) -> None:
    full = next(node_id for node_id in (1, 2, 3) if node_id != nodes.wait_for_leader())
    with nodes.client() as client:
        client.append(batch_of(b"before"))
        disks.fill(directory(nodes, full))
        client.append(batch_of(LARGE))
        client.append(batch_of(b"meanwhile"))
        disks.empty()
        wait_until_equal(nodes)

        assert values_in(client) == [b"before", LARGE, b"meanwhile"]
    assert set(nodes.running) == {1, 2, 3}


@pytest.mark.rule("LOG-27", "LOG-28")
def test_voter_with_room_leads_when_the_disk_of_the_leader_is_full(nodes: NodesInProcess, disks: FullDisks) -> None:
    full = nodes.wait_for_leader()
    with nodes.client(api_timeout_ms=20_000) as client:
        client.append(batch_of(b"before"))
        disks.fill(directory(nodes, full))
        client.append(batch_of(LARGE))

        assert nodes.leader() != full
        disks.empty()
        wait_until_equal(nodes)
        assert values_in(client) == [b"before", LARGE]


@pytest.mark.rule("LOG-27")
def test_no_node_stops_when_all_disks_are_full(nodes: NodesInProcess, disks: FullDisks) -> None:
    leader = nodes.wait_for_leader()
    with nodes.client(api_timeout_ms=3_000) as client:
        client.append(batch_of(b"before"))
        disks.fill(*(directory(nodes, node_id) for node_id in (1, 2, 3)))
        with pytest.raises(QuorumUnavailableError):
            client.append(batch_of(LARGE))
        eventually(lambda: nodes.running[leader].core.is_disk_full, "the leader knows that its disk is full")
        values_meanwhile = values_in(client)
        disks.empty()
        nodes.wait_for_leader()
        client.append(batch_of(b"after"))
        wait_until_equal(nodes)

        values = values_in(client)

    assert values_meanwhile == [b"before"]
    assert (values[0], values[-1]) == (b"before", b"after")
    assert set(values[1:-1]) <= {LARGE}
    assert not any(is_waiting(nodes, node_id) for node_id in (1, 2, 3))


@pytest.mark.rule("LOG-27")
def test_stop_on_a_full_disk_leaves_a_sound_directory(nodes: NodesInProcess, disks: FullDisks) -> None:
    nodes.wait_for_leader()
    with nodes.client(api_timeout_ms=2_000) as client:
        client.append(batch_of(b"before"))
        disks.fill(*(directory(nodes, node_id) for node_id in (1, 2, 3)))
        with pytest.raises(QuorumUnavailableError):
            client.append(batch_of(LARGE))
    for node_id in (1, 2, 3):
        nodes.stop(node_id)

    for node_id in (1, 2, 3):
        with closing(DirectoryCheck(DiskFiles(directory(nodes, node_id)))) as check:
            assert not {each.state for each in check.findings()} & {
                LogFinding.TORN,
                LogFinding.UNCLEAR,
                LogFinding.LOST,
            }
    disks.empty()
    nodes.start()
    with nodes.client() as client:
        assert values_in(client)[0] == b"before"


@pytest.mark.rule("LOG-27")
def test_node_starts_when_there_is_room(tmp_path: Path, disks: FullDisks, caplog: pytest.LogCaptureFixture) -> None:
    disks.fill(tmp_path)
    with NodesInProcess(quorum_properties(tmp_path, 1, SHORT_TIMEOUTS)) as nodes, caplog.at_level(logging.WARNING):
        starting = nodes.thread.begin(nodes._start(1))
        eventually(lambda: "does not start yet" in caplog.text, "the node waits for room")
        is_early = starting.done()
        disks.empty()

        nodes.running[1] = starting.result(20)
        nodes.wait_for_leader()

    assert not is_early
