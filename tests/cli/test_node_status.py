"""`kraft node status`: one screen about a node that runs, one that does not, and one with damaged files."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from raft import __version__
from raft.client import Client
from raft.core.roles import Follower
from raft.node.node import Node
from tests.cli.in_process import KraftInProcess
from tests.node.harness.batches import batch_of
from tests.node.harness.loop import NodesInProcess
from tests.node.harness.properties import CLUSTER_ID, TOPIC, voters_properties, write_properties
from tests.node.harness.waiting import eventually


def config_of(nodes: NodesInProcess, node_id: int, tmp_path: Path) -> str:
    return str(write_properties(tmp_path / f"{node_id}.properties", nodes.configurations[node_id]))


def report(here: KraftInProcess, config: str) -> tuple[int | str, dict[str, Any]]:
    done = here("node", "status", config, "--json", "--timeout-ms", "2000")
    return done.exit_code, json.loads(done.output)


def partition_of(nodes: NodesInProcess, node_id: int) -> Path:
    return Path(nodes.configurations[node_id]["log.dirs"]) / f"{TOPIC}-0"


def directory_of(node: Node) -> str:
    return node.parts.directory.directory_id


def test_running_node_is_one_screen(
    here: KraftInProcess, nodes: NodesInProcess, client: Client, tmp_path: Path
) -> None:
    for _ in range(3):
        client.append(batch_of(b"value"))

    done = here("node", "status", config_of(nodes, 1, tmp_path))

    assert (done.exit_code, done.errors) == (0, "")
    shown = {
        line[10:].split()[0]: " ".join(line[10:].split()[1:]) for line in done.output.splitlines() if line[10:].split()
    }
    assert shown["NodeId"] == "1"
    assert shown["Role"] == "Leader"
    assert (shown["LeaderEpoch"], shown["LeaderId"], shown["ClusterId"]) == ("1", "1", CLUSTER_ID)
    assert shown["DirectoryId"] == directory_of(nodes.running[1])
    assert (shown["LogStartOffset"], shown["LogEndOffset"], shown["HighWatermark"]) == ("0", "4", "4")
    assert shown["LagRecords"] == "0"
    assert (shown["CleanupPolicy"], shown["File"]) == ("none", "none")
    assert re.fullmatch(r"67108864 \(67\.1 MB\)", shown["ReserveBytes"])
    assert shown["kraft-spark"] == __version__
    assert (shown["kraft.version"], shown["kraft.spark.version"]) == ("0", "2")
    assert "Problem" not in done.output


def test_follower_says_how_far_it_is_behind(here: KraftInProcess, tmp_path: Path) -> None:
    with NodesInProcess(voters_properties(tmp_path / "three")) as three:
        leader = three.start().wait_for_leader()
        slow, other = (node_id for node_id in three.running if node_id != leader)
        with three.client() as client:
            client.append(batch_of(b"before"))
            eventually(
                lambda: three.thread.look(lambda: three.running[slow].core.high_watermark) == 2, "it has caught up"
            )
            exit_code, found = report(here, config_of(three, slow, tmp_path))
            three.stop(other)
            three.stop(leader)
            eventually(lambda: not isinstance(three.running[slow].core.role, Follower), "it follows no leader")
            alone = report(here, config_of(three, slow, tmp_path))

    node, log = found["facts"]["Node"], found["facts"]["Log"]
    assert (exit_code, found["problems"]) == (0, [])
    assert (node["Role"], node["LeaderId"], node["NodeId"]) == ("Follower", leader, slow)
    assert (log["LogEndOffset"], log["HighWatermark"], log["LagRecords"]) == (2, 2, 0)
    assert alone[0] == 0, "it runs, although there is no leader"
    assert alone[1]["facts"]["Node"]["LeaderId"] is None
    assert alone[1]["facts"]["Log"]["LagRecords"] is None
    assert "the node knows no leader: look at the other voters" in alone[1]["problems"]


def test_node_that_does_not_run_is_shown_from_its_files(
    here: KraftInProcess, nodes: NodesInProcess, client: Client, tmp_path: Path
) -> None:
    for number in range(300):
        client.append(batch_of(b"%d" % number * 100))
    partition = partition_of(nodes, 1)
    nodes.stop(1)
    before = {path: path.read_bytes() for path in partition.parent.rglob("*") if path.is_file()}

    exit_code, found = report(here, config_of(nodes, 1, tmp_path))

    facts = found["facts"]
    assert (exit_code, found["is_running"]) == (3, False)
    assert facts["Node"]["Role"] == "not running"
    assert (facts["Node"]["LeaderEpoch"], facts["Node"]["ClusterId"]) == (1, CLUSTER_ID)
    assert (facts["Log"]["LogStartOffset"], facts["Log"]["LogEndOffset"]) == (0, 301)
    assert facts["Log"]["HighWatermark"] == 301
    assert facts["Disk"]["LogBytes"] == (partition / f"{0:020d}.log").stat().st_size
    (problem,) = found["problems"]
    assert problem.startswith(f"the node does not respond: {nodes.endpoint(1)}: ")
    assert before == {path: path.read_bytes() for path in partition.parent.rglob("*") if path.is_file()}


@pytest.mark.parametrize("index", ["kept", "removed"])
def test_damaged_files_are_named_and_the_rest_is_shown(
    here: KraftInProcess, nodes: NodesInProcess, client: Client, tmp_path: Path, index: str
) -> None:
    client.append(batch_of(b"value"))
    partition = partition_of(nodes, 1)
    nodes.stop(1)
    segment = partition / f"{0:020d}.log"
    with segment.open("r+b") as file:
        file.seek(16)
        file.write(b"\xff")
    if index == "removed":
        (partition / f"{0:020d}.index").unlink()
    (partition / "quorum-state").write_text("nonsense")
    snapshot = partition / f"{7:020d}-{3:010d}.checkpoint"
    snapshot.write_bytes(b"x" * 1234)

    exit_code, found = report(here, config_of(nodes, 1, tmp_path))

    assert exit_code == 3
    assert any(
        problem.startswith(f"{segment} is damaged at byte 0: batch of magic -1") for problem in found["problems"]
    )
    assert any(f"cannot start from {partition / 'quorum-state'}: " in problem for problem in found["problems"])
    facts = found["facts"]
    assert facts["Node"]["ClusterId"] == CLUSTER_ID
    assert facts["Node"]["LeaderEpoch"] is None
    assert (facts["Snapshot"]["EndOffset"], facts["Snapshot"]["Epoch"]) == (7, 3)
    assert (facts["Snapshot"]["SizeBytes"], facts["Snapshot"]["File"]) == (1234, snapshot.name)
    assert facts["Disk"]["FreeBytes"] > 0


def test_another_node_on_the_listener_is_a_problem(here: KraftInProcess, nodes: NodesInProcess, tmp_path: Path) -> None:
    properties = nodes.configurations[1] | {"node.id": "5", "log.dirs": str(tmp_path / "nothing")}
    config = write_properties(tmp_path / "5.properties", properties)

    exit_code, found = report(here, str(config))

    assert exit_code == 3
    assert found["problems"] == [
        f"log.dirs={tmp_path / 'nothing'} is not a directory: the node has never run here",
        f"{nodes.endpoint(1)} responds as node 1, expected node 5",
    ]


def test_wrong_configuration_is_refused(here: KraftInProcess, tmp_path: Path) -> None:
    done = here("node", "status", str(tmp_path / "missing.properties"))

    assert (done.exit_code, done.output) == (1, "")
    assert done.errors.startswith(f"kraft: cannot read {tmp_path / 'missing.properties'}: ")
