import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from raft.errors import StorageError
from raft.storage.disk import DiskFiles


def test_refusal_names_call_file_and_reason_when_the_disk_is_full() -> None:
    file = DiskFiles("/dev").open("full")

    with pytest.raises(StorageError, match="cannot write /dev/full: No space left on device"):
        file.append(b"data")

    file.close()


_APPENDS_TO_A_LIMITED_FILE = """
import resource, sys
from raft.errors import StorageError
from raft.storage.disk import DiskFiles

file = DiskFiles(sys.argv[1]).create("data")
file.append(b"a" * 60)
resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))
try:
    file.append(b"b" * 60)
except StorageError as error:
    print(error)
"""
"""In a process of its own: the limit would hold for whatever else the tests write, their report too."""


def test_append_goes_on_after_a_short_write_and_reports_the_refusal(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", _APPENDS_TO_A_LIMITED_FILE, tmp_path], capture_output=True, text=True, check=True
    )

    assert re.fullmatch(r"cannot write .*data: File too large", done.stdout.strip())
    assert (tmp_path / "data").read_bytes() == b"a" * 60 + b"b" * 40


def test_refusal_names_the_file_when_it_was_closed_behind_our_back(tmp_path: Path) -> None:
    file = DiskFiles(tmp_path).create("data")
    os.close(file._descriptor)  # type: ignore[attr-defined]

    for call, act in (("flush", file.flush), ("truncate", lambda: file.truncate(0)), ("close", file.close)):
        with pytest.raises(StorageError, match=f"cannot {call} .*data: Bad file descriptor"):
            act()


def test_read_returns_what_is_left_when_the_file_shrank_behind_our_back(tmp_path: Path) -> None:
    file = DiskFiles(tmp_path).create("data")
    file.append(b"hello world")
    os.truncate(tmp_path / "data", 5)

    assert file.read(0, 11) == b"hello"
    file.close()


def test_root_is_made_with_the_folders_above_when_missing(tmp_path: Path) -> None:
    files = DiskFiles(tmp_path / "a" / "b")

    files.make_directory("")
    files.make_directory("c")

    assert (tmp_path / "a" / "b" / "c").is_dir()


def test_folder_is_refused_when_a_file_is_in_its_way(tmp_path: Path) -> None:
    (tmp_path / "data").write_bytes(b"")

    with pytest.raises(StorageError, match="make folder"):
        DiskFiles(tmp_path).make_directory("data/inner")


def test_path_is_the_one_an_operator_knows(tmp_path: Path) -> None:
    files = DiskFiles(str(tmp_path))
    file = files.create("data")

    assert files.path_of("data") == file.path == str(tmp_path / "data")
    file.close()
