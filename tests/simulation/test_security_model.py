"""The simulator's own model of SASL: the runs compare the product with it."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from raft.codec import Message
from raft.security.rules import Rules
from raft.types import NodeId
from raft.wire.apis import APIS, SASL_AUTHENTICATE, SASL_HANDSHAKE, api_of
from raft.wire.messages.api_versions import ApiVersionsRequest
from raft.wire.messages.metadata import (
    MetadataRequest,
)
from raft.wire.messages.sasl import SaslAuthenticateRequest, SaslHandshakeRequest
from tests.simulation.dice import Dice
from tests.simulation.faultless import leader_of, run_a_while, secured_plan
from tests.simulation.faults.impostor_requests import IMPOSTURES
from tests.simulation.faults.intruder_requests import HARMFUL, HARMLESS, Insight
from tests.simulation.security.expected import Cause, ExpectedSession, Kind, Known
from tests.simulation.security.mechanisms import PLAIN, SCRAM
from tests.simulation.world import World

_VOTERS = (NodeId(1), NodeId(2), NodeId(3))


def _session(mechanism: str, **passwords: str) -> ExpectedSession:
    known = Known(
        passwords={"reader": "right", "writer": "also right"},
        removed=("gone",),
        rules=Rules.parse('allow.read = ["User:reader"]', super_users=frozenset()),
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
