"""The names of clients with certificates: `ssl.principal.mapping.rules`, compared with Kafka's SslPrincipalMapper.

The tables hold what Apache Kafka 4.3.1 returns.
"""

from __future__ import annotations

import re

import pytest

from raft.config.principals import NO_RULES, PrincipalRule, PrincipalRules
from raft.errors import ConfigError

KEY = "listener.name.client.ssl.principal.mapping.rules"

DUKE = "CN=Duke,OU=ServiceUsers,O=Org,C=US"

FIVE_RULES = ", ".join(
    (
        "RULE:^CN=(.*?),OU=ServiceUsers.*$/$1/L",
        "RULE:^CN=(.*?),OU=(.*?),O=(.*?),L=(.*?),ST=(.*?),C=(.*?)$/$1@$2/L",
        "RULE:^cn=(.*?),ou=(.*?),dc=(.*?),dc=(.*?)$/$1@$2/U",
        "RULE:^.*[Cc][Nn]=([a-zA-Z0-9.]*).*$/$1/U",
        "DEFAULT",
    )
)


def rules(text: str) -> PrincipalRules:
    return PrincipalRules.parse(KEY, text)


def parts(text: str) -> list[tuple[str | None, str, str]]:
    """The rules in a text: pattern, replacement and case of each."""
    return [
        (None if rule.pattern is None else rule.pattern.pattern, rule.replacement, rule.case)
        for rule in rules(text).rules
    ]


@pytest.mark.parametrize(
    ("subject", "name"),
    [
        pytest.param(DUKE, "duke", id="first rule, lower case"),
        pytest.param("CN=Duke,OU=SME,O=mycp,L=Fulton,ST=MD,C=US", "duke@sme", id="second rule, two groups"),
        pytest.param("cn=duke,ou=sme,dc=mycp,dc=com", "DUKE@SME", id="third rule, upper case"),
        pytest.param("cN=duke,OU=JavaSoft,O=Sun Microsystems", "DUKE", id="fourth rule"),
        pytest.param("OU=JavaSoft,O=Sun Microsystems,C=US", "OU=JavaSoft,O=Sun Microsystems,C=US", id="DEFAULT"),
    ],
)
@pytest.mark.rule("AUTH-3")
def test_first_rule_that_matches_gives_the_name(subject: str, name: str) -> None:
    assert rules(FIVE_RULES).name_of(subject) == name


@pytest.mark.parametrize("text", ["", "  ", "DEFAULT", " DEFAULT ", "DEFAULT,", ", ,DEFAULT,,"])
def test_subject_is_the_name_when_there_is_no_other_rule(text: str) -> None:
    assert rules(text) == NO_RULES
    assert rules(text).name_of(DUKE) == DUKE


@pytest.mark.rule("AUTH-3")
def test_client_has_no_name_when_no_rule_matches() -> None:
    assert rules("RULE:^CN=(.*?),OU=Others$/$1/,RULE:^O=(.*)$/$1/").name_of(DUKE) is None


