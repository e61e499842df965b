"""Nodes that are killed under load: every acknowledged record is there, once and in order."""

from __future__ import annotations

import time

import pytest

from tests.node.harness.batches import batch_of
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


@pytest.mark.rule("END-1", "END-11")
def test_leader_has_a_successor_within_a_second_when_it_is_stopped(trio: NodeQuorum) -> None:
    with Appenders(trio.client) as appenders:
        appenders.wait_for_progress()
        old = trio.leader()
        others = [node for node in trio.nodes.values() if node is not old]
        led_before = sum(node.output.count("Candidate -> Leader") for node in others)
        started_s = time.monotonic()
        exit_code = old.terminate()
        eventually(lambda: sum(node.output.count("Candidate -> Leader") for node in others) > led_before, "a successor")
        took_s = time.monotonic() - started_s
        appenders.wait_for_progress()

    assert exit_code == 0
    assert took_s < 1.5, "the exit of the interpreter included"
    assert "shut down" in old.output.splitlines()[-1]
    with trio.client() as client:
        appenders.check(read_all(client))


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
