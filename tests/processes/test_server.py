"""A child process of a test ends with its block, or with the test run."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from raft.local.ports import free_ports
from raft.types import Endpoint
from tests.node.harness.waiting import eventually
from tests.processes.commands import ROOT
from tests.processes.server import Server, is_listening

_IGNORES_SIGTERM = (
    "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); print('ready', flush=True); time.sleep(60)"
)
_LISTENER = """
import socket, sys
listening = socket.create_server(("127.0.0.1", int(sys.argv[1])))
while True:
    listening.accept()
"""
_STARTER = """
import os, sys
from pathlib import Path
from raft.types import Endpoint
from tests.processes.server import Server
log_file, port, *command = sys.argv[1:]
server = Server("orphan", command, log_file=Path(log_file)).start()
server.wait_until_listening(Endpoint("127.0.0.1", int(port)))
os._exit(7)
"""


def fail_in_block(server: Server) -> None:
    with server.start():
        assert server.is_running
        raise ZeroDivisionError


def test_server_is_killed_when_its_block_fails(tmp_path: Path) -> None:
    server = Server("sleeper", ["sleep", "60"], log_file=tmp_path / "log")

    with pytest.raises(ZeroDivisionError):
        fail_in_block(server)

    assert not server.is_running


def test_server_is_killed_when_it_ignores_sigterm(tmp_path: Path) -> None:
    command = [sys.executable, "-c", _IGNORES_SIGTERM]
    with Server("ignoring", command, log_file=tmp_path / "log").start() as server:
        server.wait_until_printed("ready")

        exit_code = server.stop(within_s=0.2)

    assert exit_code == -9


def test_server_is_suspended_until_it_is_resumed(tmp_path: Path) -> None:
    with Server("sleeper", ["sleep", "60"], log_file=tmp_path / "log").start() as server:
        sleeper = psutil.Process(server.pid)

        server.suspend()
        eventually(lambda: sleeper.status() == psutil.STATUS_STOPPED, "the kernel has stopped it")
        server.resume()

        eventually(lambda: sleeper.status() == psutil.STATUS_SLEEPING, "it runs again")


def test_wait_for_output_fails_with_the_last_lines_when_the_server_ends(tmp_path: Path) -> None:
    with (
        Server("failing", ["sh", "-c", "echo disk is full; exit 3"], log_file=tmp_path / "log").start() as server,
        pytest.raises(AssertionError, match="disk is full"),
    ):
        server.wait_until_printed("ready")


def test_server_shows_the_output_of_all_starts_and_of_the_last_one(tmp_path: Path) -> None:
    server = Server("echo", ["echo"], log_file=tmp_path / "log")

    for word in ("first", "second"):
        server.start(word).wait()

    assert server.output == "first\nsecond\n"
    assert server.last_output == "second\n"


@pytest.mark.skipif(shutil.which("setpriv") is None, reason="only Linux's setpriv ties a process to its parent")
def test_server_is_killed_when_the_process_that_started_it_ends(tmp_path: Path) -> None:
    (port,) = free_ports(1)
    listener = [sys.executable, "-c", _LISTENER, str(port)]

    starter = [sys.executable, "-c", _STARTER, str(tmp_path / "log"), str(port), *listener]
    started = subprocess.run(starter, cwd=ROOT, check=False)

    assert started.returncode == 7
    eventually(lambda: not is_listening(Endpoint("127.0.0.1", port)), "no process listens")