@pytest.mark.parametrize(
    ("text", "subject", "name"),
    [
        pytest.param("RULE:^CN=([^,]+).*$/$0/", DUKE, DUKE, id="group 0 is the whole"),
        pytest.param("RULE:^CN=[^,]+.*$/$0/", DUKE, DUKE, id="group 0 of a pattern without groups"),
        pytest.param("RULE:^CN=([^,]+).*$/$01/", DUKE, "Duke", id="a leading zero"),
        pytest.param("RULE:^CN=([^,]+).*$/$2/", DUKE, "$2", id="a group that does not exist is text"),
        pytest.param("RULE:^CN=([^,]+).*$/$12/", DUKE, "Duke2", id="the longest number that is a group"),
        pytest.param("RULE:^CN=([^,]+),(.*)$/$1$3/", DUKE, "Duke$3", id="a group, and text"),
        pytest.param(f"RULE:^CN=([^,]+).*$/${'1' * 5000}/", DUKE, f"Duke{'1' * 4999}", id="a number of 5000 digits"),
        pytest.param("RULE:^(CN=(a)?.*)$/[$2]/", DUKE, "[]", id="a group without a match is empty"),
        pytest.param(r"RULE:^CN=([^,]+).*$/\$1/", DUKE, "$1", id="an escaped dollar"),
        pytest.param(r"RULE:^CN=([^,]+).*$/\/\\$1/", DUKE, r"/\Duke", id="an escaped slash and backslash"),
        pytest.param(
            r"RULE:^CN=((\\, *|\w)+)(,.*|$)/$1/,DEFAULT", r"CN=Tkac\, Adam,OU=ITZ", r"Tkac\, Adam", id="comma"
        ),
        pytest.param("RULE:^CN=([^,]+)(,.*|$)/$1/U", "CN=straße,O=x", "STRASSE", id="upper case of ß"),
        pytest.param("RULE:^CN=([^,]+)(,.*|$)/$1/L", "CN=İ,O=x", "i̇", id="lower case of İ"),
        pytest.param("RULE://", "", "", id="an empty rule for an empty subject"),
        pytest.param("RULE:.*/x/", DUKE, "xx", id="the end matches once more"),
        pytest.param(r"RULE:CN=(\w+)|CN=(\w+),.*/$1/", DUKE, DUKE.removeprefix("CN="), id="only a part is replaced"),
        pytest.param(r"RULE:^CN=(\w+),.*$/$1/,DEFAULT", "CN=Дюк,O=x", "CN=Дюк,O=x", id="a letter is one of ASCII"),
        pytest.param(r"RULE:^CN=(\d+),.*$/$1/,DEFAULT", "CN=٣,O=x", "CN=٣,O=x", id="a digit is one of ASCII"),
        pytest.param(
            "RULE:^CN=(?:(?i:(duke))),.*$/$1/,DEFAULT",
            "CN=DU\N{KELVIN SIGN}E,O=x",
            "CN=DU\N{KELVIN SIGN}E,O=x",
            id="case is that of ASCII",
        ),
    ],
)
def test_replacement_is_that_of_kafka(text: str, subject: str, name: str) -> None:
    assert rules(text).name_of(subject) == name


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("RULE://", [("", "", "")]),
        ("RULE:/.*/", [("", ".*", "")]),
        ("RULE:/.*/L", [("", ".*", "L")]),
        ("RULE://,DEFAULT", [("", "", ""), (None, "", "")]),
        ("  RULE:   /     / ,  DEFAULT  ", [("   ", "     ", ""), (None, "", "")]),
        ("  RULE:  /     /U   ,DEFAULT  ", [("  ", "     ", "U"), (None, "", "")]),
        (
            "  RULE:([A-Z]*)/$1/U   ,RULE:([a-z]+)/$1/,   DEFAULT  ",
            [("([A-Z]*)", "$1", "U"), ("([a-z]+)", "$1", ""), (None, "", "")],
        ),
        (",,RULE://,,,DEFAULT,,", [("", "", ""), (None, "", "")]),
        (",  , RULE: /   /    ,,,   DEFAULT, ,   ", [(" ", "   ", ""), (None, "", "")]),
        (r"RULE:\/\\\(\)\n\t/\/\//", [(r"\/\\\(\)\n\t", r"\/\/", "")]),
        (r"RULE:\**\/+/*/L,RULE:\/*\**/**/", [(r"\**\/+", "*", "L"), (r"\/*\**", "**", "")]),
        (
            r"RULE:,RULE:,/,RULE:,\//U,RULE:,/RULE:,/,RULE:,RULE:,/L,RULE:,/L,RULE:, DEFAULT, /DEFAULT/,DEFAULT",
            [
                (",RULE:,", r",RULE:,\/", "U"),
                (",", "RULE:,", ""),
                (",RULE:,", "L,RULE:,", "L"),
                (", DEFAULT, ", "DEFAULT", ""),
                (None, "", ""),
            ],
        ),
    ],
)
def test_rules_are_split_as_by_kafka(text: str, expected: list[tuple[str | None, str, str]]) -> None:
    assert parts(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "RULE:^CN=(.*?),OU=ServiceUsers.*$/$1/",
        "RULE:^CN=(.*?),OU=(.*?),O=(.*?),L=(.*?),ST=(.*?),C=(.*?)$/$1@$2/",
        "RULE:^cn=(.?),ou=(.?),dc=(.?),dc=(.?)$/$1@$2/U",
        "RULE:^CN=([^,ADEFLTU,]+)(,.*|$)/$1/",
        "RULE:^CN=([^,DEFAULT,]+)(,.*|$)/$1/",
    ],
)
def test_rule_that_kafka_accepts_is_accepted(text: str) -> None:
    assert len(rules(text).rules) == 1


