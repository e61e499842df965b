"""`kraft dev`: a quorum for development, which leaves no files."""

from __future__ import annotations

import json
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil
import pytest

from raft.client import Client
from raft.local.ports import free_ports
from tests.local.client_config import client_from
from tests.node.harness.batches import batch_of
from tests.node.harness.waiting import eventually
from tests.processes.endings import wait_for_ends
from tests.processes.hangup import hangup
from tests.processes.kraft import kraft, start_kraft
from tests.processes.piped_process import PipedProcess
from tests.workload.committed import read_all


class Dev:
    """A running `kraft dev`."""

    def __init__(self, process: PipedProcess) -> None:
        self.process = process
        self.servers = process.line()
        assert self.servers, process.errors
        self.config = process.line()
        self.voters = psutil.Process(process.pid).children(recursive=True)

    def client(self) -> Client:
        return client_from(self.config)

    def end(self, number: signal.Signals) -> int:
        self.process.signal(number)
        return self.process.wait()

    def wait_until_voters_are_gone(self) -> None:
        wait_for_ends(self.voters)


@contextmanager
def running_dev(temporary: Path, *arguments: str) -> Iterator[Dev]:
    with start_kraft("dev", *arguments, TMPDIR=str(temporary)) as process:
        yield Dev(process)


@pytest.mark.parametrize(("number", "exit_code"), [(signal.SIGTERM, 0), (signal.SIGINT, 130), (signal.SIGHUP, 0)])
def test_quorum_without_a_directory_leaves_no_files(tmp_path: Path, number: signal.Signals, exit_code: int) -> None:
    with hangup(signal.SIG_DFL), running_dev(tmp_path, "--voters", "1") as dev:
        with dev.client() as client:
            client.append(batch_of(b"v"))
        has_files = any(tmp_path.iterdir())
        ended = dev.end(number)
        words = dev.process.errors

        dev.wait_until_voters_are_gone()
    assert has_files
    assert ended == exit_code
    assert list(tmp_path.iterdir()) == []
    assert words == ""


def test_quorum_outlives_its_terminal_under_nohup(tmp_path: Path) -> None:
    with hangup(signal.SIG_IGN), running_dev(tmp_path, "--voters", "1") as dev:
        dev.process.signal(signal.SIGHUP)
        with dev.client() as client:
            client.append(batch_of(b"v"))
        is_running = dev.process.is_running
        dev.end(signal.SIGTERM)

        dev.wait_until_voters_are_gone()
    assert is_running


def test_quorum_has_a_directory_that_the_locale_has_no_characters_for(tmp_path: Path) -> None:
    data = tmp_path / "d\xe4ta"
    options = ("--voters", "1", "--data-dir", str(data))
    with start_kraft("dev", *options, LC_ALL="C", PYTHONUTF8="0") as process, Dev(process).client() as client:
        client.append(batch_of(b"v"))

    assert (data / "quorum.json").exists()


def test_killed_quorum_leaves_no_process(tmp_path: Path) -> None:
    with running_dev(tmp_path) as dev:
        voters = len(dev.voters)
        dev.end(signal.SIGKILL)

        dev.wait_until_voters_are_gone()
    assert voters == 3


def test_directory_outlives_the_quorum(tmp_path: Path) -> None:
    data, temporary = tmp_path / "data", tmp_path / "temporary"
    temporary.mkdir()
    with running_dev(temporary, "--voters", "1", "--data-dir", str(data)) as first:
        with first.client() as client:
            client.append(batch_of(b"kept"))
        first.end(signal.SIGTERM)
    cluster_id = json.loads((data / "quorum.json").read_text())["clusterId"]
    base_port = str(_base_port())

    with running_dev(temporary, "--voters", "1", "--data-dir", str(data), "--base-port", base_port) as second:
        with second.client() as client:
            values = [record.value for record in read_all(client)]
            same_cluster_id = client.cluster_id
        second.end(signal.SIGTERM)

    assert second.servers == f"127.0.0.1:{base_port}"
    assert values == [b"kept"]
    assert same_cluster_id == cluster_id
    assert list(temporary.iterdir()) == []


def _base_port() -> int:
    return eventually(lambda: next((port for port in free_ports(5) if port <= 65_000), None), "a port") or 0


def test_quorum_that_is_interrupted_twice_leaves_no_files(tmp_path: Path) -> None:
    with running_dev(tmp_path) as dev:
        dev.process.signal(signal.SIGTERM)
        dev.process.signal(signal.SIGTERM)
        dev.end(signal.SIGINT)
        words = dev.process.errors

        dev.wait_until_voters_are_gone()
    assert list(tmp_path.iterdir()) == []
    assert words == ""


def test_directory_that_cannot_be_made_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    below = tmp_path / "file" / "below"

    done = kraft("dev", "--data-dir", str(below))

    assert (done.exit_code, done.output) == (1, "")
    assert done.errors == f"kraft: cannot make folder {below}: Not a directory\n"
