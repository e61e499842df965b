"""`kraft credentials`: users are added, changed, removed and listed, and no password is shown or kept."""

from __future__ import annotations

import fcntl
import hashlib
import hmac
import io
import json
import os
import stat
import sys
from pathlib import Path

import pytest

from raft.cli import credentials as module
from raft.security.credentials import Credentials, ScramCredential
from tests.cli.in_process import KraftInProcess
from tests.processes.finished import Finished

PASSWORD = "planted-secret"
OTHER_USER = 65534


class Command:
    """`kraft credentials` for one file.

    Args:
        here: runs commands.
        monkeypatch: sets standard input.
        file: of credentials.
    """

    def __init__(self, here: KraftInProcess, monkeypatch: pytest.MonkeyPatch, file: Path) -> None:
        self._here = here
        self._monkeypatch = monkeypatch
        self.file = file

    def __call__(self, command: str, *arguments: str, stdin: str | bytes | None = f"{PASSWORD}\n") -> Finished:
        content = stdin.encode() if isinstance(stdin, str) else stdin
        self._monkeypatch.setattr(
            sys, "stdin", None if content is None else io.TextIOWrapper(io.BytesIO(content), encoding="utf-8")
        )
        return self._here("credentials", command, str(self.file), *arguments)

    @property
    def users(self) -> Credentials:
        """What is in the file."""
        return Credentials.parse(self.file.read_text())


