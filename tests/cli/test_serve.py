"""`kraft serve`: a node from its configuration file to a signal."""

from __future__ import annotations

import signal
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from raft.local.ports import free_ports
from tests.node.harness.properties import voters_properties, write_properties
from tests.node.harness.waiting import eventually
from tests.processes.commands import KRAFT
from tests.processes.kraft import start_kraft
from tests.processes.node_process import NodeProcess
from tests.processes.node_quorum import NodeQuorum


@pytest.fixture
def node(tmp_path: Path) -> Iterator[NodeProcess]:
    """The one node of a quorum, not started."""
    (properties,) = voters_properties(tmp_path, voters=1).values()
    with NodeProcess(properties, tmp_path / "process") as node:
        yield node


SIGNALLED = """
import logging, os, sys
from raft.cli.main import main
from tests.processes.kraft import start_kraft

class Hasty(logging.Handler):
    def emit(self, record):
        if " listens on " in record.getMessage():
            os.kill(os.getpid(), {number})

logging.basicConfig(level=logging.INFO, handlers=[logging.StreamHandler(), Hasty()])
main()
"""


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_node_shuts_down_gracefully_when_signalled_as_soon_as_it_listens(
    tmp_path: Path, number: signal.Signals
) -> None:
    (properties,) = voters_properties(tmp_path, voters=1).values()
    hasty = (sys.executable, "-c", SIGNALLED.format(number=int(number)), "serve")
    with NodeProcess(properties, tmp_path / "process", command=hasty).start() as node:
        assert node.wait() == 0
        assert "shut down" in node.output


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_node_shuts_down_gracefully_when_signalled(node: NodeProcess, number: signal.Signals) -> None:
    node.start().wait_until_serving()
    node.signal(number)

    assert node.wait() == 0
    assert node.output.splitlines()[-1].endswith("node 1: shut down")
    assert "Traceback" not in node.output


@pytest.mark.rule("END-14")
def test_node_that_is_signalled_twice_ends_at_once(tmp_path: Path) -> None:
    configurations = voters_properties(tmp_path, controller__quorum__fetch__timeout__ms="30000")
    with NodeQuorum(tmp_path, configurations).start() as quorum:
        leader_id = quorum.leader_id()
        leader = quorum.nodes[leader_id]
        for follower_id in quorum.followers_of(leader_id):
            quorum.nodes[follower_id].kill()
        leader.signal(signal.SIGTERM)
        leader.wait_until_printed("Leader -> Resigned")
        is_waiting = leader.is_running
        leader.signal(signal.SIGTERM)

        exit_code = leader.wait()

    assert is_waiting
    assert exit_code == 0


def test_keys_are_overridden_by_arguments(node: NodeProcess) -> None:
    port = free_ports(1)[0]
    listener = f"listeners=CONTROLLER://127.0.0.1:{port}"
    node.start("--override", listener, "--override", "cluster.id=overridden").wait_until_serving()

    assert f"node 1 of cluster overridden listens on 127.0.0.1:{port}" in node.output


def test_invalid_override_is_refused(node: NodeProcess) -> None:
    assert node.start("--override", "nonsense").wait() == 1
    assert node.output == "kraft: --override nonsense: expected key=value\n"


def test_wrong_value_is_refused_in_one_line(node: NodeProcess) -> None:
    assert node.start("--override", "max.connections=none").wait() == 1
    assert node.output == "kraft: max.connections=none: expected 1 to 2147483647\n"


def test_node_has_a_directory_that_the_locale_has_no_characters_for(tmp_path: Path) -> None:
    (properties,) = voters_properties(tmp_path / "d\xe4ta", voters=1).values()
    command = ("env", "LC_ALL=C", "PYTHONUTF8=0", *KRAFT, "serve")
    with NodeProcess(properties, tmp_path / "process", command=command).start() as node:
        node.wait_until_serving()

    assert (Path(properties["log.dirs"]) / "meta.properties").exists()
    assert "Traceback" not in node.output


def test_warnings_for_the_operator_are_logged_at_the_start(node: NodeProcess) -> None:
    node.start("--override", "max.connection=5").wait_until_serving()

    assert "WARNING unknown key max.connection is ignored; did you mean max.connections?" in node.output


def test_supervised_node_ends_with_its_standard_input(node: NodeProcess, tmp_path: Path) -> None:
    config = write_properties(tmp_path / "node.properties", node.properties)
    with start_kraft("serve", "--config", str(config), "--exit-with-stdin") as serving:
        eventually(lambda: "Candidate -> Leader" in serving.errors, "it leads")
        serving.close_input()

        assert serving.wait() == 0
        assert "shut down" not in serving.errors, "leadership is not transferred"
