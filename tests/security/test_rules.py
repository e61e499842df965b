"""The rules that say who may do what."""

from __future__ import annotations

import re

import pytest

from raft.errors import ConfigError
from raft.security.operations import Operation
from raft.security.rules import EVERYONE, Rules
from raft.types import NodeId

READ, APPEND, DESCRIBE, PEER = Operation
SUPER = "User:root"

FILE = """
[allow]
read = ["User:reader", "User:CN=a,O=b"]
append = ["User:writer"]
describe = ["User:monitor"]

[allow.peer]
1 = ["User:node1", "User:node1-new"]
2 = ["User:node2"]
3 = []
observers = ["User:mirror"]
"""


def rules(text: str = FILE) -> Rules:
    return Rules.parse(text, super_users=frozenset([SUPER]))


def allowed(caller: str, text: str = FILE) -> list[Operation]:
    """What a principal may do, other than speak as a node."""
    return [operation for operation in (READ, APPEND, DESCRIBE) if rules(text).allow(caller, operation)]


def peers(caller: str, text: str = FILE) -> list[int | str]:
    """The voters that a principal may speak as, and "observer"."""
    parsed = rules(text)
    voters: list[int | str] = [
        number for number in (1, 2, 3, 4) if parsed.allow_peer(caller, NodeId(number), is_voter=True)
    ]
    return voters + (["observer"] if parsed.allow_peer(caller, NodeId(9), is_voter=False) else [])


@pytest.mark.parametrize(
    ("caller", "operations", "nodes"),
    [
        ("User:reader", [READ, DESCRIBE], []),
        ("User:CN=a,O=b", [READ, DESCRIBE], []),
        ("User:writer", [APPEND, DESCRIBE], []),
        ("User:monitor", [DESCRIBE], []),
        ("User:node1", [READ, DESCRIBE], [1]),
        ("User:node1-new", [READ, DESCRIBE], [1]),
        ("User:node2", [READ, DESCRIBE], [2]),
        ("User:mirror", [READ, DESCRIBE], ["observer"]),
        pytest.param(SUPER, [READ, APPEND, DESCRIBE], [4, "observer"], id="a super user"),
        pytest.param("User:mallory", [], [], id="another one"),
        pytest.param("User:ANONYMOUS", [], [], id="a caller without a name"),
        pytest.param("User:Reader", [], [], id="in other letters"),
        pytest.param("reader", [], [], id="without its kind"),
    ],
)
@pytest.mark.rule("ACL-1", "ACL-2", "ACL-3")
def test_principal_may_do_what_the_rules_list(caller: str, operations: list[Operation], nodes: list[int | str]) -> None:
    assert allowed(caller) == operations
    assert peers(caller) == nodes


@pytest.mark.parametrize("caller", ["User:mallory", "User:ANONYMOUS", "User:*"])
@pytest.mark.parametrize(
    ("text", "operations", "nodes"),
    [
        pytest.param('allow.read = ["User:*"]', [READ, DESCRIBE], [], id="read"),
        pytest.param('allow.append = ["User:a", "User:*"]', [APPEND, DESCRIBE], [], id="append"),
        pytest.param('allow.describe = ["User:*"]', [DESCRIBE], [], id="describe"),
        pytest.param('allow.peer.observers = ["User:*"]', [READ, DESCRIBE], ["observer"], id="observers"),
    ],
)
@pytest.mark.rule("ACL-2", "ACL-3")
def test_everyone_may_do_what_is_listed_for_everyone(
    text: str, operations: list[Operation], nodes: list[int | str], caller: str
) -> None:
    assert allowed(caller, text) == operations
    assert peers(caller, text) == nodes


@pytest.mark.parametrize("text", ["", "[allow]", "[allow.peer]", "allow.read = []", "# nothing"])
@pytest.mark.rule("ACL-1")
def test_nothing_is_allowed_when_no_rule_says_so(text: str) -> None:
    assert allowed("User:reader", text) == []
    assert peers("User:reader", text) == []


