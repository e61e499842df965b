"""Voters as child processes: started, watched, restarted, and always stopped."""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import sys
import threading
from contextlib import closing
from pathlib import Path

import psutil
import pytest

from raft.errors import ConfigError, QuorumUnavailableError
from raft.local import LocalQuorum, local_quorum, lock
from raft.local.ports import free_ports
from raft.local.voter import VoterProcess
from raft.storage.directory_lock import LOCK_FILE_NAME
from raft.storage.disk import DiskFiles
from raft.types import NodeId
from tests.local.conftest import QUICK
from tests.node.harness.batches import batch_of
from tests.node.harness.properties import HOST
from tests.node.harness.waiting import eventually
from tests.processes.commands import ROOT, child_environment
from tests.processes.endings import wait_for_ends
from tests.processes.hangup import hangup
from tests.processes.piped_process import PipedProcess
from tests.workload.appenders import Appenders
from tests.workload.committed import read_all


def ports_of(quorum: LocalQuorum) -> list[int]:
    return [int(server.rpartition(":")[2]) for server in quorum.bootstrap_servers.split(",")]


def assert_is_free(data_dir: Path) -> None:
    """No process has the lock of the directory."""
    DiskFiles(data_dir).lock(LOCK_FILE_NAME).release()


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
    assert f"voter exited and is restarted: exit code -9; node_id={leader} log={log}" in caplog.messages


