"""Which operation each request of a client needs, and the response of its API to a caller that may not send it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields
from typing import Any

import pytest

from raft.codec import Message
from raft.errors import ErrorCode
from raft.runtime.caller import ANONYMOUS
from raft.runtime.requests.served import SERVED
from raft.security.operations import Operation
from raft.wire.apis import METADATA
from tests.node.harness.batches import batch_of
from tests.node.harness.requests import produce_request
from tests.runtime.guarded_node import GuardedNode
from tests.runtime.guarded_requests import GuardedRequest, guarded_requests
from tests.runtime.requests_of_replicas import BY_REPLICAS, BY_VOTERS

RULES = """
[allow]
read = ["User:reader"]
append = ["User:writer"]
describe = ["User:monitor"]

[allow.peer]
1 = ["User:voter"]
observers = ["User:observer"]
"""
ROOT = "User:root"
ALLOWED = {
    "User:reader": {Operation.READ, Operation.DESCRIBE},
    "User:writer": {Operation.APPEND, Operation.DESCRIBE},
    "User:monitor": {Operation.DESCRIBE},
    "User:voter": {Operation.READ, Operation.DESCRIBE},
    "User:observer": {Operation.READ, Operation.DESCRIBE},
    "User:unknown": set(),
    ANONYMOUS: set(),
    ROOT: {Operation.READ, Operation.APPEND, Operation.DESCRIBE},
}
REFUSALS = {
    ErrorCode.TOPIC_AUTHORIZATION_FAILED,
    ErrorCode.CLUSTER_AUTHORIZATION_FAILED,
    ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
}
GUARDED = [each for each in guarded_requests() if each.needs is not None]


@pytest.fixture
def node() -> GuardedNode:
    return GuardedNode(RULES, super_users=frozenset([ROOT]))


def error_codes(part: object) -> Iterator[int]:
    """All error codes in a response, at any depth."""
    if isinstance(part, tuple):
        for each in part:
            yield from error_codes(each)
    elif isinstance(part, Message):
        for name in (known.name for known in fields(part)):
            value: Any = getattr(part, name)
            if name.endswith("error_code"):
                yield value
            else:
                yield from error_codes(value)


def is_refusal(response: Message) -> bool:
    return not REFUSALS.isdisjoint(error_codes(response))


@pytest.mark.rule("ACL-2", "ACL-3")
def test_each_request_that_needs_a_right_is_in_a_table_of_these_tests() -> None:
    """Metadata, which everyone may send, and SASL, which is handled before, have tests of their own."""
    of_clients = {type(each.request) for each in guarded_requests()}
    of_replicas = {type(case.make([1], 0)) for case in (*BY_VOTERS.values(), *BY_REPLICAS.values())}

    assert of_clients | of_replicas | {METADATA.request} == SERVED.keys()
    assert {type(each.request) for each in GUARDED} == {kind for kind, row in SERVED.items() if row.right is not None}
    assert of_replicas == {kind for kind, row in SERVED.items() if row.senders is not None}


@pytest.mark.parametrize("principal", ALLOWED)
@pytest.mark.parametrize("guarded", guarded_requests(), ids=str)
@pytest.mark.rule("ACL-1", "ACL-2")
def test_request_is_handled_only_for_callers_with_its_operation(
    node: GuardedNode, guarded: GuardedRequest, principal: str
) -> None:
    response = node.ask(principal, guarded.request, guarded.version)

    assert is_refusal(response) == (guarded.needs is not None and guarded.needs not in ALLOWED[principal])


@pytest.mark.parametrize("guarded", GUARDED, ids=str)
@pytest.mark.rule("ACL-4")
def test_refusal_is_the_response_that_a_broker_of_kafka_sends(node: GuardedNode, guarded: GuardedRequest) -> None:
    end_before = node.voter.core.log.end_offset

    response = node.ask("User:unknown", guarded.request, guarded.version)

    assert response == guarded.refusal
    assert node.voter.core.log.end_offset == end_before
    assert node.context.unauthorized == {guarded.needs: 1}


@pytest.mark.parametrize("guarded", GUARDED, ids=str)
@pytest.mark.rule("ACL-4")
def test_refusal_has_an_error_code_in_every_version(node: GuardedNode, guarded: GuardedRequest) -> None:
    asked = 0
    for version in guarded.versions:
        assert is_refusal(node.ask("User:unknown", guarded.request, version)), f"version {version}"
        asked += 1

    assert asked == node.context.unauthorized[guarded.needs or Operation.READ]


@pytest.mark.parametrize("principal", ["User:unknown", "User:writer"])
@pytest.mark.rule("ACL-4")
def test_produce_without_acknowledgement_gets_no_response_and_changes_nothing_unless_it_is_allowed(
    node: GuardedNode, principal: str
) -> None:
    end_before = node.voter.core.log.end_offset

    respond = node.begin(principal, produce_request(batch_of(b"x"), acks=0), 9)

    is_allowed = principal == "User:writer"
    assert (respond.sent, respond.closed) == ([None], None)
    assert node.voter.core.log.end_offset == end_before + is_allowed
    assert node.context.unauthorized == ({} if is_allowed else {Operation.APPEND: 1})


@pytest.mark.parametrize("guarded", guarded_requests(), ids=str)
@pytest.mark.rule("ACL-1")
def test_every_request_is_handled_for_every_caller_when_there_are_no_rules(guarded: GuardedRequest) -> None:
    node = GuardedNode(None)

    assert not is_refusal(node.ask(ANONYMOUS, guarded.request, guarded.version))
    assert not node.context.unauthorized


@pytest.mark.parametrize("guarded", GUARDED, ids=str)
@pytest.mark.rule("ACL-1")
def test_every_request_is_refused_when_there_are_super_users_and_no_rules(guarded: GuardedRequest) -> None:
    node = GuardedNode("", super_users=frozenset([ROOT]))

    assert is_refusal(node.ask("User:reader", guarded.request, guarded.version))
    assert not is_refusal(node.ask(ROOT, guarded.request, guarded.version))


@pytest.mark.parametrize("principal", [ANONYMOUS, "User:anyone"])
def test_rule_for_everyone_covers_callers_with_and_without_a_name(principal: str) -> None:
    node = GuardedNode('[allow]\nread = ["User:*"]')

    refused = {str(each) for each in GUARDED if is_refusal(node.ask(principal, each.request, each.version))}

    assert refused == {str(each) for each in GUARDED if each.needs is Operation.APPEND}


def test_each_request_is_judged_by_the_rules_of_that_moment(node: GuardedNode) -> None:
    caller = node.caller("User:unknown")
    (guarded,) = (each for each in GUARDED if str(each) == "ListOffsetsRequest-v7")

    refused = []
    for rules in (RULES, RULES.replace("reader", "unknown"), RULES):
        node.change_rules(rules)
        refused.append(is_refusal(node.ask(caller, guarded.request, guarded.version)))

    assert refused == [True, False, True]


@pytest.mark.rule("ACL-6")
def test_refusals_are_counted_and_logged_once_in_a_while(node: GuardedNode, caplog: pytest.LogCaptureFixture) -> None:
    request = produce_request(batch_of(b"the value of a record"))
    for _ in range(3):
        node.ask("User:reader", request, 9)
    node.voter.wait(10_000)
    node.ask("User:reader", request, 9)

    assert node.context.unauthorized == {Operation.APPEND: 4}
    line = "node 1: refused ProduceRequest: User:reader is not allowed to append; address=192.0.2.1"
    assert caplog.messages == [line, f"{line} (suppressed 2 repetitions)"]