@pytest.mark.parametrize(
    "text",
    [
        *("default", "DEFAUL", "DEFAULT/L", "DEFAULT/U", "DEFAULT DEFAULT", "DEFAULTDEFAULT"),
        "RULE:CN=(.*?),OU=ServiceUsers.*/$1",
        "rule:^CN=(.*?),OU=ServiceUsers.*$/$1/",
        "RULE:^CN=(.*?),OU=ServiceUsers.*$/$1/L/U",
        "RULE:^CN=(.*?),OU=ServiceUsers.*$/L",
        "RULE:^CN=(.*?),OU=ServiceUsers.*$/U",
        "RULE:^CN=(.*?),OU=ServiceUsers.*$/LU",
        "RULE:^CN=(.*)$/$1/LDEFAULT",
        "RULE:^CN=(.*)$/$1/X",
        "RULE:^CN=(.*)$/$1\\/",
        "DEFAULT, RULE:^CN=(.*)$",
    ],
)
def test_rule_that_kafka_refuses_is_refused(text: str) -> None:
    with pytest.raises(ConfigError) as refused:
        rules(text)

    assert str(refused.value) == f"{KEY}={text}: expected rules such as RULE:^CN=([^,]+),.*$/$1/L, DEFAULT"


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        pytest.param(", ,", "expected rules such as", id="no rule at all"),
        pytest.param("RULE:(/x/", "( is no regular expression: missing ), unterminated", id="a parenthesis is open"),
        pytest.param(r"RULE:(\p{L}+)/$1/", r"(\p{L}+) is no regular expression: bad escape \p", id="only in Java"),
        pytest.param("RULE:[[a-z]D]+/x/", "[[a-z]D]+ is no regular expression: Possible nested set", id="nested sets"),
        pytest.param("RULE:[a&&b]/x/", "[a&&b] is no regular expression: Possible set intersection", id="intersection"),
        pytest.param("RULE:(?u)a/x/", "(?u)a is no regular expression: ASCII and UNICODE flags", id="Unicode flag"),
        pytest.param(
            f"RULE:a{{{1 << 64}}}/x/", "is no regular expression: the repetition number is too large", id="big"
        ),
        pytest.param(f"RULE:{'(' * 5000}/x/", "is no regular expression: ", id="nested too deep"),
        pytest.param("RULE:^CN=(.*)$/$1$/", r"$ is no group of ^CN=(.*)$, and \$ stands for $", id="no number"),
        pytest.param("RULE:^CN=(.*)$/${user}/", r"$ is no group of ^CN=(.*)$, and \$ stands for $", id="a name"),
        pytest.param("RULE:^CN=.*$/$1/", r"$1 is no group of ^CN=.*$, and \$ stands for $", id="no groups"),
    ],
)
def test_rule_that_could_name_no_client_is_refused_at_the_start(text: str, reason: str) -> None:
    """Kafka accepts some of these, and then fails when a client connects."""
    with pytest.raises(ConfigError, match=re.escape(reason)) as refused:
        rules(text)

    assert str(refused.value).startswith(f"{KEY}={text}: expected ")


def test_rule_without_pattern_returns_the_subject() -> None:
    assert PrincipalRule().apply(DUKE) == DUKE
