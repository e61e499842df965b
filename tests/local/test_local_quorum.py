"""Voters as child processes: started, watched, restarted, stopped, and never left behind."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import threading
import time
from contextlib import closing
from pathlib import Path

import psutil
import pytest

from raft.errors import ConfigError
from raft.local import LocalQuorum
from raft.local import quorum as module
from raft.types import NodeId
from tests.local.conftest import QUICK
from tests.node.harness.appenders import Appenders, read_all
from tests.node.harness.batches import batch_of
from tests.node.harness.processes import ROOT
from tests.node.harness.properties import HOST, free_ports
from tests.node.harness.waiting import eventually


def ports_of(quorum: LocalQuorum) -> list[int]:
    return [int(server.rpartition(":")[2]) for server in quorum.bootstrap_servers.split(",")]


def test_quorum_has_a_leader_when_it_is_started(quorum: LocalQuorum) -> None:
    with quorum.client() as client:
        described = client.describe_quorum()

    assert {voter.node_id for voter in described.voters} == {1, 2, 3}
    assert described.cluster_id == quorum.cluster_id
    assert described.high_watermark
    assert set(quorum.pids) == {1, 2, 3}


def test_voter_that_is_killed_is_started_again(
    quorum: LocalQuorum, data_dir: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with Appenders(quorum.client, count=1) as appenders, quorum.client() as client:
        appenders.wait_for_progress()
        leader = client.describe_quorum().leader_id
        old = quorum.pids[leader]
        os.kill(old, signal.SIGKILL)
        eventually(lambda: quorum.pids.get(leader) not in (None, old), "another process of the same voter")
        appenders.wait_for_progress()
        eventually(lambda: all(voter.log_end_offset for voter in client.describe_quorum().voters), "it fetches again")

    with quorum.client() as client:
        appenders.check(read_all(client))
    log = data_dir / f"node-{leader}" / "node.log"
    warning = f"voter {leader} ended with code -9 and is started again; its log is {log}"
    assert warning in caplog.messages


def test_voters_are_not_interrupted_with_their_parent(quorum: LocalQuorum) -> None:
    groups = {os.getpgid(pid) for pid in quorum.pids.values()}

    assert os.getpgid(0) not in groups


def test_directory_has_one_owner(quorum: LocalQuorum, data_dir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_LOCK_WAIT_S", 0.2)

    with pytest.raises(ConfigError, match=f"^directory {data_dir} is in use by process {os.getpid()}: "):
        LocalQuorum.start(data_dir)
    assert len(quorum.pids) == 3, "the owner is not disturbed"


def test_client_of_the_quorum_knows_its_cluster(quorum: LocalQuorum) -> None:
    with quorum.client(api_timeout_ms=1234) as client:
        assert client.settings.cluster_id == quorum.cluster_id
        assert (client.settings.api_timeout_ms, client.settings.request_timeout_ms) == (1234, 1234)


def test_quorum_comes_back_with_what_it_holds(tmp_path: Path) -> None:
    with LocalQuorum.start(tmp_path, voters=1, settings=QUICK) as first:
        with first.client() as client:
            client.append(batch_of(b"kept"))
        processes = [psutil.Process(pid) for pid in first.pids.values()]
    first.stop()
    are_gone = not any(process.is_running() for process in processes)

    with LocalQuorum.start(tmp_path, voters=1, settings=QUICK) as second:
        with second.client() as client:
            values = [record.value for record in read_all(client)]
        same = (second.cluster_id, second.bootstrap_servers) == (first.cluster_id, first.bootstrap_servers)

    assert are_gone
    assert values == [b"kept"]
    assert same, "where nobody took its port, it listens where it did"


def test_start_waits_for_an_owner_that_is_on_its_way_out(tmp_path: Path) -> None:
    first = LocalQuorum.start(tmp_path, voters=1, settings=QUICK)
    leaving = threading.Timer(0.5, first.stop)
    leaving.start()

    with LocalQuorum.start(tmp_path, voters=1, settings=QUICK) as second:
        assert second.pids
    leaving.join()


def test_another_number_of_voters_is_refused(tmp_path: Path) -> None:
    (tmp_path / "quorum.json").write_text('{"version": 1, "clusterId": "c", "ports": {"1": 1, "2": 2}}')

    with pytest.raises(ConfigError) as refused:
        LocalQuorum.start(tmp_path, voters=3)

    assert str(refused.value) == f"{tmp_path} holds a quorum of 2 voters; 3 are wanted"


def test_taken_ports_are_replaced(tmp_path: Path) -> None:
    with LocalQuorum.start(tmp_path, voters=1, settings=QUICK) as first:
        (port,) = ports_of(first)

    with (
        socket.create_server((HOST, port)),
        LocalQuorum.start(tmp_path, voters=1, settings=QUICK) as second,
    ):
        assert ports_of(second) != [port]
        assert second.cluster_id == first.cluster_id


def test_wanted_ports_are_used_and_a_taken_one_is_refused(tmp_path: Path) -> None:
    (port,) = free_ports(1)
    with LocalQuorum.start(tmp_path, voters=1, base_port=port, settings=QUICK) as quorum:
        assert ports_of(quorum) == [port]

    with closing(socket.socket()) as taken:
        taken.bind((HOST, port))
        with pytest.raises(ConfigError, match=f"^voter 1 does not start: kraft: cannot listen on {HOST}:{port}: "):
            LocalQuorum.start(tmp_path, voters=1, base_port=port, settings=QUICK)


def test_setting_that_a_voter_refuses_is_told(tmp_path: Path) -> None:
    with pytest.raises(ConfigError) as refused:
        LocalQuorum.start(tmp_path, voters=1, settings={"max.connections": "none"})

    assert str(refused.value) == ("voter 1 does not start: kraft: max.connections=none: allowed are 1 to 2147483647")


@pytest.mark.parametrize("voters", [0, -1])
def test_quorum_has_at_least_one_voter(tmp_path: Path, voters: int) -> None:
    with pytest.raises(ConfigError, match=f"^voters={voters}: allowed are whole numbers of 1 or more$"):
        LocalQuorum.start(tmp_path, voters=voters)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("{half", "does not describe a quorum: "),
        ("[]", "does not describe a quorum: "),
        ('{"version": 1}', "does not describe a quorum: "),
        ('{"version": 1, "clusterId": "c", "ports": {"x": 1}}', "does not describe a quorum: "),
        ('{"version": 2, "clusterId": "c", "ports": {}}', "has version 2; known is 1"),
    ],
)
def test_directory_that_is_no_quorums_is_refused(tmp_path: Path, content: str, message: str) -> None:
    path = tmp_path / "quorum.json"
    path.write_text(content)

    with pytest.raises(ConfigError) as refused:
        LocalQuorum.start(tmp_path)

    assert str(refused.value).startswith(f"{path} {message}")


SCRIPT = """
import sys, time
from pathlib import Path
from raft.local import LocalQuorum

