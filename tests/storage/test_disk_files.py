import mmap
import os
import re
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from shutil import disk_usage

import pytest

from raft.errors import ConfigError, StorageError
from raft.storage.atomic_file import replace_file
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
"""In a separate process: the limit would also hold for everything else that the tests write, such as their report."""


def test_append_continues_after_a_short_write_and_reports_the_error(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", _APPENDS_TO_A_LIMITED_FILE, tmp_path], capture_output=True, text=True, check=True
    )

    assert re.fullmatch(r"cannot write .*data: File too large", done.stdout.strip())
    assert (tmp_path / "data").read_bytes() == b"a" * 60 + b"b" * 40


def test_error_names_the_file_when_it_was_closed_meanwhile(tmp_path: Path) -> None:
    file = DiskFiles(tmp_path).create("data")
    os.close(file._descriptor)  # type: ignore[attr-defined]

    for call, act in (("flush", file.flush), ("truncate", lambda: file.truncate(0)), ("close", file.close)):
        with pytest.raises(StorageError, match=f"cannot {call} .*data: Bad file descriptor"):
            act()


def test_read_returns_what_is_left_when_the_file_became_shorter_meanwhile(tmp_path: Path) -> None:
    file = DiskFiles(tmp_path).create("data")
    file.append(b"hello world")
    os.truncate(tmp_path / "data", 5)

    assert file.read(0, 11) == b"hello"
    file.close()


def test_read_continues_after_a_short_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = DiskFiles(tmp_path).create("data")
    file.append(b"hello world")
    read = os.pread
    # Linux reads at most 2 GiB in a call, and file systems of a network may read less.
    monkeypatch.setattr(os, "pread", lambda descriptor, size, position: read(descriptor, min(size, 3), position))

    assert (file.read(0, 11), file.read(4, 5), file.read(8, 100)) == (b"hello world", b"o wor", b"rld")
    file.close()


def test_root_is_made_with_the_folders_above_when_missing(tmp_path: Path) -> None:
    files = DiskFiles(tmp_path / "a" / "b")

    files.make_directory("")
    files.make_directory("c")

    assert (tmp_path / "a" / "b" / "c").is_dir()


def test_folder_is_refused_when_a_file_has_its_name(tmp_path: Path) -> None:
    (tmp_path / "data").write_bytes(b"")

    with pytest.raises(StorageError, match="make folder"):
        DiskFiles(tmp_path).make_directory("data/inner")


def test_path_is_the_one_an_operator_knows(tmp_path: Path) -> None:
    files = DiskFiles(str(tmp_path))
    file = files.create("data")

    assert files.path_of("data") == file.path == str(tmp_path / "data")
    file.close()


@pytest.fixture
def open_umask() -> Iterator[None]:
    """A process whose files are open to all users by default."""
    before = os.umask(0)
    yield
    os.umask(before)


