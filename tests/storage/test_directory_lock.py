import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from raft.storage.directory_lock import take_lock
from raft.storage.files import DirectoryLockedError

OURS = """
import sys
from pathlib import Path
from raft.storage.directory_lock import take_lock
lock = take_lock(Path(sys.argv[1]))
"""
# What java.nio.channels.FileChannel.tryLock does.
KAFKA = """
import fcntl, sys
file = open(sys.argv[1], "w")
fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
"""
WAIT_TO_BE_KILLED = """
print("locked", flush=True)
sys.stdin.read()
"""


@contextmanager
def holder(program: str, path: Path) -> Iterator[subprocess.Popen[str]]:
    """Another process that holds the lock."""
    command = [sys.executable, "-c", program + WAIT_TO_BE_KILLED, str(path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=Path.cwd()) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "locked\n"
        yield process
        process.kill()


@pytest.mark.rule("STATE-17")
def test_lock_is_refused_with_directory_and_owner_when_another_process_holds_it(tmp_path: Path) -> None:
    path = tmp_path / ".lock"

    with (
        holder(OURS, path) as process,
        pytest.raises(DirectoryLockedError, match=f"{tmp_path} is in use by process {process.pid}"),
    ):
        take_lock(path)


@pytest.mark.rule("STATE-17")
def test_lock_is_refused_when_a_kafka_process_holds_it(tmp_path: Path) -> None:
    path = tmp_path / ".lock"

    with holder(KAFKA, path), pytest.raises(DirectoryLockedError, match=f"{tmp_path} is in use: lock file"):
        take_lock(path)


def test_lock_is_free_when_its_owner_was_killed(tmp_path: Path) -> None:
    path = tmp_path / ".lock"
    with holder(OURS, path):
        pass

    take_lock(path).release()


def test_lock_is_refused_when_another_node_of_this_process_holds_it(tmp_path: Path) -> None:
    first = take_lock(tmp_path / ".lock")

    with pytest.raises(DirectoryLockedError):
        take_lock(tmp_path / ".lock")

    first.release()
    take_lock(tmp_path / ".lock").release()


def test_lock_reports_the_system_when_the_file_cannot_be_made(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="No such file"):
        take_lock(tmp_path / "nowhere" / ".lock")


def test_lock_reports_the_system_when_the_file_cannot_be_written() -> None:
    with pytest.raises(OSError, match="Invalid argument"):
        take_lock(Path("/dev/full"))