@pytest.mark.rule("ACL-3")
def test_super_user_speaks_as_a_voter_only_if_it_has_no_principals() -> None:
    """Voter 3 has an empty list, so no principal may speak as it."""
    assert peers(SUPER) == [4, "observer"]
    assert peers(SUPER, 'allow.peer.4 = ["User:node4"]') == [1, 2, 3, "observer"]


@pytest.mark.rule("ACL-3")
def test_speaking_as_a_node_is_no_operation_of_a_list() -> None:
    assert not rules().allow("User:node1", PEER)
    assert not rules().allow("User:mirror", PEER)


@pytest.mark.parametrize("node_id", [0, 2_147_483_647])
def test_rule_names_any_node_id(node_id: int) -> None:
    parsed = rules(f'allow.peer.{node_id} = ["User:a"]')

    assert parsed.voters == {NodeId(node_id): frozenset(["User:a"])}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        pytest.param("allow", "the file is no TOML: ", id="no TOML"),
        pytest.param("[allow]\nread = []\nread = []", "the file is no TOML: Cannot overwrite", id="a key twice"),
        pytest.param(f"allow = {'[' * 5000}", "the file is no TOML: maximum recursion depth", id="nested too deep"),
        pytest.param(f"allow = {'9' * 5000}", "the file is no TOML: Exceeds the limit", id="a number of 5000 digits"),
        pytest.param("allow = 1", "allow is 1: expected a table of allow.read, allow.append, ", id="no table"),
        pytest.param("[allow]\npeer = []", "allow.peer is []: expected a table of ", id="no table of nodes"),
        pytest.param(f"allow.read{'.a' * 3000} = 1", "allow.read is {'a': {'a': ", id="a table of tables"),
        pytest.param("[deny]", "the file has the key deny: expected allow.read, allow.append, allow.desc", id="deny"),
        pytest.param("[allow]\nwrite = []", "the file has the key allow.write: expected allow.read, ", id="write"),
        pytest.param("[allow]\nReAd = []", "the file has the key allow.ReAd: expected ", id="other letters"),
        pytest.param(
            '[allow]\nread = "User:a"',
            "allow.read is 'User:a': expected a list of principals, such as [\"User:spark\"]",
            id="no list",
        ),
        pytest.param("[allow]\nread = [1]", "allow.read is [1]: expected a list of principals", id="a number"),
        pytest.param(
            '[allow]\nread = ["spark"]', "allow.read=spark: expected principals of the form User:<name>", id="no kind"
        ),
        pytest.param('[allow]\nread = ["User:"]', "allow.read=User:: expected principals of the form", id="no name"),
        pytest.param(
            '[allow.peer]\nobservers = ["a"]', "allow.peer.observers=a: expected principals of the form", id="observers"
        ),
        pytest.param(
            f'[allow.peer]\n1 = ["{EVERYONE}"]',
            "allow.peer.1 has User:*: expected the principal of that voter",
            id="everyone as a voter",
        ),
        *(
            pytest.param(
                f'[allow.peer]\n"{name}" = []',
                f"the file has the key allow.peer.{name}: expected ",
                id=name[:12] or "empty",
            )
            for name in ("one", "-1", "01", "1_0", "\N{ARABIC-INDIC DIGIT ONE}", "2147483648", "9" * 5000, "")
        ),
    ],
)
@pytest.mark.rule("ACL-1")
def test_malformed_rules_are_refused(text: str, message: str) -> None:
    with pytest.raises(ConfigError, match=f"^{re.escape(message)}"):
        rules(text)


def test_two_spellings_of_a_voter_do_not_hide_a_rule() -> None:
    """The last one would win, and the first principal could not speak as its voter."""
    with pytest.raises(ConfigError, match=r"allow\.peer\.01: expected "):
        rules('[allow.peer]\n1 = ["User:node1"]\n01 = ["User:mallory"]')
