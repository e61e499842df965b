import os
import resource
from collections.abc import Iterator
from pathlib import Path

import pytest

from raft.errors import StorageError
from raft.storage.disk import DiskFiles


@pytest.fixture
def largest_file_bytes() -> Iterator[int]:
    """Let no file grow beyond this many bytes: the kernel then writes a part and refuses the rest."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100, before[1]))
    yield 100
    resource.setrlimit(resource.RLIMIT_FSIZE, before)


def test_refusal_names_call_file_and_reason_when_the_disk_is_full() -> None:
    file = DiskFiles("/dev").open("full")

    with pytest.raises(StorageError, match="cannot write /dev/full: No space left on device"):
        file.append(b"data")

    file.close()


def test_append_goes_on_after_a_short_write_and_reports_the_refusal(tmp_path: Path, largest_file_bytes: int) -> None:
    file = DiskFiles(tmp_path).create("data")
    file.append(b"a" * 60)

    with pytest.raises(StorageError, match=r"cannot write .*data: File too large"):
        file.append(b"b" * 60)

    assert (tmp_path / "data").read_bytes() == b"a" * 60 + b"b" * (largest_file_bytes - 60)
    file.close()


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
