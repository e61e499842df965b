"""The users of a listener: a password or a right that was withdrawn is not in use for long."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from raft.config.authorization import AuthorizationSettings
from raft.config.listener_security import ListenerSecurity
from raft.config.secret import Secret
from raft.config.security import SecurityProtocol, login_module
from raft.errors import AuthenticationError, ConfigError
from raft.security.credentials import Credentials, ScramCredential
from raft.security.listener_users import ListenerUsers
from raft.security.operations import Operation
from raft.security.rules_file import RulesFile

OF_ROOT = pytest.mark.skipif(os.geteuid() != 0, reason="only root may write files that the node cannot read")
NODE_USER = 65534


@contextmanager
def as_user(uid: int) -> Iterator[None]:
    os.seteuid(uid)
    try:
        yield
    finally:
        os.seteuid(0)


def scram(folder: Path, *users: str) -> ListenerSecurity:
    """A listener with SCRAM, whose file has these users."""
    file = folder / "credentials.json"
    content = Credentials()
    for user in users:
        made = ScramCredential.of_password("x", "SCRAM-SHA-256", salt=secrets.token_bytes(16), iterations=4096)
        content = content.with_user(user, "SCRAM-SHA-256", made)
    file.unlink(missing_ok=True)
    file.write_text(content.to_text())
    return ListenerSecurity(
        protocol=SecurityProtocol.SASL_SSL, mechanisms=("SCRAM-SHA-256",), credentials_file=str(file)
    )


def plain(entry: str) -> ListenerSecurity:
    """A listener with PLAIN."""
    text = f'{login_module("PLAIN")} required username="node1" password="x" {entry};'
    return ListenerSecurity(protocol=SecurityProtocol.SASL_SSL, mechanisms=("PLAIN",), plain_jaas=Secret(text))


def is_accepted(users: ListenerUsers, name: str, password: str) -> bool:
    try:
        users.verifiers.begin("PLAIN", "").respond(f"\0{name}\0{password}".encode())
    except AuthenticationError:
        return False
    return True


@OF_ROOT
@pytest.mark.rule("AUTH-11")
def test_user_and_right_that_root_has_removed_are_gone_once_the_node_may_read_the_files(tmp_path: Path) -> None:
    """Root replaces both files by its own, and gives them to the user of the node: only their owner changes then."""
    tmp_path.chmod(0o755)
    for folder in tmp_path.parents:
        if folder.stat().st_mode & 0o777 == 0o700:
            folder.chmod(0o711)
    file, rules_file = tmp_path / "credentials.json", tmp_path / "rules.toml"
    security = scram(tmp_path, "alice", "bob")
    rules_file.write_text('allow.read = ["User:bob"]')
    os.chown(file, NODE_USER, NODE_USER)
    file.chmod(0o600)
    reported: list[str] = []
    with as_user(NODE_USER):
        users = ListenerUsers(security)
        rules = RulesFile(AuthorizationSettings(file=str(rules_file), super_users=frozenset()))
    scram(tmp_path, "alice")
    rules_file.write_text("allow.read = []")
    for each in (file, rules_file):
        each.chmod(0o600)
    with as_user(NODE_USER):
        users.renew(reported.append)
        rules.renew(reported.append)
    assert [line.rpartition("; ")[0].rpartition(": ")[2] for line in reported] == ["Permission denied"] * 2
    assert users.credentials.by_user.keys() == {"alice", "bob"}

    for each in (file, rules_file):
        os.chown(each, NODE_USER, NODE_USER)
    with as_user(NODE_USER):
        users.renew(pytest.fail)
        rules.renew(pytest.fail)

    assert users.credentials.by_user.keys() == {"alice"}
    assert not rules.rules.allow("User:bob", Operation.READ)


@pytest.mark.parametrize(
    "form",
    ["${{file:{folder}/secrets.properties:bob}}", "${{directory:{folder}:bob.password}}"],
    ids=["file", "directory"],
)
@pytest.mark.rule("AUTH-11")
def test_password_of_plain_that_was_changed_in_its_file_is_in_use_at_once(tmp_path: Path, form: str) -> None:
    def write(password: str) -> None:
        (tmp_path / "secrets.properties").write_text(f"bob={password}\n")
        (tmp_path / "bob.password").write_text(f"{password}\n")

    write("first")
    users = ListenerUsers(plain(f'user_bob="{form.format(folder=tmp_path)}"'))
    assert is_accepted(users, "bob", "first")

    write("second")
    users.renew(pytest.fail)

    assert is_accepted(users, "bob", "second")
    assert not is_accepted(users, "bob", "first")


@pytest.mark.rule("AUTH-11")
def test_user_of_plain_that_was_removed_from_its_file_is_refused_when_it_proves_its_name_again(tmp_path: Path) -> None:
    """The whole entry may be in a file; a session that began before it was changed asks for the new one."""
    file = tmp_path / "secrets.properties"
    module = login_module("PLAIN")
    file.write_text(f'jaas={module} required user_bob="x" user_carol="x";\n')
    reference = Secret(f"${{file:{file}:jaas}}")
    users = ListenerUsers(
        ListenerSecurity(protocol=SecurityProtocol.SASL_SSL, mechanisms=("PLAIN",), plain_jaas=reference)
    )
    verifiers = users.verifiers
    assert is_accepted(users, "bob", "x")

    file.write_text(f'jaas={module} required user_carol="x";\n')
    users.renew(pytest.fail)

    assert users.verifiers is verifiers
    assert not is_accepted(users, "bob", "x")
    assert is_accepted(users, "carol", "x")


@pytest.mark.rule("AUTH-11", "AUTH-12")
def test_passwords_of_plain_stay_in_use_when_their_file_is_missing(tmp_path: Path) -> None:
    file = tmp_path / "bob.password"
    file.write_text("planted")
    users = ListenerUsers(plain(f'user_bob="${{directory:{tmp_path}:bob.password}}"'))
    reported: list[str] = []

    file.unlink()
    users.renew(reported.append)

    (line,) = reported
    assert line.endswith("No such file or directory; the passwords of PLAIN that were read before stay in use")
    assert "planted" not in line
    assert is_accepted(users, "bob", "planted")
    assert [renewal.is_outdated for renewal in users.renewals] == [True]


def test_listener_with_a_password_that_does_not_exist_does_not_start(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="No such file or directory"):
        ListenerUsers(plain(f'user_bob="${{directory:{tmp_path}:missing}}"'))
