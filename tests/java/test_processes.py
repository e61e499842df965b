"""The harness itself: no process of a test outlives it."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from raft.local.ports import free_ports
from raft.types import Endpoint
from tests.java.processes import Server, is_listening
from tests.node.harness.waiting import eventually

_DEAF = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); print('ready', flush=True); time.sleep(60)"
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
from tests.java.processes import Server
log_file, port, *command = sys.argv[1:]
server = Server("orphan", command, log_file=Path(log_file))
server.start()
server.wait_until_listening(Endpoint("127.0.0.1", int(port)))
os._exit(7)
"""


def fail_beside(server: Server) -> None:
    with server:
        assert server.pid is not None
        raise ZeroDivisionError


def test_server_is_gone_when_its_block_fails(tmp_path: Path) -> None:
    server = Server("sleeper", ["sleep", "60"], log_file=tmp_path / "log")

    with pytest.raises(ZeroDivisionError):
        fail_beside(server)

    assert server.pid is None


def test_server_is_killed_when_it_does_not_heed_sigterm(tmp_path: Path) -> None:
    with Server("deaf", [sys.executable, "-c", _DEAF], log_file=tmp_path / "log") as server:
        server.wait_until_logged("ready")

        exit_code = server.stop(patience_s=0.2)

    assert exit_code == -9


def test_server_stands_still_until_it_goes_on(tmp_path: Path) -> None:
    with Server("sleeper", ["sleep", "60"], log_file=tmp_path / "log") as server:
        sleeper = psutil.Process(server.pid)

        server.suspend()
        eventually(lambda: sleeper.status() == psutil.STATUS_STOPPED, "it stands still", within_s=10)
        server.resume()

        eventually(lambda: sleeper.status() == psutil.STATUS_SLEEPING, "it goes on", within_s=10)


def test_waiting_for_a_word_fails_with_the_last_ones_when_the_server_ends(tmp_path: Path) -> None:
    with (
        Server("mortal", ["sh", "-c", "echo it hurts; exit 3"], log_file=tmp_path / "log") as server,
        pytest.raises(AssertionError, match="it hurts"),
    ):
        server.wait_until_logged("ready")


@pytest.mark.skipif(shutil.which("setpriv") is None, reason="only Linux's setpriv ties a process to its parent")
def test_server_dies_when_the_process_that_started_it_ends_without_a_word(tmp_path: Path) -> None:
    root = Path(__file__).parents[2]
    (port,) = free_ports(1)
    listener = [sys.executable, "-c", _LISTENER, str(port)]

    starter = [sys.executable, "-c", _STARTER, str(tmp_path / "log"), str(port), *listener]
    started = subprocess.run(starter, cwd=root, check=False)

    assert started.returncode == 7
    eventually(lambda: not is_listening(Endpoint("127.0.0.1", port)), "nobody listens any more", within_s=10)
