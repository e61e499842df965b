"""Starts that are refused with one line of error, and starts that repair what a crash has left."""

from __future__ import annotations

import asyncio
import socket
import sys
import threading
from pathlib import Path

import pytest

from raft.config import NodeConfig
from raft.errors import ConfigError, CorruptBatchError
from raft.storage.trusted_segments import TRUSTED_SEGMENTS_NAME
from tests.node.harness.batches import batch_of, values_in
from tests.node.harness.loop import NodesInProcess
from tests.node.harness.properties import Properties, voters_properties, write_properties
from tests.processes.commands import KRAFT
from tests.processes.kraft import kraft
from tests.processes.node_process import NodeProcess, client_of

PARTITION = "__cluster_metadata-0"
SEGMENT = f"{0:020d}.log"


@pytest.fixture
def properties(tmp_path: Path) -> Properties:
    """Of a quorum of one node."""
    return voters_properties(tmp_path, voters=1)[1]


def run_once(properties: Properties, *values: bytes) -> None:
    """Run the node, append each value as a batch, and stop it."""
    with NodesInProcess({1: properties}) as nodes:
        nodes.start().wait_for_leader()
        with nodes.client() as client:
            for value in values:
                client.append(batch_of(value))


def refusal(properties: Properties) -> Exception:
    """Why the node does not start."""
    with NodesInProcess({1: properties}) as nodes, pytest.raises((ConfigError, CorruptBatchError)) as refused:
        nodes.start()
    return refused.value


def segment(properties: Properties) -> Path:
    return Path(properties["log.dirs"]) / PARTITION / SEGMENT


def recovery_point(properties: Properties) -> int:
    text = (segment(properties).parent / "recovery-point-offset-checkpoint").read_text()
    return int(text.split()[-1])


def test_port_that_is_taken_is_named(properties: Properties) -> None:
    place = NodeConfig.from_properties(properties).listener
    with socket.create_server((place.host, place.port)):
        error = refusal(properties)

    assert isinstance(error, ConfigError)
    assert str(error).startswith(f"cannot listen on {place}: ")
    assert "in use" in str(error)
    run_once(properties)  # The directory was unlocked.


def test_voter_addresses_are_not_resolved_any_more_when_the_port_is_taken(properties: Properties) -> None:
    verifying = properties | {"raft.voters.verify.address": "true"}
    place = NodeConfig.from_properties(properties).listener
    with NodesInProcess({1: verifying}) as nodes:
        with socket.create_server((place.host, place.port)), pytest.raises(ConfigError):
            nodes.start()

        tasks = nodes.thread.look(asyncio.all_tasks)

    assert len(tasks) == 1, "only the task that lists them"


def test_port_and_directory_are_free_when_the_second_thread_of_the_disk_cannot_be_started(
    properties: Properties, monkeypatch: pytest.MonkeyPatch
) -> None:
    def start_all_but_one(thread: threading.Thread) -> None:
        if thread.name == "flush":
            raise RuntimeError("can't start new thread")
        start(thread)

    start = threading.Thread.start
    with NodesInProcess({1: properties}) as nodes:
        with monkeypatch.context() as patch:
            patch.setattr(threading.Thread, "start", start_all_but_one)
            with pytest.raises(RuntimeError, match="can't start new thread"):
                nodes.start()

        assert "disk" not in {thread.name for thread in threading.enumerate()}
        nodes.start().wait_for_leader()


def test_directory_of_a_node_that_runs_is_refused(properties: Properties) -> None:
    twin = properties | {"listeners": "CONTROLLER://127.0.0.1:1"}
    with NodesInProcess({1: properties}) as nodes:
        nodes.start()
        error = refusal(twin)

    assert isinstance(error, ConfigError)
    assert str(error).startswith(f"directory {properties['log.dirs']} is in use by process ")


@pytest.mark.parametrize(
    ("key", "other", "stored"),
    [
        pytest.param("cluster.id", "another-cluster", "kq5mZl0zT0uJwXUxQKo9gQ", id="cluster"),
        pytest.param("node.id", "2", "1", id="node"),
    ],
)
@pytest.mark.rule("CLUSTERID-6")
def test_directory_of_another_node_or_cluster_is_refused(
    properties: Properties, key: str, other: str, stored: str
) -> None:
    run_once(properties)

    error = refusal(properties | {key: other})

    assert isinstance(error, ConfigError)
    meta = Path(properties["log.dirs"]) / "meta.properties"
    assert str(error) == f"{meta} has {key}={stored}, expected {key}={other} as configured"


def test_node_without_a_cluster_id_keeps_that_of_its_directory(properties: Properties) -> None:
    run_once(properties)
    del properties["cluster.id"]

    with NodesInProcess({1: properties}) as nodes:
        nodes.start()

        assert nodes.running[1].cluster_id == "kq5mZl0zT0uJwXUxQKo9gQ"


