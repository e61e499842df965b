"""Entries of JAAS, compared with Kafka's JaasConfig: the tables hold what Apache Kafka 4.3.1 returns."""

from __future__ import annotations

import pytest

from raft.config.security import login_module
from raft.errors import ConfigError
from raft.security.jaas import JaasEntry

MODULE = login_module("PLAIN")
PLANTED = "planted-secret"


def options(text: str) -> dict[str, str]:
    """The options of an entry for PLAIN."""
    return dict(JaasEntry.parse(f"{MODULE} required {text}", "PLAIN").options)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param(";", {}, id="no option"),
        pytest.param('a="b";', {"a": "b"}, id="quoted"),
        pytest.param("a='b\"c';", {"a": 'b"c'}, id="quoted by the other mark"),
        pytest.param('a="b\'c";', {"a": "b'c"}, id="with the other mark"),
        pytest.param("a=b-c_d$e;", {"a": "b-c_d$e"}, id="bare"),
        pytest.param('a = "b" c= "d" ;', {"a": "b", "c": "d"}, id="blanks"),
        pytest.param('a="b"c="d";', {"a": "b", "c": "d"}, id="no blanks"),
        pytest.param('\n a="b"\n\tc="d"\n;\n', {"a": "b", "c": "d"}, id="lines"),
        pytest.param('a="b" a="c";', {"a": "c"}, id="the last one of two"),
        pytest.param('a="";', {"a": ""}, id="empty"),
        pytest.param('a="b;c=d";', {"a": "b;c=d"}, id="signs in marks"),
        pytest.param('"user_x@y"="z" \'user_é\'="z";', {"user_x@y": "z", "user_é": "z"}, id="names in marks"),
        pytest.param(r'a="\\\"\q";', {"a": r"\"q"}, id="escapes of signs"),
        pytest.param(r'a="\n\t\r\f\b\a\v";', {"a": "\n\t\r\f\b\a\v"}, id="escapes of control characters"),
        pytest.param(r'a="\101\7\400\1234\08";', {"a": "A\x07\x200S4\x008"}, id="octal escapes"),
    ],
)
def test_options_are_those_of_kafka(text: str, expected: dict[str, str]) -> None:
    assert options(text) == expected


@pytest.mark.parametrize("flag", ["required", "REQUIRED", "requisite", "sufficient", "Optional"])
def test_flag_may_be_any(flag: str) -> None:
    assert JaasEntry.parse(f'{MODULE} {flag} a="b";', "PLAIN").options == {"a": "b"}


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("", id="nothing"),
        pytest.param(f"{MODULE};", id="no flag"),
        pytest.param(f'{MODULE} needed password="{PLANTED}";', id="another flag"),
        pytest.param(f'{MODULE} requiredpassword="{PLANTED}";', id="no blank after the flag"),
        pytest.param(f'{MODULE} required password="{PLANTED}"', id="no semicolon"),
        pytest.param(f'{MODULE} required password="{PLANTED}";;', id="two semicolons"),
        pytest.param(f'{MODULE} required password="{PLANTED};', id="an open mark"),
        pytest.param(f'{MODULE} required password="{PLANTED}\\";', id="an escaped mark at the end"),
        pytest.param(f"{MODULE} required password={PLANTED}=x;", id="two values"),
        pytest.param(f"{MODULE} required password={PLANTED} x;", id="a name without a value"),
        pytest.param(f"{MODULE} required password={PLANTED}'s;", id="a mark in a bare value"),
        pytest.param(f'{MODULE} required password="{PLANTED}"; {MODULE} required;', id="two entries"),
        pytest.param(f'{MODULE} required password="{PLANTED}\ud800";', id="a character that is not of Unicode"),
    ],
)
@pytest.mark.rule("AUTH-12")
def test_malformed_entry_is_refused_without_showing_it(text: str) -> None:
    with pytest.raises(ConfigError) as refused:
        JaasEntry.parse(text, "PLAIN")

    assert str(refused.value) == (
        f'the entry of sasl.jaas.config for PLAIN is malformed: expected {MODULE} required username="..." '
        'password="...";'
    )


@pytest.mark.parametrize("mechanism", ["SCRAM-SHA-256", "SCRAM-SHA-512"])
@pytest.mark.rule("AUTH-12")
def test_entry_for_another_mechanism_is_refused_without_showing_it(mechanism: str) -> None:
    with pytest.raises(ConfigError) as refused:
        JaasEntry.parse(f'{MODULE} required username="a" password="{PLANTED}";', mechanism)

    assert str(refused.value) == (
        f"the entry of sasl.jaas.config is not for {mechanism}: expected {login_module(mechanism)} required "
        'username="..." password="...";'
    )


def test_entry_has_name_and_password_of_this_side_and_those_of_users() -> None:
    entry = JaasEntry.parse(
        f'{MODULE} required username="node1" password="p" user_node1="p" user_a="q" user_="r";', "PLAIN"
    )

    assert entry.own_credentials() == ("node1", "p")
    assert entry.users() == {"node1": "p", "a": "q", "": "r"}


@pytest.mark.parametrize(
    ("text", "missing"),
    [
        pytest.param(";", "username", id="nothing"),
        pytest.param(f'password="{PLANTED}";', "username", id="no name"),
        pytest.param(f'username="" password="{PLANTED}";', "username", id="an empty name"),
        pytest.param('username="a";', "password", id="no password"),
        pytest.param('username="a" password="";', "password", id="an empty password"),
        pytest.param('user_a="a";', "username", id="only users"),
    ],
)
def test_side_without_name_or_password_is_refused(text: str, missing: str) -> None:
    entry = JaasEntry.parse(f"{MODULE} required {text}", "PLAIN")

    with pytest.raises(ConfigError) as refused:
        entry.own_credentials()

    assert str(refused.value) == (
        f'the entry of sasl.jaas.config has no {missing}: expected username="..." password="..."'
    )


def test_long_entry_that_is_malformed_is_refused_at_once() -> None:
    with pytest.raises(ConfigError, match="malformed"):
        JaasEntry.parse(f"{MODULE} required {'a=b ' * 100_000}{' ' * 100_000}a" + "b" * 100_000, "PLAIN")
