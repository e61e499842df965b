"""Who may speak as which replica: a request in the name of a voter or an observer from another principal is refused."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest

from raft.codec import Message
from raft.errors import ErrorCode
from raft.runtime.caller import ANONYMOUS
from raft.runtime.drop_cause import DropCause
from raft.security.operations import Operation
from raft.wire.messages.fetch import FetchResponse
from tests.node.harness.requests import fetch_request, fetched
from tests.runtime.guarded_node import GuardedNode
from tests.runtime.requests_of_replicas import (
    HIGH_EPOCH,
    OF_REPLICAS,
    OF_VOTERS,
    OLD_EPOCH,
    REFUSED,
    Request,
    fetch_as,
    snapshot_request,
    vote_request,
)

ROOT = "User:root"
OTHER_NODE = 9
RULES = """
[allow]
read = ["User:reader", "User:*"]

[allow.peer]
1 = ["User:node1"]
2 = ["User:node2", "User:node2-new"]
observers = ["User:mirror"]
"""


@pytest.fixture
def node() -> GuardedNode:
    return GuardedNode(RULES, super_users=frozenset([ROOT]))


def is_allowed(node: GuardedNode, principal: str, request: Message, version: int) -> bool:
    """Whether a request is handled. If not, the response says only that, and nothing has changed."""
    before = state_of(node)
    refused_before = node.context.unauthorized[Operation.PEER]
    response = node.ask(principal, request, version)
    is_refused = getattr(response, "error_code", None) == REFUSED
    if is_refused:
        assert state_of(node) == before
    assert node.context.unauthorized[Operation.PEER] == refused_before + is_refused
    return not is_refused


def state_of(node: GuardedNode) -> object:
    core = node.voter.core
    return core.role, core.epoch, core.high_watermark, core.log.end_offset


@pytest.mark.parametrize(
    ("name", "principals"),
    [
        pytest.param(1, {"User:node1"}, id="this node"),
        pytest.param(2, {"User:node2", "User:node2-new"}, id="a voter with two principals"),
        pytest.param(3, {ROOT}, id="a voter without a rule"),
    ],
)
@pytest.mark.parametrize(("make", "version", "_refusal"), [*OF_VOTERS, *OF_REPLICAS])
@pytest.mark.rule("ACL-3", "COMPAT-8")
def test_only_the_principals_of_a_voter_speak_as_that_voter(
    node: GuardedNode, make: Request, version: int, _refusal: Message, name: int, principals: set[str]
) -> None:
    everyone = [
        "User:node1",
        "User:node2",
        "User:node2-new",
        "User:mirror",
        "User:reader",
        "User:node3",
        ROOT,
        ANONYMOUS,
    ]

    allowed = {each for each in everyone if is_allowed(node, each, make([name], OLD_EPOCH), version)}

    assert allowed == principals


@pytest.mark.parametrize(("make", "version", "_refusal"), OF_REPLICAS)
@pytest.mark.rule("ACL-3")
def test_only_principals_of_observers_fetch_as_another_node(
    node: GuardedNode, make: Request, version: int, _refusal: Message
) -> None:
    allowed = {
        each
        for each in ("User:mirror", ROOT, "User:node1", "User:reader", ANONYMOUS)
        if is_allowed(node, each, make([OTHER_NODE], OLD_EPOCH), version)
    }

    assert allowed == {"User:mirror", ROOT}


@pytest.mark.rule("ACL-3")
def test_snapshot_is_not_for_clients_without_a_replica_id(node: GuardedNode) -> None:
    allowed = {
        each
        for each in ("User:mirror", ROOT, "User:node1", "User:reader", ANONYMOUS)
        if is_allowed(node, each, snapshot_request([-1], OLD_EPOCH), 1)
    }

    assert allowed == {"User:mirror", ROOT}


@pytest.mark.parametrize("replica_id", [-1, -2])
@pytest.mark.rule("ACL-2", "ACL-3")
def test_fetch_without_the_id_of_a_replica_is_that_of_a_reader(node: GuardedNode, replica_id: int) -> None:
    request = replace(fetch_request(0), replica_id=replica_id)

    by_rule = node.ask("User:node1", request, 12)
    node.change_rules("")
    without_rule = node.ask("User:node1", request, 12)

    assert isinstance(by_rule, FetchResponse)
    assert isinstance(without_rule, FetchResponse)
    assert fetched(by_rule).error_code == ErrorCode.NONE
    assert fetched(without_rule).error_code == ErrorCode.TOPIC_AUTHORIZATION_FAILED


@pytest.mark.parametrize("name", [OTHER_NODE, -1])
@pytest.mark.parametrize(("make", "version", "refusal"), OF_VOTERS)
@pytest.mark.rule("ACL-3")
def test_principal_of_an_observer_does_not_take_part_in_elections(
    node: GuardedNode, make: Request, version: int, refusal: Message, name: int
) -> None:
    before = state_of(node)

    assert node.ask("User:mirror", make([name], HIGH_EPOCH), version) == refusal
    assert state_of(node) == before


@pytest.mark.parametrize("name", [1, 2, 3])
@pytest.mark.parametrize(("make", "version", "refusal"), [*OF_VOTERS, *OF_REPLICAS])
@pytest.mark.rule("ACL-3")
def test_refusal_is_an_error_of_the_whole_response_and_changes_nothing(
    node: GuardedNode, make: Request, version: int, refusal: Message, name: int, caplog: pytest.LogCaptureFixture
) -> None:
    before = state_of(node)
    request = make([name], HIGH_EPOCH)

    response = node.ask("User:reader", request, version)

    assert response == refusal
    assert state_of(node) == before
    (line,) = caplog.messages
    what = f"refused {type(request).__name__} in the name of node {name}"
    assert line == f"node 1: {what}: User:reader is not allowed to peer; address=192.0.2.1"


@pytest.mark.parametrize(
    ("principal", "names", "allowed"),
    [
        pytest.param("User:node1", [1], True, id="itself"),
        pytest.param("User:node1", [1, 1], True, id="itself twice"),
        pytest.param("User:node1", [1, 2], False, id="itself and another one"),
        pytest.param("User:node1", [2, 1], False, id="another one and itself"),
        pytest.param("User:both", [1, 2], True, id="both, with one principal"),
        pytest.param("User:both", [], False, id="no node"),
        pytest.param(ROOT, [], False, id="no node, as super user"),
    ],
)
@pytest.mark.parametrize(("make", "version", "_refusal"), OF_VOTERS[:3])
@pytest.mark.rule("ACL-3")
def test_request_in_several_names_needs_the_right_to_each(
    node: GuardedNode,
    make: Request,
    version: int,
    _refusal: Message,
    principal: str,
    names: Sequence[int],
    allowed: bool,
) -> None:
    node.change_rules('[allow.peer]\n1 = ["User:node1", "User:both"]\n2 = ["User:both"]')

    assert is_allowed(node, principal, make(names, OLD_EPOCH), version) == allowed


@pytest.mark.parametrize(("make", "version", "refusal"), [*OF_VOTERS, *OF_REPLICAS])
@pytest.mark.rule("CALLER-1")
def test_voter_itself_is_refused_on_a_listener_for_clients(
    node: GuardedNode, make: Request, version: int, refusal: Message, caplog: pytest.LogCaptureFixture
) -> None:
    before = state_of(node)
    caller = node.caller("User:node2", is_for_clients=True)

    response = node.ask(caller, make([2], HIGH_EPOCH), version)

    assert response == refusal
    assert state_of(node) == before
    assert "in the name of node 2 on a listener for clients; address=192.0.2.1" in caplog.text


@pytest.mark.parametrize(("make", "version", "_refusal"), OF_REPLICAS)
@pytest.mark.rule("CALLER-1")
def test_observer_fetches_on_a_listener_for_clients(
    node: GuardedNode, make: Request, version: int, _refusal: Message
) -> None:
    caller = node.caller("User:mirror", is_for_clients=True)

    assert getattr(node.ask(caller, make([OTHER_NODE], 1), version), "error_code", None) != REFUSED


@pytest.mark.parametrize(
    ("principal", "name", "is_from_peer"),
    [("User:node2", 2, True), ("User:mirror", OTHER_NODE, False), ("User:node1", 2, False)],
)
def test_connection_is_that_of_a_voter_once_a_request_in_its_name_was_accepted(
    node: GuardedNode, principal: str, name: int, is_from_peer: bool
) -> None:
    respond = node.begin(principal, fetch_as([name], OLD_EPOCH), 12)

    assert respond.is_from_peer is is_from_peer


@pytest.mark.parametrize(
    ("name", "closed"),
    [
        pytest.param(2, None, id="its own address"),
        pytest.param(
            1,
            ("VoteRequest in the name of node 1 came from another node's address", DropCause.WRONG_ADDRESS),
            id="an address of another voter",
        ),
    ],
)
@pytest.mark.rule("CALLER-2")
def test_principal_of_a_voter_is_accepted_from_its_address_only_where_that_is_configured(
    name: int, closed: tuple[str, DropCause] | None
) -> None:
    node = GuardedNode(RULES, verifies_addresses=True)

    respond = node.begin(f"User:node{name}", vote_request([name], OLD_EPOCH), 2)

    assert respond.closed == closed
    assert bool(respond.sent) is (closed is None)


@pytest.mark.parametrize(("make", "version", "_refusal"), [*OF_VOTERS, *OF_REPLICAS])
def test_every_caller_may_speak_as_every_replica_when_there_are_no_rules(
    make: Request, version: int, _refusal: Message
) -> None:
    node = GuardedNode(None)

    assert all(is_allowed(node, ANONYMOUS, make([name], OLD_EPOCH), version) for name in (1, 2, OTHER_NODE))
