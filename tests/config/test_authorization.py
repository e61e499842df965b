"""Whether a node asks what its callers may do: a file with rules, super users, or everyone."""

from __future__ import annotations

import pytest

from raft.config.authorization import AuthorizationSettings, authorization, principal
from raft.config.listener_security import ClientAuth, ListenerSecurity
from raft.config.security import SecurityProtocol
from raft.errors import ConfigError

FILE = "/etc/kraft/authorization.toml"
PLAINTEXT = ("CONTROLLER", ListenerSecurity())
SASL = ("CLIENT", ListenerSecurity(protocol=SecurityProtocol.SASL_SSL, mechanisms=("SCRAM-SHA-256",)))


def tls(client_auth: ClientAuth) -> tuple[str, ListenerSecurity]:
    return "CLIENT", ListenerSecurity(protocol=SecurityProtocol.SSL, client_auth=client_auth)


def settings(file: str | None = None, *super_users: str) -> AuthorizationSettings:
    return AuthorizationSettings(file=file, super_users=frozenset(super_users))


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        pytest.param({"raft.authorization.file": FILE}, settings(FILE), id="a file"),
        pytest.param({"raft.authorization.file": f" {FILE} "}, settings(FILE), id="a file, with blanks"),
        pytest.param({"super.users": "User:a"}, settings(None, "User:a"), id="one super user"),
        pytest.param(
            {"super.users": " User:a ; User:CN=b,O=c;; "},
            settings(None, "User:a", "User:CN=b,O=c"),
            id="super users, a subject with a comma among them",
        ),
        pytest.param(
            {"raft.authorization.file": FILE, "super.users": "User:a", "allow.everyone.if.no.acl.found": "FALSE"},
            settings(FILE, "User:a"),
            id="all keys",
        ),
    ],
)
@pytest.mark.rule("ACL-1")
def test_node_asks_when_a_file_or_super_users_are_given(given: dict[str, str], expected: AuthorizationSettings) -> None:
    assert authorization(given, [PLAINTEXT, SASL]) == expected


@pytest.mark.parametrize(
    ("given", "listener"),
    [
        pytest.param({}, PLAINTEXT, id="PLAINTEXT"),
        pytest.param({"raft.authorization.file": " ", "super.users": " ; "}, PLAINTEXT, id="values without content"),
        pytest.param({}, tls(ClientAuth.NONE), id="SSL without certificates of clients"),
        pytest.param({"allow.everyone.if.no.acl.found": "true"}, SASL, id="SASL, and everyone is allowed"),
        pytest.param(
            {"allow.everyone.if.no.acl.found": " True ", "super.users": "User:a"}, SASL, id="and there is a super user"
        ),
    ],
)
@pytest.mark.rule("ACL-1")
def test_everyone_may_do_everything_when_nothing_is_configured_or_it_is_said(
    given: dict[str, str], listener: tuple[str, ListenerSecurity]
) -> None:
    assert authorization(given, [listener]) is None


@pytest.mark.parametrize(
    ("listener", "protocol"),
    [
        pytest.param(SASL, "SASL_SSL", id="SASL"),
        pytest.param(tls(ClientAuth.REQUIRED), "SSL", id="certificates are required"),
        pytest.param(tls(ClientAuth.REQUESTED), "SSL", id="certificates are requested"),
    ],
)
@pytest.mark.rule("ACL-1")
def test_node_that_knows_names_needs_rules(listener: tuple[str, ListenerSecurity], protocol: str) -> None:
    with pytest.raises(ConfigError) as refused:
        authorization({}, [PLAINTEXT, listener])

    assert str(refused.value) == (
        "raft.authorization.file is missing: expected a file that says what the clients of CLIENT may do, because it "
        f"is {protocol}; or allow.everyone.if.no.acl.found=true, if all of them may do everything"
    )


@pytest.mark.parametrize(
    ("given", "message"),
    [
        pytest.param(
            {"raft.authorization.file": FILE, "allow.everyone.if.no.acl.found": "true"},
            "expected one of raft.authorization.file and allow.everyone.if.no.acl.found=true, not both",
            id="rules, and everyone is allowed",
        ),
        pytest.param(
            {"allow.everyone.if.no.acl.found": "yes"},
            "allow.everyone.if.no.acl.found=yes: expected true or false",
            id="neither true nor false",
        ),
        pytest.param(
            {"super.users": "admin"},
            "super.users=admin: expected principals of the form User:<name>",
            id="a name without its kind",
        ),
        pytest.param(
            {"super.users": "User:a;User:"},
            "super.users=User:: expected principals of the form User:<name>",
            id="a kind without a name",
        ),
        pytest.param(
            {"super.users": "Group:a"},
            "super.users=Group:a: expected principals of the form User:<name>",
            id="another kind",
        ),
    ],
)
def test_wrong_value_is_refused(given: dict[str, str], message: str) -> None:
    with pytest.raises(ConfigError) as refused:
        authorization(given, [PLAINTEXT])

    assert str(refused.value) == message


def test_principal_keeps_its_case_and_blanks() -> None:
    assert principal("key", "User: a B") == "User: a B"


def test_principal_of_another_case_of_its_kind_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"^key=user:a: expected principals of the form User:<name>$"):
        principal("key", "user:a")
