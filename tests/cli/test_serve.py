"""`kraft serve`: a node from its file to its signal."""

from __future__ import annotations

import signal
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from raft.local.ports import free_ports
from tests.cli.running import PATIENCE_S, start_kraft
from tests.node.harness.processes import KRAFT, NodeProcess, client_of
from tests.node.harness.properties import voters_properties, write_properties


@pytest.fixture
def node(tmp_path: Path) -> Iterator[NodeProcess]:
    """The one node of a quorum, not started."""
    (properties,) = voters_properties(tmp_path, voters=1).values()
    with NodeProcess(properties, tmp_path / "process") as node:
        yield node


SIGNALLED = """
import logging, os, sys
from raft.cli.main import main

class Hasty(logging.Handler):
    def emit(self, record):
        if " listens on " in record.getMessage():
            os.kill(os.getpid(), {number})

logging.basicConfig(level=logging.INFO, handlers=[logging.StreamHandler(), Hasty()])
main()
"""


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_node_leaves_gracefully_when_asked_as_soon_as_it_says_that_it_listens(
    tmp_path: Path, number: signal.Signals
) -> None:
    (properties,) = voters_properties(tmp_path, voters=1).values()
    hasty = (sys.executable, "-c", SIGNALLED.format(number=int(number)), "serve")
    with NodeProcess(properties, tmp_path / "process", command=hasty).start() as node:
        assert node.wait() == 0
        assert "shut down" in node.words


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_node_leaves_gracefully_when_asked(node: NodeProcess, number: signal.Signals) -> None:
    node.start().wait_until_serving()
    node.signal(number)

    assert node.wait(within_s=5) == 0
    assert node.words.splitlines()[-1].endswith("node 1: shut down")
    assert "Traceback" not in node.words


@pytest.mark.rule("END-14")
def test_node_that_is_asked_twice_leaves_at_once(tmp_path: Path) -> None:
    configurations = voters_properties(tmp_path, controller__quorum__fetch__timeout__ms="30000")
    nodes = [NodeProcess(properties, tmp_path / f"process-{node_id}") for node_id, properties in configurations.items()]
    with nodes[0], nodes[1], nodes[2]:
        for node in nodes:
            node.start()
        for node in nodes:
            node.wait_until_serving()
        with client_of(*nodes) as client:
            leader = nodes[client.describe_quorum().leader_id - 1]
        for node in nodes:
            if node is not leader:
                node.kill()
        leader.signal(signal.SIGTERM)
        leader.wait_until_it_says("Leader -> Resigned")
        is_waiting = leader.is_running
        started_s = time.monotonic()
        leader.signal(signal.SIGTERM)

        exit_code = leader.wait(within_s=3)

    assert is_waiting
    assert exit_code == 0
    assert time.monotonic() - started_s < 3, "alone it would wait 5 s for a successor"


def test_keys_are_overridden_by_arguments(node: NodeProcess) -> None:
    port = free_ports(1)[0]
    listener = f"listeners=CONTROLLER://127.0.0.1:{port}"
    node.start("--override", listener, "--override", "cluster.id=overridden").wait_until_serving()

    assert f"node 1 of cluster overridden listens on 127.0.0.1:{port}" in node.words


def test_override_that_is_none_is_refused(node: NodeProcess) -> None:
    assert node.start("--override", "nonsense").wait() == 1
    assert node.words == "kraft: --override nonsense: expected key=value\n"


def test_wrong_value_is_refused_in_one_line(node: NodeProcess) -> None:
    assert node.start("--override", "max.connections=none").wait() == 1
    assert node.words == "kraft: max.connections=none: expected 1 to 2147483647\n"


def test_node_has_a_directory_that_the_locale_has_no_characters_for(tmp_path: Path) -> None:
    (properties,) = voters_properties(tmp_path / "d\xe4ta", voters=1).values()
    command = ("env", "LC_ALL=C", "PYTHONUTF8=0", *KRAFT, "serve")
    with NodeProcess(properties, tmp_path / "process", command=command).start() as node:
        node.wait_until_serving()

    assert (Path(properties["log.dirs"]) / "meta.properties").exists()
    assert "Traceback" not in node.words


def test_what_an_operator_should_know_is_said_at_the_start(node: NodeProcess) -> None:
    node.start("--override", "max.connection=5").wait_until_serving()

    assert "WARNING unknown key max.connection is ignored; did you mean max.connections?" in node.words


def test_supervised_node_ends_with_its_standard_input(node: NodeProcess, tmp_path: Path) -> None:
    config = write_properties(tmp_path / "node.properties", node.properties)
    with start_kraft("serve", "--config", str(config), "--exit-with-stdin") as serving:
        assert serving.stderr is not None
        assert serving.stdin is not None
        while b"Candidate -> Leader" not in serving.stderr.readline():
            assert serving.poll() is None
        serving.stdin.close()

        assert serving.wait(PATIENCE_S) == 0
        assert b"shut down" not in serving.stderr.read(), "nothing is handed over"
