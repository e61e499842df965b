"""Nodes that are killed under load: every acknowledged record is there, once and in order."""

from __future__ import annotations

import time
from collections.abc import Iterable
from pathlib import Path

import pytest

from tests.node.harness.batches import batch_of
from tests.node.harness.properties import voters_properties
from tests.node.harness.waiting import eventually
from tests.processes.node_process import NodeProcess
from tests.processes.node_quorum import NodeQuorum
from tests.workload.appenders import Appenders
from tests.workload.committed import read_all


def test_no_acknowledged_append_is_lost_or_duplicated_by_kills(trio: NodeQuorum) -> None:
    with Appenders(trio.client) as appenders:
        appenders.wait_for_progress()
        _kill_and_restart(trio.leader(), appenders)
        _kill_and_restart(trio.follower(), appenders)
        trio.kill()
        trio.start()
        appenders.wait_for_progress()
        _kill_and_restart(trio.leader(), appenders)

    with trio.client() as client:
        appenders.check(read_all(client))
    for node in trio.nodes.values():
        assert "Traceback" not in node.output, node.output


def _kill_and_restart(node: NodeProcess, appenders: Appenders) -> None:
    node.kill()
    appenders.wait_for_progress()
    node.start().wait_until_serving()
    appenders.wait_for_progress()


def times_led(nodes: Iterable[NodeProcess]) -> int:
    """Return how often any of the nodes has become leader."""
    return sum(node.output.count("Candidate -> Leader") for node in nodes)


@pytest.mark.rule("END-1", "END-11")
def test_leader_has_a_successor_at_once_when_it_is_stopped(tmp_path: Path) -> None:
    configurations = voters_properties(tmp_path, controller__quorum__fetch__timeout__ms="30000")
    with NodeQuorum(tmp_path, configurations).start() as quorum:
        with Appenders(quorum.client) as appenders:
            appenders.wait_for_progress()
            old = quorum.leader()
            others = [node for node in quorum.nodes.values() if node is not old]
            led_before = times_led(others)
            started_s = time.monotonic()
            exit_code = old.terminate()
            eventually(lambda: times_led(others) > led_before, "a successor")
            took_s = time.monotonic() - started_s
            appenders.wait_for_progress()
        with quorum.client() as client:
            appenders.check(read_all(client))

    assert exit_code == 0
    assert took_s < 15, "without the leader's EndQuorumEpoch the others would wait for half a minute"
    assert "shut down" in old.output.splitlines()[-1]


@pytest.mark.rule("LOG-13")
def test_torn_end_of_a_killed_node_is_truncated_and_fetched_again(trio: NodeQuorum) -> None:
    with trio.client() as client:
        client.append(batch_of(b"before the torn end"))
        torn = trio.follower()
        eventually(lambda: b"before the torn end" in torn.segment.read_bytes(), "the follower has the record")
        torn.kill()
        with torn.segment.open("ab") as file:
            file.write(b"\x00" * 100)
        client.append(batch_of(b"after the torn end"))
        torn.start().wait_until_serving()
        expected = trio.leader().segment.read_bytes()
        eventually(lambda: torn.segment.read_bytes() == expected, "the same bytes as the leader's")

    assert "log truncated" in torn.output