@pytest.fixture
def command(here: KraftInProcess, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Command:
    """For a file that does not exist yet."""
    return Command(here, monkeypatch, tmp_path / "credentials.json")


def mode(file: Path) -> str:
    return stat.filemode(file.stat().st_mode)


def accepts(credential: ScramCredential, password: str, digest: str = "sha256") -> bool:
    """Whether a credential is that of a password, by the formulas of RFC 5802."""
    salted = hashlib.pbkdf2_hmac(digest, password.encode(), credential.salt, credential.iterations)
    client_key = hmac.digest(salted, b"Client Key", digest)
    return hashlib.new(digest, client_key).digest() == credential.stored_key


def test_user_is_added_for_both_mechanisms(command: Command) -> None:
    done = command("add", "alice")

    assert (done.exit_code, done.errors) == (0, "")
    assert done.output == "added user alice for SCRAM-SHA-256, SCRAM-SHA-512\n"
    made = command.users.by_user["alice"]
    assert accepts(made["SCRAM-SHA-256"], PASSWORD, "sha256")
    assert accepts(made["SCRAM-SHA-512"], PASSWORD, "sha512")
    assert {(len(each.salt), each.iterations) for each in made.values()} == {(16, 8192)}
    assert made["SCRAM-SHA-256"].salt != made["SCRAM-SHA-512"].salt


@pytest.mark.rule("AUTH-12")
def test_file_has_no_password_and_only_its_owner_reads_it(command: Command) -> None:
    done = command("add", "alice")

    content = command.file.read_text()
    assert PASSWORD not in content + done.output + done.errors
    assert mode(command.file) == "-rw-------"
    assert list(command.file.parent.iterdir()) == [command.file], "no other file is left"


@pytest.mark.parametrize(
    ("given", "kept"), [(0o600, "-rw-------"), (0o640, "-rw-r-----"), (0o666, "-rw-r-----"), (0o604, "-rw-------")]
)
@pytest.mark.rule("AUTH-12")
def test_changed_file_stays_readable_for_its_group_and_for_no_other_user(
    command: Command, given: int, kept: str
) -> None:
    command("add", "alice")
    command.file.chmod(given)

    command("add", "bob")

    assert mode(command.file) == kept


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may give a file to another user")
@pytest.mark.rule("AUTH-11")
def test_changed_file_still_belongs_to_the_user_of_the_node(command: Command) -> None:
    command("add", "alice")
    os.chown(command.file, OTHER_USER, OTHER_USER)

    for arguments in (["add", "bob"], ["remove", "alice"]):
        command(*arguments).require_success()

        assert (command.file.stat().st_uid, command.file.stat().st_gid) == (OTHER_USER, OTHER_USER)


@pytest.mark.rule("AUTH-11")
def test_file_that_would_get_another_owner_stays_as_it_is(command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    command("add", "alice")
    content = command.file.read_bytes()

    def refuse(*_: object) -> None:
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(os, "chown", refuse)
    done = command("remove", "alice")

    assert done.exit_code == 1
    assert done.errors.startswith(f"kraft: {command.file} has user id {os.geteuid()} and group id ")
    assert done.errors.endswith("(Operation not permitted): run the command as that user, or as root\n")
    assert command.file.read_bytes() == content
    assert list(command.file.parent.iterdir()) == [command.file], "no other file is left"


@pytest.mark.rule("AUTH-6")
def test_file_keeps_the_pepper_that_its_first_command_has_drawn(command: Command) -> None:
    command("add", "alice")
    pepper = command.users.pepper

    command("add", "bob")
    command("remove", "alice")

    assert pepper is not None
    assert command.users.pepper == pepper


@pytest.mark.rule("AUTH-6")
def test_file_of_an_older_version_gets_a_pepper_at_the_next_command(command: Command) -> None:
    command("add", "alice")
    older = json.loads(command.file.read_text())
    del older["pepper"]
    command.file.write_text(json.dumps(older))

    command("add", "bob")

    assert command.users.pepper is not None
    assert command.users.by_user.keys() == {"alice", "bob"}


@pytest.mark.parametrize(
    ("arguments", "mechanisms", "iterations"),
    [
        (["--mechanism", "SCRAM-SHA-512"], ["SCRAM-SHA-512"], 8192),
        (["--mechanism", "SCRAM-SHA-256", "--iterations", "4096"], ["SCRAM-SHA-256"], 4096),
        (["--mechanism", "SCRAM-SHA-512", "--mechanism", "SCRAM-SHA-512"], ["SCRAM-SHA-512"], 8192),
        (["--mechanism", "SCRAM-SHA-512", "--mechanism", "SCRAM-SHA-256"], ["SCRAM-SHA-256", "SCRAM-SHA-512"], 8192),
    ],
)
def test_user_is_added_for_the_mechanisms_that_are_named(
    command: Command, arguments: list[str], mechanisms: list[str], iterations: int
) -> None:
    command("add", "alice", *arguments).require_success()

    made = command.users.by_user["alice"]
    assert sorted(made) == mechanisms
    assert {each.iterations for each in made.values()} == {iterations}


def test_password_of_a_user_is_changed_and_other_users_are_kept(command: Command) -> None:
    command("add", "alice")
    command("add", "bob")
    before = command.users.by_user

    done = command("add", "alice", "--mechanism", "SCRAM-SHA-256", stdin="another one\n")

    after = command.users.by_user
    assert done.output == "changed user alice for SCRAM-SHA-256\n"
    assert after["bob"] == before["bob"]
    assert after["alice"]["SCRAM-SHA-512"] == before["alice"]["SCRAM-SHA-512"]
    assert accepts(after["alice"]["SCRAM-SHA-256"], "another one")


@pytest.mark.parametrize(
    ("stdin", "password"),
    [("a b\n", "a b"), ("p\r\n", "p"), ("p", "p"), ("first\nsecond\n", "first"), (" p \n", " p "), ("pä\n", "pä")],
)
def test_password_is_the_first_line_of_standard_input(command: Command, stdin: str, password: str) -> None:
    command("add", "alice", stdin=stdin).require_success()

    assert accepts(command.users.by_user["alice"]["SCRAM-SHA-256"], password)


@pytest.mark.parametrize(
    ("user", "stdin", "message"),
    [
        pytest.param("alice", None, "standard input is closed: expected the password there", id="closed"),
        pytest.param("alice", "", "standard input is empty: expected the password in its first line", id="empty"),
        pytest.param("alice", "\n", "standard input is empty: expected the password", id="an empty line"),
        pytest.param("alice", b"planted-secret\xff\n", "standard input is no text in utf-8: expected the", id="bytes"),
        pytest.param(
            "alice", f"{PASSWORD}\x07\n", "the password has characters that SCRAM does not allow (RFC 4013)", id="bell"
        ),
        pytest.param("a b", PASSWORD, "user 'a b': expected 1 to 200 letters, digits and characters of", id="name"),
        pytest.param("", PASSWORD, "user '': expected 1 to 200 letters", id="no name"),
    ],
)
@pytest.mark.rule("AUTH-12")
def test_user_is_not_added_without_a_name_and_a_password(
    command: Command, user: str, stdin: str | bytes | None, message: str
) -> None:
    done = command("add", user, stdin=stdin)

    assert (done.exit_code, done.output) == (1, "")
    (line,) = done.errors.splitlines()
    assert line.startswith(f"kraft: {message}")
    assert PASSWORD not in line
    assert not command.file.exists()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--mechanism", "PLAIN"], "--mechanism PLAIN: expected SCRAM-SHA-256 or SCRAM-SHA-512"),
        (["--mechanism", "scram-sha-256"], "--mechanism scram-sha-256: expected SCRAM-SHA-256 or SCRAM-SHA-512"),
        (["--iterations", "4095"], "Invalid value for '--iterations': Input should be greater than or equal to 4096"),
        (
            ["--iterations", "1000001"],
            "Invalid value for '--iterations': Input should be less than or equal to 1000000",
        ),
    ],
)
@pytest.mark.rule("AUTH-8")
def test_wrong_option_is_refused(command: Command, arguments: list[str], message: str) -> None:
    done = command("add", "alice", *arguments)

    assert done.exit_code == 2
    assert message in done.errors
    assert not command.file.exists()


