"""Consumer groups and transactions are not supported: the client's call ends with an error."""

from __future__ import annotations

import pytest

from raft.errors import ErrorCode
from raft.wire.apis import FIND_COORDINATOR, JOIN_GROUP
from raft.wire.messages.find_coordinator import GROUP, TRANSACTION, FindCoordinatorRequest, FindCoordinatorResponse
from raft.wire.messages.join_group import JoinGroupRequest, JoinGroupResponse
from tests.node.harness.loop import NodesInProcess
from tests.node.harness.properties import voters_properties

SHARE = 2
FIRST_WITH_TYPE = 1
FIRST_WITH_SEVERAL_KEYS = 4

pytestmark = pytest.mark.rule("CLIENT-14")


def find(
    nodes: NodesInProcess, version: int, *keys: str, key_type: int = GROUP
) -> list[tuple[str, int, str, int, int, str | None]]:
    """Key, node id, host, port, error and its message, for each key."""
    asked = {"coordinator_keys": keys} if version >= FIRST_WITH_SEVERAL_KEYS else {"key": keys[0]}
    request = FindCoordinatorRequest(key_type=key_type, **asked)
    with nodes.wire(1) as wire:
        response = wire.ask(request, version, FindCoordinatorResponse)
    if version < FIRST_WITH_SEVERAL_KEYS:
        return [
            (
                keys[0],
                response.node_id,
                response.host,
                response.port,
                response.error_code,
                response.error_message or None,
            )
        ]
    return [
        (found.key, found.node_id, found.host, found.port, found.error_code, found.error_message)
        for found in response.coordinators
    ]


@pytest.mark.parametrize("version", [*FIND_COORDINATOR.versions])
def test_node_names_itself_as_coordinator_of_a_group(alone: NodesInProcess, version: int) -> None:
    here = alone.endpoint(1)

    assert find(alone, version, "mine") == [("mine", 1, here.host, here.port, ErrorCode.NONE, None)]


@pytest.mark.parametrize("version", [version for version in FIND_COORDINATOR.versions if version >= FIRST_WITH_TYPE])
@pytest.mark.parametrize(
    ("key_type", "error", "words"),
    [
        (TRANSACTION, ErrorCode.CLUSTER_AUTHORIZATION_FAILED, "refuses transactions, because raft.records.strict"),
        (SHARE, ErrorCode.INVALID_REQUEST, "key type 2 is not supported"),
    ],
)
def test_other_coordinators_are_refused_in_words(
    strict_about_records: NodesInProcess, version: int, key_type: int, error: ErrorCode, words: str
) -> None:
    ((key, node_id, host, port, code, message),) = find(strict_about_records, version, "mine", key_type=key_type)

    assert (key, node_id, host, port, code) == ("mine", -1, "", -1, error)
    assert words in (message or "")


@pytest.mark.parametrize("version", [version for version in FIND_COORDINATOR.versions if version >= FIRST_WITH_TYPE])
def test_leader_is_the_coordinator_of_transactions(three: NodesInProcess, version: int) -> None:
    leader = three.wait_for_leader()
    there = three.endpoint(leader)

    found = find(three, version, "mine", key_type=TRANSACTION)

    assert found == [("mine", leader, there.host, there.port, ErrorCode.NONE, None)]


def test_coordinator_of_transactions_is_not_available_while_no_leader_is_known(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    with NodesInProcess(voters_properties(tmp_path_factory.mktemp("no leader"))) as nodes:
        nodes.start(1)
        found = find(nodes, 4, "mine", key_type=TRANSACTION)

    assert found == [("mine", -1, "", -1, ErrorCode.COORDINATOR_NOT_AVAILABLE, None)]


def test_response_has_each_of_several_keys_once(alone: NodesInProcess) -> None:
    found = find(alone, FIRST_WITH_SEVERAL_KEYS, "a", "b", "a")

    assert [key for key, *_ in found] == ["a", "b"]


@pytest.mark.parametrize("version", [*JOIN_GROUP.versions])
def test_node_refuses_to_join_a_group(alone: NodesInProcess, version: int) -> None:
    request = JoinGroupRequest(
        group_id="mine", session_timeout_ms=10_000, member_id="", protocol_type="consumer", protocols=()
    )
    with alone.wire(1) as wire:
        response = wire.ask(request, version, JoinGroupResponse)

    assert (response.error_code, response.members) == (ErrorCode.UNSUPPORTED_VERSION, ())
