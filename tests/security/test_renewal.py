"""Files that are read again when they change, until they could be read."""

from __future__ import annotations

from pathlib import Path

import pytest

from raft.errors import ConfigError
from raft.security.file_versions import FileVersions
from raft.security.renewal import Renewal


class Reader:
    """Reads one file, which it may not be able to."""

    def __init__(self, path: Path) -> None:
        self.is_able = True
        self.content = path.read_text()
        self._path = path
        self.renewal = Renewal(FileVersions([path]), self._read, "rules")

    def _read(self) -> None:
        if not self.is_able:
            raise ConfigError("too many open files")
        self.content = self._path.read_text()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "file"
    path.write_text("first")
    return path


def test_file_is_read_when_it_has_changed_and_not_before(path: Path) -> None:
    reader = Reader(path)
    assert not reader.renewal.look(pytest.fail)

    path.write_text("second")

    assert reader.renewal.look(pytest.fail)
    assert reader.content == "second"
    assert not reader.renewal.look(pytest.fail)


@pytest.mark.rule("AUTH-11")
def test_reading_that_failed_is_repeated_although_the_file_does_not_change_again(path: Path) -> None:
    """An error may end by itself: too many files were open, or a directory could not be entered."""
    reader = Reader(path)
    reported: list[str] = []
    path.write_text("second")
    reader.is_able = False

    assert not reader.renewal.look(reported.append)
    assert not reader.renewal.look(reported.append)
    assert (reader.content, reader.renewal.is_outdated) == ("first", True)
    reader.is_able = True

    assert reader.renewal.look(pytest.fail)
    assert (reader.content, reader.renewal.is_outdated) == ("second", False)
    assert reported == ["too many open files; the rules that were read before stay in use"] * 2
