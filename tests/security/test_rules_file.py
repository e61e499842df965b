"""The file with the rules of a node: read at the start, and again when it has changed."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from raft.config.authorization import AuthorizationSettings
from raft.errors import ConfigError
from raft.security.operations import Operation
from raft.security.rules import Rules
from raft.security.rules_file import RulesFile

SUPER_USERS = frozenset(["User:root"])
READERS = 'allow.read = ["User:{}"]\n'


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A file with one rule."""
    path = tmp_path / "authorization.toml"
    path.write_text(READERS.format("first"))
    return path


def read(path: Path) -> RulesFile:
    return RulesFile(AuthorizationSettings(file=str(path), super_users=SUPER_USERS))


def readers(file: RulesFile) -> list[str]:
    """Those of some users who may read."""
    return [name for name in ("first", "second", "root") if file.rules.allow(f"User:{name}", Operation.READ)]


def unreadable(reason: str) -> None:
    raise AssertionError(reason)


def test_rules_are_read_from_the_file(path: Path) -> None:
    assert readers(read(path)) == ["first", "root"]


def test_only_super_users_are_allowed_without_a_file() -> None:
    file = RulesFile(AuthorizationSettings(file=None, super_users=SUPER_USERS))

    file.renew(unreadable)

    assert file.rules == Rules(super_users=SUPER_USERS)


@pytest.mark.rule("AUTH-11")
def test_rules_are_read_again_when_the_file_is_replaced(path: Path) -> None:
    file = read(path)
    new = path.with_name("new.toml")
    new.write_text(READERS.format("second"))

    new.replace(path)
    file.renew(unreadable)

    assert readers(file) == ["second", "root"]


def test_rules_are_read_again_when_the_file_is_written(path: Path) -> None:
    file = read(path)

    path.write_text(READERS.format("second"))
    file.renew(unreadable)

    assert readers(file) == ["second", "root"]


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        pytest.param(None, "No such file or directory", id="removed"),
        pytest.param(b"\xff\xfe", "the file is no text", id="no text"),
        pytest.param(b"deny = 1", "the file has the key deny: expected ", id="malformed"),
        pytest.param(b"", None, id="emptied"),
    ],
)
@pytest.mark.rule("AUTH-11")
def test_rules_stay_in_use_when_the_file_cannot_be_used(path: Path, content: bytes | None, reason: str | None) -> None:
    file = read(path)
    reported: list[str] = []
    path.unlink()
    if content is not None:
        path.write_bytes(content)

    file.renew(reported.append)
    file.renew(reported.append)

    if reason is None:
        assert (readers(file), reported) == (["root"], [])
        return
    assert readers(file) == ["first", "root"]
    line, again = reported
    assert line == again, "the reason is reported at each look"
    assert line.startswith(f"raft.authorization.file={path}: {reason}")
    assert line.endswith("; the rules that were read before stay in use")


def test_file_is_used_again_when_it_is_repaired(path: Path) -> None:
    file = read(path)
    path.write_text("deny = 1")
    file.renew(lambda _reason: None)

    path.write_text(READERS.format("second"))
    file.renew(unreadable)

    assert readers(file) == ["second", "root"]


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        pytest.param(None, "No such file or directory", id="missing"),
        pytest.param(b"\xff", "the file is no text", id="no text"),
        pytest.param(b"allow = 1", "allow is 1: expected a table of ", id="malformed"),
    ],
)
@pytest.mark.rule("ACL-1")
def test_node_does_not_start_with_a_file_that_cannot_be_used(
    tmp_path: Path, content: bytes | None, reason: str
) -> None:
    path = tmp_path / "authorization.toml"
    if content is not None:
        path.write_bytes(content)

    with pytest.raises(ConfigError) as refused:
        read(path)

    assert str(refused.value).startswith(f"raft.authorization.file={path}: {reason}")


def test_file_that_has_not_changed_is_not_read_again(path: Path) -> None:
    file = read(path)
    before = file.rules

    file.renew(unreadable)

    assert file.rules is before


def test_file_that_was_only_touched_is_read_again(path: Path) -> None:
    file = read(path)
    before = file.rules

    os.utime(path, ns=(1, 1))
    file.renew(unreadable)

    assert file.rules == before
    assert file.rules is not before