quorum = LocalQuorum.start(Path(sys.argv[1]))
print(*quorum.pids.values(), flush=True)
time.sleep(60)
"""


def start_script(directory: Path, *options: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, *options, "-c", SCRIPT, str(directory)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=ROOT,
    )


@pytest.mark.parametrize("name", ["raft.py", "typer.py"])
def test_modules_in_the_working_directory_are_not_taken_for_ours(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text("raise SystemExit('not ours')\n")
    script = SCRIPT.replace("time.sleep(60)", "quorum.stop()").replace("Path(sys.argv[1])", "Path('data'), voters=1")
    done = subprocess.run(
        [sys.executable, "-P", "-c", script],
        capture_output=True,
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        timeout=60,
        check=False,
    )

    assert (done.returncode, done.stderr) == (0, b"")


def test_no_voter_outlives_a_parent_that_is_killed(tmp_path: Path) -> None:
    with start_script(tmp_path) as parent:
        assert parent.stdout is not None
        voters = [psutil.Process(int(pid)) for pid in parent.stdout.readline().split()]
        parent.kill()
        killed_s = time.monotonic()
        gone, alive = psutil.wait_procs(voters, timeout=2)

    assert (len(gone), alive) == (3, []), f"{time.monotonic() - killed_s} s later"


def test_python_without_assertions_is_refused(tmp_path: Path) -> None:
    with start_script(tmp_path, "-O") as parent:
        assert parent.stderr is not None
        words = parent.stderr.read().decode()

        assert parent.wait() == 1
    assert "python -O drops the assertions that keep a node from doing harm: run it without" in words
    assert list(tmp_path.iterdir()) == []


def test_voter_that_cannot_live_is_started_ever_more_rarely(quorum: LocalQuorum) -> None:
    node_id = NodeId(2)
    pids: list[int] = []
    until_s = time.monotonic() + 2.5
    while time.monotonic() < until_s:
        pid = quorum.pids.get(node_id)
        if pid is not None and pid not in pids:
            pids.append(pid)
            os.kill(pid, signal.SIGKILL)
        time.sleep(0.01)

    # At once, and then after 0.2, 0.4, 0.8 and 1.6 s.
    assert 3 <= len(pids) <= 6
    eventually(lambda: quorum.pids.get(node_id) not in (None, *pids), "it is started again all the same")