@pytest.mark.rule("LOG-13")
def test_damage_below_the_recovery_point_is_refused_with_file_and_byte(properties: Properties) -> None:
    run_once(properties, *[b"x" * 100] * 10)
    assert recovery_point(properties) > 5
    path = segment(properties)
    path.with_name(TRUSTED_SEGMENTS_NAME).unlink()  # As after a crash.
    whole = path.read_bytes()
    path.write_bytes(whole[:400] + b"\xff" + whole[401:])

    error = refusal(properties)

    assert isinstance(error, CorruptBatchError)
    assert str(error).startswith(f"{path} is damaged at byte ")
    assert "was flushed, so this is not the torn end of a write and records are lost" in str(error)
    assert f"move all files of {path.parent} but quorum-state away" in str(error)
    assert path.read_bytes() == whole[:400] + b"\xff" + whole[401:], "nothing is touched"


@pytest.mark.rule("LOG-13")
def test_log_that_is_shorter_than_was_flushed_is_refused(properties: Properties) -> None:
    run_once(properties, *[b"x" * 100] * 10)
    path = segment(properties)
    path.write_bytes(path.read_bytes()[:400])

    assert "records are lost" in str(refusal(properties))


@pytest.mark.parametrize("torn", [b"\x00" * 17, b"\xff" * 200, b"half"])
@pytest.mark.rule("LOG-13")
def test_torn_end_is_truncated_with_a_warning(
    properties: Properties, torn: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    run_once(properties, b"a", b"b")
    path = segment(properties)
    good_bytes = path.stat().st_size
    with path.open("ab") as file:
        file.write(torn)

    with NodesInProcess({1: properties}) as nodes:
        nodes.start().wait_for_leader()
        with nodes.client() as client:
            client.append(batch_of(b"c"))
            values = values_in(client.fetch(client.log_start_offset()).records)

    assert values == [b"a", b"b", b"c"]
    (warning,) = [record.message for record in caplog.records if "log truncated" in record.message]
    assert warning.startswith(f"{path} is damaged at byte {good_bytes}: ")
    assert f"end_offset=3 removed_bytes={len(torn)} recovery_point=3" in warning


def test_refused_start_is_one_line_and_exit_code_1(properties: Properties, tmp_path: Path) -> None:
    place = NodeConfig.from_properties(properties).listener
    with socket.create_server((place.host, place.port)), NodeProcess(properties, tmp_path / "process") as node:
        exit_code = node.start().wait()

    assert exit_code == 1
    lines = node.output.splitlines()
    assert [line for line in lines if line.startswith("kraft: ")] == lines, node.output
    assert lines[0].startswith(f"kraft: cannot listen on {place}: ")


def test_damaged_log_is_one_line_and_exit_code_1(properties: Properties, tmp_path: Path) -> None:
    with NodeProcess(properties, tmp_path / "process") as node:
        node.start().wait_until_serving()
        with client_of(node) as client:
            client.append(batch_of(b"x" * 100))
        node.terminate()
        node.segment.with_name(TRUSTED_SEGMENTS_NAME).unlink()  # As after a crash.
        whole = node.segment.read_bytes()
        node.segment.write_bytes(whole[:-1] + b"\xff")

        exit_code = node.start().wait()

    assert exit_code == 1
    assert node.output.splitlines()[-1].startswith(f"kraft: {node.segment} is damaged at byte ")
    assert "Traceback" not in node.output


@pytest.mark.rule("LOG-32")
def test_acknowledged_batch_is_not_truncated_when_the_node_was_killed_and_its_disk_damages_it(
    properties: Properties, tmp_path: Path
) -> None:
    with NodeProcess(properties, tmp_path / "process") as node:
        node.start().wait_until_serving()
        with client_of(node) as client:
            client.append(batch_of(b"x" * 100))
        node.kill()
        whole = node.segment.read_bytes()
        node.segment.write_bytes(whole[:-1] + b"\xff")

        exit_code = node.start().wait()

    assert exit_code == 1
    assert "was flushed, so this is not the torn end of a write and records are lost" in node.output
    assert node.segment.read_bytes() == whole[:-1] + b"\xff", "nothing is touched"


def test_python_without_assertions_is_refused(properties: Properties, tmp_path: Path) -> None:
    command = (sys.executable, "-O", *KRAFT[1:], "serve")
    with NodeProcess(properties, tmp_path / "process", command=command) as node:
        exit_code = node.start().wait()

    assert exit_code == 1
    assert node.output == ("kraft: python -O removes assertions that a node needs for safety: run it without -O\n")


def test_start_is_refused_when_the_node_is_no_longer_a_voter(tmp_path: Path) -> None:
    both = voters_properties(tmp_path, voters=1)[1]
    run_once(both)
    other = both | {"controller.quorum.voters": "2@127.0.0.1:1"}

    done = kraft("serve", "--config", str(write_properties(tmp_path / "other.properties", other)))

    assert done.exit_code == 1
    assert "is not a voter of [2]" in done.errors.splitlines()[-1]