def test_user_is_removed(command: Command) -> None:
    command("add", "alice")
    command("add", "bob")

    done = command("remove", "alice")

    assert (done.exit_code, done.output) == (0, "removed user alice\n")
    assert command.users.by_user.keys() == {"bob"}
    assert mode(command.file) == "-rw-------"


def test_user_that_does_not_exist_is_not_removed(command: Command) -> None:
    command("add", "alice")
    command("add", "bob")

    done = command("remove", "carol")

    assert done.exit_code == 1
    assert done.errors == f"kraft: {command.file} has no user carol: expected one of alice, bob\n"


def test_last_user_may_be_removed(command: Command) -> None:
    command("add", "alice")
    command("remove", "alice").require_success()

    done = command("remove", "alice")

    assert done.errors == f"kraft: {command.file} has no user alice: expected one of none\n"
    assert command("list").output == ""


def test_users_are_listed_with_their_mechanisms(command: Command) -> None:
    command("add", "bob", "--mechanism", "SCRAM-SHA-512", "--iterations", "5000")
    command("add", "alice")

    done = command("list")

    assert done.exit_code == 0
    assert done.output.splitlines() == [
        "alice: SCRAM-SHA-256 (8192 iterations), SCRAM-SHA-512 (8192 iterations)",
        "bob: SCRAM-SHA-512 (5000 iterations)",
    ]


def test_name_that_a_terminal_would_obey_is_listed_escaped(command: Command) -> None:
    command("add", "alice")
    command.file.write_text(command.file.read_text().replace("alice", "\\u001b[31mred"))

    assert "\x1b" not in command("list").require_success()


@pytest.mark.parametrize("arguments", [["add", "alice"], ["remove", "alice"], ["list"]], ids=lambda words: words[0])
@pytest.mark.parametrize(
    ("content", "message"),
    [
        pytest.param(b"{}", "{file}: the file of credentials is malformed: expected ", id="no file of credentials"),
        pytest.param(b"\xff\xfe", "cannot read {file}: the file is no text", id="no text"),
        pytest.param(
            json.dumps({"users": {"bob": {"SCRAM-SHA-256": "x"}}}).encode(),
            "{file}: the file of credentials has a malformed one for user bob: expected salt=",
            id="a malformed credential",
        ),
    ],
)
def test_file_that_cannot_be_used_stays_as_it_is(
    command: Command, arguments: list[str], content: bytes, message: str
) -> None:
    command.file.write_bytes(content)

    done = command(arguments[0], *arguments[1:])

    assert done.exit_code == 1
    assert done.errors.startswith(f"kraft: {message.format(file=command.file)}")
    assert command.file.read_bytes() == content


@pytest.mark.parametrize("arguments", [["remove", "alice"], ["list"]], ids=lambda words: words[0])
def test_file_that_does_not_exist_is_named(command: Command, arguments: list[str]) -> None:
    done = command(*arguments)

    assert (done.exit_code, done.errors) == (1, f"kraft: cannot read {command.file}: No such file or directory\n")


@pytest.mark.parametrize("arguments", [["add", "alice"], ["remove", "alice"]], ids=lambda words: words[0])
def test_directory_that_does_not_exist_is_named(command: Command, arguments: list[str], tmp_path: Path) -> None:
    command.file = tmp_path / "missing" / "credentials.json"

    done = command(*arguments)

    assert done.exit_code == 1
    assert done.errors == f"kraft: cannot open the directory of {command.file}: No such file or directory\n"


def test_directory_is_locked_while_the_file_changes(command: Command) -> None:
    folder = os.open(command.file.parent, os.O_RDONLY)
    try:
        with module._locked(command.file), pytest.raises(BlockingIOError):
            fcntl.flock(folder, fcntl.LOCK_EX | fcntl.LOCK_NB)

        fcntl.flock(folder, fcntl.LOCK_EX | fcntl.LOCK_NB)
    finally:
        os.close(folder)
