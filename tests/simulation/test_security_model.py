"""The simulator's own model of SASL and of the rules: the runs compare the product with it."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from raft.codec import Message
from raft.security.operations import Operation
from raft.security.rules import Rules
from raft.types import NodeId
from raft.wire.apis import APIS, SASL_AUTHENTICATE, SASL_HANDSHAKE, api_of
from raft.wire.messages.api_versions import ApiVersionsRequest
from raft.wire.messages.fetch import FetchResponse, FetchResponsePartition, FetchResponseTopic
from raft.wire.messages.metadata import (
    MetadataRequest,
    MetadataResponse,
    MetadataResponseBroker,
    MetadataResponseTopic,
)
from raft.wire.messages.sasl import SaslAuthenticateRequest, SaslHandshakeRequest
from raft.wire.messages.update_raft_voter import UpdateRaftVoterResponse
from tests.simulation.dice import Dice
from tests.simulation.faultless import leader_of, run_a_while, secured_plan
from tests.simulation.faults.impostor_requests import IMPOSTURES
from tests.simulation.faults.intruder_requests import HARMFUL, HARMLESS, Insight
from tests.simulation.security.expected import Cause, ExpectedSession, Kind, Known
from tests.simulation.security.mechanisms import PLAIN, SCRAM
from tests.simulation.security.refusals import (
    NEEDS_A_RIGHT,
    errors_in,
    refusal_of,
    replica_named,
    what_is_revealed_by,
)
from tests.simulation.security.rights import EVERYONE, Permissions, Right, principal_of
from tests.simulation.world import World

_PERMISSIONS = Permissions(
    rights={
        "reader": frozenset((Right.READ,)),
        "writer": frozenset((Right.APPEND,)),
        "monitor": frozenset((Right.DESCRIBE,)),
    },
    voters={NodeId(1): "one", NodeId(2): "two"},
    observers=frozenset(("mirror",)),
    super_users=frozenset(("admin",)),
)
_USERS = ("reader", "writer", "monitor", "one", "two", "mirror", "admin", "nobody")
_VOTERS = (NodeId(1), NodeId(2), NodeId(3))


def _rules(permissions: Permissions) -> Rules:
    super_users = frozenset(map(principal_of, permissions.super_users))
    return Rules.parse(permissions.to_text(), super_users=super_users)


def _session(mechanism: str, **passwords: str) -> ExpectedSession:
    known = Known(
        passwords={"reader": "right", "writer": "also right"},
        removed=("gone",),
        permissions=_PERMISSIONS,
        voters=_VOTERS,
        mechanism=mechanism,
        max_reauth_ms=1_000,
    )
    return ExpectedSession(lambda: known, passwords)


def _plain(user: str, password: str) -> SaslAuthenticateRequest:
    return SaslAuthenticateRequest(auth_bytes=f"\0{user}\0{password}".encode())


_HANDSHAKE = SaslHandshakeRequest(mechanism=PLAIN)
_RIGHT = _plain("reader", "right")
_METADATA = MetadataRequest(topics=None)
_VERSIONS = ApiVersionsRequest()


@pytest.mark.rule("ACL-2")
@pytest.mark.parametrize("user", _USERS)
@pytest.mark.parametrize(
    "permissions",
    [
        pytest.param(_PERMISSIONS, id="own rights"),
        pytest.param(_PERMISSIONS.with_right(EVERYONE, Right.DESCRIBE), id="everyone describes"),
        pytest.param(_PERMISSIONS.without("reader", Right.READ), id="without a right"),
    ],
)
def test_rules_in_the_file_allow_the_same_as_the_model(permissions: Permissions, user: str) -> None:
    rules = _rules(permissions)

    allowed = {
        operation.value
        for operation in Operation
        if operation is not Operation.PEER and rules.allow(principal_of(user), operation)
    }

    assert allowed == {right.value for right in Right if permissions.may(user, right)}


@pytest.mark.rule("ACL-3")
@pytest.mark.parametrize("user", _USERS)
def test_rules_in_the_file_let_the_same_users_speak_as_nodes(user: str) -> None:
    rules, caller = _rules(_PERMISSIONS), principal_of(user)

    for node_id in (*_VOTERS, NodeId(4)):
        is_voter = node_id in _VOTERS
        allowed = rules.allow_peer(caller, node_id, is_voter=is_voter)
        assert allowed == _PERMISSIONS.may_speak_as(user, node_id, is_voter=is_voter)


def test_super_user_speaks_only_as_the_voter_without_a_user() -> None:
    allowed = [voter for voter in _VOTERS if _PERMISSIONS.may_speak_as("admin", voter, is_voter=True)]

    assert allowed == [NodeId(3)]


@pytest.mark.rule("AUTH-4", "AUTH-5", "AUTH-6", "AUTH-9")
@pytest.mark.parametrize(
    ("requests", "kinds", "why"),
    [
        pytest.param([_VERSIONS, _HANDSHAKE, _RIGHT, _METADATA], "SAAS", None, id="right password"),
        pytest.param([_METADATA, _METADATA], "EI", Cause.NOT_AUTHENTICATED, id="no SASL"),
        pytest.param([_HANDSHAKE, _METADATA], "AE", Cause.PROVING, id="in the middle"),
        pytest.param([_HANDSHAKE, _VERSIONS], "AE", Cause.PROVING, id="ApiVersions in the middle"),
        pytest.param([_RIGHT], "E", Cause.OUT_OF_ORDER, id="no handshake"),
        pytest.param([_HANDSHAKE, _HANDSHAKE], "AE", Cause.OUT_OF_ORDER, id="two handshakes"),
        pytest.param([_VERSIONS] * 17, "S" * 16 + "E", Cause.TOO_MANY, id="17 requests"),
        pytest.param(
            [*[_VERSIONS] * 14, _HANDSHAKE, _RIGHT, _HANDSHAKE, _RIGHT], "S" * 14 + "AAAA", None, id="counted anew"
        ),
        pytest.param([SaslHandshakeRequest(mechanism=SCRAM)], "E", Cause.MECHANISM, id="other mechanism"),
        pytest.param([_HANDSHAKE, _plain("reader", "wrong")], "AE", Cause.WRONG_PROOF, id="wrong password"),
        pytest.param([_HANDSHAKE, _plain("other", "right")], "AE", Cause.WRONG_PROOF, id="unknown user"),
        pytest.param([_HANDSHAKE, _plain("gone", "right")], "AE", Cause.REMOVED_USER, id="removed user"),
        pytest.param([_HANDSHAKE, _RIGHT, _HANDSHAKE, _RIGHT, _METADATA], "AAAAS", None, id="again"),
        pytest.param(
            [_HANDSHAKE, _RIGHT, _HANDSHAKE, _plain("writer", "also right")], "AAAE", Cause.OTHER_USER, id="other user"
        ),
    ],
)
def test_model_says_what_becomes_of_requests_in_this_order(
    requests: Sequence[Message], kinds: str, why: Cause | None
) -> None:
    session = _session(PLAIN)

    expected = [session.expect(request, 1, now_ms=0) for request in requests]

    assert "".join(each.kind.name[0] for each in expected) == kinds
    assert [each.why for each in expected if each.kind is Kind.END] == ([] if why is None else [why])


@pytest.mark.rule("AUTH-9")
@pytest.mark.parametrize(("now_ms", "kind"), [(999, Kind.SERVE), (1_000, Kind.END)])
def test_model_ends_a_connection_when_its_session_is_over(now_ms: int, kind: Kind) -> None:
    session = _session(PLAIN)
    for request in (_HANDSHAKE, _RIGHT):
        session.expect(request, 1, now_ms=0)

    assert session.expect(_METADATA, 1, now_ms=now_ms).kind is kind


@pytest.mark.rule("AUTH-8")
@pytest.mark.parametrize(
    ("passwords", "why"),
    [
        pytest.param({"reader": "right"}, None, id="right password"),
        pytest.param({"reader": "wrong"}, Cause.WRONG_PROOF, id="wrong password"),
        pytest.param({}, Cause.REPLAYED_PROOF, id="old messages"),
    ],
)
def test_model_knows_a_proof_of_scram_by_what_the_client_knows(passwords: dict[str, str], why: Cause | None) -> None:
    session = _session(SCRAM, **passwords)
    session.expect(SaslHandshakeRequest(mechanism=SCRAM), 1, now_ms=0)
    session.expect(SaslAuthenticateRequest(auth_bytes=b"n,,n=reader,r=nonce"), 2, now_ms=0)

    expected = session.expect(SaslAuthenticateRequest(auth_bytes=b"c=biws,r=nonce,p=proof"), 2, now_ms=0)

    assert expected.why is why
    assert session.is_proved == (why is None)


def test_intruders_have_requests_of_every_api() -> None:
    world = World(secured_plan(PLAIN), max_log_lines=0)
    world.begin()
    run_a_while(world)
    plan = world.plan
    insight = Insight(
        core=leader_of(world).core, voters=plan.voters, nodes=(*plan.voters, *plan.observers), dice=Dice(1, "any")
    )

    drafts = [new_draft(insight) for new_draft in (*HARMFUL, *HARMLESS)]
    impostures = [new_draft(insight, NodeId(2)) for new_draft in IMPOSTURES]

    of_sasl = {SASL_HANDSHAKE.key, SASL_AUTHENTICATE.key}
    assert {api_of(message).key for message, _ in (*drafts, *impostures)} == APIS.keys() - of_sasl
    assert {replica_named(*draft) for draft in impostures} == {NodeId(2)}
    assert all(replica_named(*draft) is None for draft in drafts)
    refused = {
        type(message)
        for message, version in (*drafts, *impostures)
        if refusal_of(message, version, user="nobody", permissions=_PERMISSIONS, voters=_VOTERS)
    }
    assert refused == set(NEEDS_A_RIGHT)


@pytest.mark.parametrize(
    ("response", "errors", "revealed"),
    [
        pytest.param(UpdateRaftVoterResponse(error_code=31), [31], None, id="refused"),
        pytest.param(
            FetchResponse(
                responses=(
                    FetchResponseTopic(
                        partitions=(
                            FetchResponsePartition(partition_index=0, error_code=29, high_watermark=5, records=b""),
                        )
                    ),
                )
            ),
            [0, 29],
            "high_watermark=5",
            id="high watermark",
        ),
        pytest.param(
            FetchResponse(
                responses=(
                    FetchResponseTopic(
                        partitions=(
                            FetchResponsePartition(partition_index=0, error_code=29, high_watermark=-1, records=b"abc"),
                        )
                    ),
                )
            ),
            [0, 29],
            "3 bytes of records",
            id="records",
        ),
        pytest.param(
            MetadataResponse(
                brokers=(MetadataResponseBroker(node_id=1, host="node-1", port=9001),),
                topics=(MetadataResponseTopic(error_code=0, name="topic", partitions=()),),
            ),
            [0, 0],
            "topic topic",
            id="topic",
        ),
    ],
)
def test_what_a_refusal_reveals_is_found(response: Message, errors: list[int], revealed: str | None) -> None:
    assert sorted(errors_in(response)) == errors
    assert what_is_revealed_by(response) == revealed
