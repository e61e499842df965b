"""Metadata: every caller gets the addresses of the nodes, but only who may describe the topic sees it."""

from __future__ import annotations

from collections.abc import Iterable

import pytest

from raft.errors import ErrorCode
from raft.runtime.caller import ANONYMOUS
from raft.security.operations import Operation
from raft.types import ZERO_UUID, Uuid
from raft.wire.apis import METADATA
from raft.wire.messages.metadata import (
    MetadataRequest,
    MetadataRequestTopic,
    MetadataResponse,
    MetadataResponseTopic,
)
from tests.node.harness.properties import TOPIC
from tests.node.harness.requests import OTHER_TOPIC_ID, TOPIC_ID
from tests.runtime.guarded_node import GuardedNode

REFUSED = ErrorCode.TOPIC_AUTHORIZATION_FAILED
RULES = """
[allow]
read = ["User:reader"]
append = ["User:writer"]
describe = ["User:monitor"]

[allow.peer]
2 = ["User:node2"]
observers = ["User:mirror"]
"""
NODES = [(1, "localhost", 9093), (2, "two", 9093), (3, "three", 9093)]
FIRST_BY_NULL, FIRST_BY_ID, LAST = 1, 12, METADATA.versions.highest


@pytest.fixture
def node() -> GuardedNode:
    return GuardedNode(RULES, super_users=frozenset(["User:root"]))


def asked(
    node: GuardedNode, principal: str, topics: Iterable[MetadataRequestTopic] | None, version: int
) -> MetadataResponse:
    """The response, which has the addresses of all nodes."""
    request = MetadataRequest(topics=None if topics is None else tuple(topics))
    response = node.ask(principal, request, version)
    assert isinstance(response, MetadataResponse)
    assert [(each.node_id, each.host, each.port) for each in response.brokers] == NODES
    return response


def by_name(*names: str) -> list[MetadataRequestTopic]:
    return [MetadataRequestTopic(name=name) for name in names]


def by_id(*ids: Uuid) -> list[MetadataRequestTopic]:
    return [MetadataRequestTopic(name=None, topic_id=each) for each in ids]


def shown(response: MetadataResponse) -> list[tuple[int, str | None, Uuid]]:
    return [(topic.error_code, topic.name, topic.topic_id) for topic in response.topics]


@pytest.mark.parametrize(
    ("principal", "is_shown"),
    [
        ("User:reader", True),
        ("User:writer", True),
        ("User:monitor", True),
        ("User:node2", True),
        ("User:mirror", True),
        ("User:root", True),
        ("User:unknown", False),
        (ANONYMOUS, False),
    ],
)
@pytest.mark.parametrize(
    ("topics", "version", "refusal"),
    [
        pytest.param(None, FIRST_BY_NULL, None, id="all topics"),
        pytest.param((), 0, None, id="all topics, in the oldest version"),
        pytest.param(by_name(TOPIC), LAST, (REFUSED, TOPIC, ZERO_UUID), id="by name"),
        pytest.param(by_name(TOPIC), 0, (REFUSED, TOPIC, ZERO_UUID), id="by name, in the oldest version"),
        pytest.param(by_id(TOPIC_ID), FIRST_BY_ID, (REFUSED, None, TOPIC_ID), id="by id"),
    ],
)
@pytest.mark.rule("ACL-5")
def test_topic_is_shown_only_to_callers_that_may_describe_it(
    node: GuardedNode,
    topics: list[MetadataRequestTopic] | None,
    version: int,
    refusal: tuple[int, str | None, Uuid] | None,
    principal: str,
    is_shown: bool,
) -> None:
    response = asked(node, principal, topics, version)

    ours = (ErrorCode.NONE, TOPIC, TOPIC_ID if version >= 10 else ZERO_UUID)
    hidden = [] if refusal is None else [refusal]
    assert shown(response) == ([ours] if is_shown else hidden)
    assert node.context.unauthorized == ({} if is_shown else {Operation.DESCRIBE: 1})


@pytest.mark.rule("ACL-5")
def test_refusal_does_not_tell_which_topics_exist(node: GuardedNode) -> None:
    names = asked(node, "User:unknown", by_name(TOPIC, "other"), LAST)
    ids = asked(node, "User:unknown", by_id(TOPIC_ID, OTHER_TOPIC_ID), LAST)

    assert shown(names) == [(REFUSED, TOPIC, ZERO_UUID), (REFUSED, "other", ZERO_UUID)]
    assert shown(ids) == [(REFUSED, None, TOPIC_ID), (REFUSED, None, OTHER_TOPIC_ID)]


@pytest.mark.rule("ACL-5")
def test_refused_topic_has_no_partitions(node: GuardedNode) -> None:
    (topic,) = asked(node, "User:unknown", by_name(TOPIC), 9).topics

    assert topic == MetadataResponseTopic(error_code=REFUSED, name=TOPIC, partitions=())


@pytest.mark.parametrize("version", [10, 11])
def test_topic_that_is_requested_by_id_is_refused_in_versions_whose_response_needs_a_name(
    node: GuardedNode, version: int
) -> None:
    assert shown(asked(node, "User:unknown", by_id(TOPIC_ID), version)) == [(REFUSED, "", TOPIC_ID)]


@pytest.mark.rule("ACL-5", "ACL-6")
def test_request_for_the_nodes_alone_is_no_refusal(node: GuardedNode, caplog: pytest.LogCaptureFixture) -> None:
    response = asked(node, "User:unknown", (), LAST)

    assert response.topics == ()
    assert not node.context.unauthorized
    assert caplog.messages == []