def mode_of(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


@pytest.mark.usefixtures("open_umask")
def test_folders_and_files_are_private_when_made(tmp_path: Path) -> None:
    root = tmp_path / "a" / "b"
    files = DiskFiles(root)

    files.make_directory("")
    files.make_directory("c")
    files.create("c/data").close()
    replace_file(files, "state", b"content")
    files.lock(".lock").release()

    assert {mode_of(folder) for folder in (tmp_path / "a", root, root / "c")} == {0o700}
    assert {mode_of(file) for file in (root / "c/data", root / "state", root / ".lock")} == {0o600}


def test_folder_that_others_may_enter_stays_as_it_is_with_one_warning(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    root = tmp_path / "log"
    root.mkdir()
    root.chmod(0o755)
    (root / "topic-0").mkdir()
    files = DiskFiles(root)

    files.make_directory("")
    files.make_directory("topic-0")

    assert mode_of(root) == 0o755
    assert [record.getMessage() for record in caplog.records] == [
        f"directory {root} is open to other users, 'chmod 700 {root}' makes it private: mode=0755"
    ]


def test_link_that_leads_nowhere_is_named_when_the_root_is_one(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path / "gone")

    with pytest.raises(
        ConfigError, match=rf"{tmp_path}/link is a symbolic link to {tmp_path}/gone, which does not exist: make that"
    ):
        DiskFiles(tmp_path / "link" / "log").make_directory("")


def test_root_may_be_a_link_to_a_folder(tmp_path: Path) -> None:
    (tmp_path / "disk").mkdir(mode=0o700)
    (tmp_path / "link").symlink_to(tmp_path / "disk")

    DiskFiles(tmp_path / "link").make_directory("log")

    assert (tmp_path / "disk" / "log").is_dir()


def test_link_is_replaced_and_not_followed_when_a_file_is_made(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.write_bytes(b"of somebody else")
    root = tmp_path / "log"
    root.mkdir()
    (root / "state.tmp").symlink_to(outside)
    (root / "data").symlink_to(outside)

    replace_file(DiskFiles(root), "state", b"new")
    DiskFiles(root).create("data").close()

    assert outside.read_bytes() == b"of somebody else"
    assert (root / "state").read_bytes() == b"new"
    assert not (root / "state").is_symlink()
    assert not (root / "data").is_symlink()


def test_lock_is_refused_when_it_is_a_link(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.write_bytes(b"of somebody else")
    (tmp_path / ".lock").symlink_to(outside)

    with pytest.raises(ConfigError, match=r"lock file .*\.lock is a symbolic link, expected a plain file"):
        DiskFiles(tmp_path).lock(".lock")

    assert outside.read_bytes() == b"of somebody else"


def test_file_is_refused_when_a_folder_has_its_name(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()

    with pytest.raises(StorageError, match=r"cannot remove .*data"):
        DiskFiles(tmp_path).create("data")


Advice = tuple[int, int]
"""Offset and size of a part of a file."""


@pytest.fixture
def dropped(monkeypatch: pytest.MonkeyPatch) -> list[Advice]:
    """The parts of files that were dropped from the page cache."""
    parts: list[Advice] = []
    monkeypatch.setattr(os, "posix_fadvise", lambda _file, offset, size, _advice: parts.append((offset, size)))
    return parts


only_with_advice = pytest.mark.skipif(not hasattr(os, "posix_fadvise"), reason="macOS does not have the call")


@only_with_advice
def test_flushed_bytes_are_dropped_from_the_page_cache_while_it_need_not_keep_them(
    tmp_path: Path, dropped: list[Advice]
) -> None:
    files = DiskFiles(tmp_path)
    file = files.create("data")
    part, page = (1 << 20) + 100, mmap.PAGESIZE

    def append_and_flush() -> None:
        file.append(bytes(part))
        file.flush()

    append_and_flush()
    append_and_flush()
    assert not dropped, "they are kept at first"

    files.keep_in_page_cache(False)
    append_and_flush()
    assert not dropped, "what was flushed before stays"
    append_and_flush()
    append_and_flush()
    # The last page of a part is not full yet, so the next part begins with it.
    next_part = 3 * part // page * page
    assert dropped == [(2 * part, part), (next_part, 4 * part - next_part)]

    files.keep_in_page_cache(True)
    append_and_flush()
    append_and_flush()
    assert len(dropped) == 2, "they are kept again"
    file.close()


@only_with_advice
def test_little_is_not_dropped_from_the_page_cache(tmp_path: Path, dropped: list[Advice]) -> None:
    files = DiskFiles(tmp_path)
    files.keep_in_page_cache(False)
    file = files.create("data")

    for _ in range(100):
        file.append(b"small")
        file.flush()

    assert not dropped, "each takes a system call"
    file.close()


@only_with_advice
def test_truncated_bytes_are_not_dropped_from_the_page_cache(tmp_path: Path, dropped: list[Advice]) -> None:
    files = DiskFiles(tmp_path)
    files.keep_in_page_cache(False)
    file = files.create("data")
    file.append(bytes(2 << 20))
    file.flush()

    file.truncate(5)
    file.flush()
    file.append(bytes(2 << 20))
    file.flush()
    file.flush()

    assert dropped == [(0, 5 + (2 << 20))]
    file.close()


def test_free_bytes_are_those_of_the_file_system_of_the_root(tmp_path: Path) -> None:
    assert 0 < DiskFiles(tmp_path).free_bytes() <= disk_usage(tmp_path).total


def test_root_is_named_when_its_free_bytes_cannot_be_measured(tmp_path: Path) -> None:
    with pytest.raises(StorageError, match=f"cannot measure {tmp_path}/gone.*No such file"):
        DiskFiles(tmp_path / "gone").free_bytes()


def test_overwrite_changes_those_bytes_and_not_the_size(tmp_path: Path) -> None:
    file = DiskFiles(tmp_path).create("data")
    file.append(b"abcdef")

    file.overwrite(2, b"XY")

    assert (tmp_path / "data").read_bytes() == b"abXYef"
    assert file.size_bytes == 6
    file.append(b"g")
    assert (tmp_path / "data").read_bytes() == b"abXYefg"
    file.close()


def test_refused_overwrite_names_the_file(tmp_path: Path) -> None:
    (tmp_path / "data").write_bytes(b"abcdef")
    file = DiskFiles(tmp_path).open("data")
    os.close(file._descriptor)  # type: ignore[attr-defined]

    with pytest.raises(StorageError, match=r"cannot write .*data: Bad file descriptor"):
        file.overwrite(2, b"XY")
