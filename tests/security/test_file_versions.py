"""Whether files have changed since the last look."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from raft.security.file_versions import FileVersions

CONTENT = "content"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "file"
    path.write_text(CONTENT)
    return path


def _replace_by_a_copy(path: Path) -> None:
    found = path.stat()
    copy = path.with_name("copy")
    copy.write_text(CONTENT)
    os.utime(copy, ns=(found.st_atime_ns, found.st_mtime_ns))
    copy.replace(path)


def _write_in_the_same_moment(path: Path) -> None:
    found = path.stat()
    path.write_text(CONTENT + "!")
    os.utime(path, ns=(found.st_atime_ns, found.st_mtime_ns))


def _touch(path: Path) -> None:
    os.utime(path, ns=(1, 1))


def _change_the_mode(path: Path) -> None:
    path.chmod(0o640)


def _write_as_many_bytes_and_set_the_time_back(path: Path) -> None:
    found = path.stat()
    path.write_text(CONTENT.upper())
    os.utime(path, ns=(found.st_atime_ns, found.st_mtime_ns))


@pytest.mark.parametrize(
    "change",
    [
        _replace_by_a_copy,
        _write_in_the_same_moment,
        _write_as_many_bytes_and_set_the_time_back,
        _touch,
        _change_the_mode,
        Path.unlink,
    ],
    ids=lambda change: change.__name__,
)
@pytest.mark.rule("AUTH-11")
def test_change_is_seen_once(path: Path, change: Callable[[Path], None]) -> None:
    versions = FileVersions([path])

    change(path)

    assert versions.have_changed()
    assert not versions.have_changed()


def test_file_that_appears_is_a_change(tmp_path: Path) -> None:
    versions = FileVersions([tmp_path / "file"])
    assert not versions.have_changed()

    (tmp_path / "file").touch()

    assert versions.have_changed()


def test_change_of_one_of_several_files_is_seen(path: Path, tmp_path: Path) -> None:
    versions = FileVersions(iter([tmp_path / "missing", path]))

    path.unlink()

    assert versions.have_changed()


def test_no_file_never_changes() -> None:
    assert not FileVersions(()).have_changed()