def test_voter_is_started_again_as_soon_as_the_machine_allows_it(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    config = tmp_path / "node-1" / "node.properties"
    with LocalQuorum.start(tmp_path, voters=1, settings=QUICK) as quorum:
        (pid,) = quorum.pids.values()
        config.unlink()
        config.mkdir()
        os.kill(pid, signal.SIGKILL)
        refused = f"cannot start voter 1: cannot rename {config}.tmp: Is a directory; this is tried again"
        eventually(lambda: refused in caplog.messages, "it cannot be started")

        config.rmdir()

        eventually(lambda: quorum.pids.get(NodeId(1)) not in (None, pid), "it is started again")


def test_two_calls_of_stop_both_wait_for_the_end(tmp_path: Path) -> None:
    quorum = LocalQuorum.start(tmp_path, voters=1, settings=QUICK)
    left: list[dict[NodeId, int]] = []

    def stop() -> None:
        quorum.stop()
        left.append(quorum.pids)

    threads = [threading.Thread(target=stop) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert left == [{}, {}]


def test_stop_that_was_interrupted_can_be_finished(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    quorum = LocalQuorum.start(tmp_path, voters=1, settings=QUICK)

    def interrupt(_voter: VoterProcess) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(VoterProcess, "ask_to_stop", interrupt)
        with pytest.raises(KeyboardInterrupt):
            quorum.stop()
    assert quorum.pids

    quorum.stop()

    assert quorum.pids == {}
    assert_is_free(tmp_path)


def test_voter_that_does_not_stop_is_killed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(local_quorum, "_HAND_OVER_S", 0.1)
    monkeypatch.setattr(local_quorum, "_STOP_WAIT_S", 0.1)
    quorum = LocalQuorum.start(tmp_path, voters=1, settings=QUICK)
    os.kill(quorum.pids[NodeId(1)], signal.SIGSTOP)

    quorum.stop()

    assert quorum.pids == {}
    assert caplog.messages == ["voter did not stop in time and is killed: node_id=1"]


def test_voters_are_not_interrupted_with_their_parent(quorum: LocalQuorum) -> None:
    groups = {os.getpgid(pid) for pid in quorum.pids.values()}

    assert os.getpgid(0) not in groups


def test_directory_has_one_owner(quorum: LocalQuorum, data_dir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lock, "_WAIT_S", 0.2)

    with pytest.raises(ConfigError, match=f"^directory {data_dir} is in use by process {os.getpid()}: "):
        LocalQuorum.start(data_dir)
    assert len(quorum.pids) == 3, "the owner is not disturbed"


def test_client_of_the_quorum_knows_its_cluster(quorum: LocalQuorum) -> None:
    with quorum.client(api_timeout_ms=1234) as client:
        assert client.settings.cluster_id == quorum.cluster_id
        assert (client.settings.api_timeout_ms, client.settings.request_timeout_ms) == (1234, 1234)


def test_restarted_quorum_has_its_data(tmp_path: Path) -> None:
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


def test_start_waits_for_an_owner_that_is_about_to_exit(tmp_path: Path) -> None:
    first = LocalQuorum.start(tmp_path, voters=1, settings=QUICK)
    leaving = threading.Timer(0.5, first.stop)
    leaving.start()

    with LocalQuorum.start(tmp_path, voters=1, settings=QUICK) as second:
        assert second.pids
    leaving.join()


def test_wanted_port_is_used(tmp_path: Path) -> None:
    (port,) = free_ports(1, in_a_row=2)

    with LocalQuorum.start(tmp_path, voters=1, base_port=port, settings=QUICK) as quorum:
        assert ports_of(quorum) == [port]


def test_voter_that_refuses_to_start_is_an_error_and_not_started_again(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    (port,) = free_ports(1, in_a_row=2)
    # The port is taken between the check and the start of the voter.
    monkeypatch.setattr("raft.local.layout.is_free", lambda _port, **_: True)
    with closing(socket.socket()) as taken:
        taken.bind((HOST, port))
        with pytest.raises(ConfigError, match=f"^voter 1 does not start: kraft: cannot listen on {HOST}:{port}: "):
            LocalQuorum.start(tmp_path, voters=1, base_port=port, settings=QUICK)

    assert not caplog.messages


def test_port_of_another_quorum_is_in_use(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (port,) = free_ports(1, in_a_row=4)
    with LocalQuorum.start(tmp_path / "first", voters=1, base_port=port, settings=QUICK):
        for base_port in (port, port + 1):
            with pytest.raises(ConfigError, match=f"^base_port={base_port}: port {base_port} on {HOST} is in use"):
                LocalQuorum.start(tmp_path / "second", voters=1, base_port=base_port, settings=QUICK)

        # Without the check, that quorum refuses the credentials of this one before the voter has tried to listen.
        monkeypatch.setattr("raft.local.layout.is_free", lambda _port, **_: True)
        with pytest.raises(ConfigError, match=f"^voter 1 does not start: kraft: cannot listen on {HOST}:{port}: "):
            LocalQuorum.start(tmp_path / "second", voters=1, base_port=port, settings=QUICK)


def test_quorum_without_a_leader_says_what_its_voters_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(local_quorum, "_READY_WAIT_S", 0.5)
    children = set(psutil.Process().children())

    with pytest.raises(QuorumUnavailableError) as refused:
        LocalQuorum.start(tmp_path, voters=2, settings={"controller.quorum.election.timeout.ms": 60_000})

    said = r"no leader within 0\.5 s: .*; last lines of the voters' logs: voter 1: .*; voter 2: .*"
    assert re.fullmatch(said, str(refused.value))
    assert set(psutil.Process().children()) <= children, "none is left behind"
    assert_is_free(tmp_path)


def test_setting_that_a_voter_would_refuse_is_an_error_before_it_runs(tmp_path: Path) -> None:
    with pytest.raises(ConfigError) as refused:
        LocalQuorum.start(tmp_path, voters=1, settings={"max.connections": "none"})

    assert str(refused.value) == "max.connections=none: expected 1 to 2147483647"
    assert not (tmp_path / "node-1").exists()
    assert_is_free(tmp_path)


@pytest.mark.parametrize(
    ("key", "hint"),
    [
        ("cleanup.polcy", "did you mean cleanup.policy?"),
        ("xyzzy", "expected a property of a node, such as message.max.bytes"),
    ],
)
def test_unknown_setting_is_an_error_before_a_voter_runs(tmp_path: Path, key: str, hint: str) -> None:
    with pytest.raises(ConfigError) as refused:
        LocalQuorum.start(tmp_path, voters=1, settings={key: "compact"})

    assert str(refused.value) == f"settings: unknown key {key}: {hint}"
    assert not (tmp_path / "node-1").exists()
    assert_is_free(tmp_path)


def test_setting_without_effect_is_warned_of_once(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    with LocalQuorum.start(tmp_path, voters=2, settings=QUICK | {"controller.quorum.append.linger.ms": "5"}):
        pass

    (warning,) = caplog.messages
    assert warning.startswith("settings: controller.quorum.append.linger.ms has no effect here: ")


def test_directory_that_cannot_be_made_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").touch()

    with pytest.raises(ConfigError, match=f"^cannot make folder {tmp_path}/file/quorum: Not a directory$"):
        LocalQuorum.start(tmp_path / "file" / "quorum")


def test_directory_is_refused_by_name_when_it_is_a_link_that_leads_nowhere(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path / "gone")

    with pytest.raises(ConfigError, match=f"^{tmp_path}/link is a symbolic link to {tmp_path}/gone, which does not"):
        LocalQuorum.start(tmp_path / "link")


def test_everything_in_a_data_directory_is_its_owners_alone(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        with LocalQuorum.start(tmp_path / "quorum", voters=1, settings=QUICK):
            pass
    finally:
        os.umask(before)

    found = [tmp_path / "quorum", *(tmp_path / "quorum").rglob("*")]
    assert {path.name for path in found} >= {"node.properties", "node.log", "quorum.json", ".lock", "quorum-state"}
    open_to_others = [path for path in found if path.stat().st_mode & 0o077]
    assert not open_to_others


@pytest.mark.parametrize("voters", [0, -1])
def test_quorum_has_at_least_one_voter(tmp_path: Path, voters: int) -> None:
    with pytest.raises(ConfigError, match=f"^voters={voters}: expected a whole number of 1 or more$"):
        LocalQuorum.start(tmp_path, voters=voters)


SCRIPT = """
import sys, time
from pathlib import Path
from raft.local import LocalQuorum

quorum = LocalQuorum.start(Path(sys.argv[1]), voters=1)
print(*quorum.pids.values(), flush=True)
time.sleep(60)
"""

FORKING = SCRIPT.replace("time.sleep(60)", "import os; os.fork(); time.sleep(60)")


def start_script(directory: Path, *options: str, script: str = SCRIPT) -> PipedProcess:
    return PipedProcess("script", [sys.executable, *options, "-c", script, str(directory)])


@pytest.mark.parametrize("name", ["raft.py", "typer.py"])
def test_modules_in_the_working_directory_are_not_imported(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text("raise SystemExit('not ours')\n")
    script = SCRIPT.replace("time.sleep(60)", "quorum.stop()").replace("sys.argv[1]", "'data'")
    done = subprocess.run(
        [sys.executable, "-P", "-c", script],
        capture_output=True,
        cwd=tmp_path,
        env=child_environment(PYTHONPATH=str(ROOT)),
        timeout=60,
        check=False,
    )

    assert (done.returncode, done.stderr) == (0, b"")


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGHUP], ids=lambda number: number.name)
def test_no_voter_outlives_a_parent_that_a_signal_ends(tmp_path: Path, number: signal.Signals) -> None:
    with hangup(signal.SIG_DFL), start_script(tmp_path) as parent:
        voters = [psutil.Process(int(pid)) for pid in parent.line().split()]
        parent.signal(number)

        wait_for_ends(voters)


def test_no_voter_outlives_a_parent_though_another_has_its_end_of_the_pipe(tmp_path: Path) -> None:
    with start_script(tmp_path, script=FORKING) as parent:
        voter = psutil.Process(int(parent.line()))
        family = psutil.Process(parent.pid)
        (fork,) = eventually(lambda: set(family.children()) - {voter}, "it forks")
        parent.kill()

        wait_for_ends([voter])
        fork.kill()


def test_python_without_assertions_is_refused(tmp_path: Path) -> None:
    with start_script(tmp_path, "-O") as parent:
        assert parent.wait() == 1
        assert "python -O removes assertions that a node needs for safety: run it without -O" in parent.errors
    assert list(tmp_path.iterdir()) == []
