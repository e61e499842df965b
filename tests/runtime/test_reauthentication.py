"""Sessions that end, and clients that prove their name again on the same connection (KIP-368)."""

from __future__ import annotations

import pytest

from raft.codec import Message
from raft.errors import ErrorCode
from raft.runtime.drop_cause import DropCause
from raft.security.outcomes import AuthenticationOutcome
from raft.security.sasl_session import MAX_REQUESTS
from raft.wire.messages.api_versions import ApiVersionsRequest
from raft.wire.messages.metadata import MetadataRequest, MetadataResponse
from raft.wire.messages.sasl import SaslAuthenticateResponse, SaslHandshakeResponse
from tests.runtime.guarded_node import GuardedNode
from tests.runtime.sasl_caller import MECHANISMS, SaslCaller, authenticator, counted, end_of

SCRAM = "SCRAM-SHA-512"
LIFETIME_MS = 60_000
METADATA = MetadataRequest(topics=())


@pytest.fixture
def node() -> GuardedNode:
    return GuardedNode(None)


@pytest.fixture
def caller(node: GuardedNode) -> SaslCaller:
    """A caller whose name is proved."""
    caller = SaslCaller(node, max_reauth_ms=LIFETIME_MS)
    caller.prove(authenticator(SCRAM))
    return caller


@pytest.mark.rule("AUTH-9")
def test_last_response_names_the_lifetime_of_the_session(node: GuardedNode) -> None:
    caller = SaslCaller(node, max_reauth_ms=LIFETIME_MS)

    assert caller.prove(authenticator(SCRAM)).session_lifetime_ms == LIFETIME_MS


@pytest.mark.rule("AUTH-9")
def test_request_after_the_end_of_the_session_closes_the_connection(node: GuardedNode, caller: SaslCaller) -> None:
    node.voter.wait(LIFETIME_MS - 1)
    assert isinstance(caller.ask(METADATA, 9), MetadataResponse)

    node.voter.wait(1)
    respond = caller.begin(METADATA, 9)

    assert respond.sent == []
    assert respond.closed == ("its session has expired (connections.max.reauth.ms)", DropCause.EXPIRED_SESSION)
    assert counted(node) == {AuthenticationOutcome.SUCCESSFUL: 1, AuthenticationOutcome.EXPIRED: 1}


def test_session_without_a_lifetime_does_not_end(node: GuardedNode) -> None:
    caller = SaslCaller(node)
    caller.prove(authenticator(SCRAM))

    node.voter.wait(365 * 86_400_000)

    assert isinstance(caller.ask(METADATA, 9), MetadataResponse)


@pytest.mark.parametrize("after_ms", [0, LIFETIME_MS // 2, LIFETIME_MS, 10 * LIFETIME_MS])
@pytest.mark.rule("AUTH-9")
def test_client_goes_on_after_it_has_proved_its_name_again(
    node: GuardedNode, caller: SaslCaller, after_ms: int
) -> None:
    node.voter.wait(after_ms)

    again = caller.prove(authenticator(SCRAM))

    assert again.session_lifetime_ms == LIFETIME_MS
    node.voter.wait(LIFETIME_MS - 1)
    assert isinstance(caller.ask(METADATA, 9), MetadataResponse)
    assert caller.caller.principal == "User:alice"
    assert counted(node) == {AuthenticationOutcome.SUCCESSFUL: 1, AuthenticationOutcome.SUCCESSFUL_AGAIN: 1}


@pytest.mark.rule("AUTH-9")
def test_client_cannot_change_its_name(node: GuardedNode, caller: SaslCaller) -> None:
    response, reason, cause = end_of(node, caller.disprove(authenticator(SCRAM, "bob")))

    message = "Cannot change principals during re-authentication from alice"
    assert response == SaslAuthenticateResponse(
        error_code=ErrorCode.SASL_AUTHENTICATION_FAILED, error_message=message, auth_bytes=b""
    )
    assert (reason, cause) == (f"it did not authenticate: {message}", DropCause.FAILED_AUTHENTICATION)
    assert caller.caller.principal == "User:alice"
    assert counted(node) == {AuthenticationOutcome.SUCCESSFUL: 1, AuthenticationOutcome.FAILED_AGAIN: 1}


@pytest.mark.parametrize("mechanism", [each for each in MECHANISMS if each != SCRAM])
@pytest.mark.rule("AUTH-9")
def test_client_cannot_change_its_mechanism(node: GuardedNode, caller: SaslCaller, mechanism: str) -> None:
    response, reason, _ = end_of(node, caller.choose(mechanism))

    assert response == SaslHandshakeResponse(error_code=ErrorCode.SASL_AUTHENTICATION_FAILED, mechanisms=MECHANISMS)
    assert f"mechanism '{mechanism}' requested by client is not supported for re-authentication of mechanism" in reason
    assert counted(node) == {AuthenticationOutcome.SUCCESSFUL: 1, AuthenticationOutcome.FAILED_AGAIN: 1}


@pytest.mark.rule("AUTH-6", "AUTH-9")
def test_wrong_proof_of_a_client_that_was_known_ends_its_connection(node: GuardedNode, caller: SaslCaller) -> None:
    wrong = caller.disprove(authenticator(SCRAM, "alice", "wrong-secret"))

    behind = caller.begin(METADATA, 9)

    response, _, _ = end_of(node, wrong)
    assert isinstance(response, SaslAuthenticateResponse)
    assert response.error_code == ErrorCode.SASL_AUTHENTICATION_FAILED
    assert behind.is_untouched
    assert counted(node) == {AuthenticationOutcome.SUCCESSFUL: 1, AuthenticationOutcome.FAILED_AGAIN: 1}


@pytest.mark.parametrize(
    ("request_", "version"),
    [pytest.param(METADATA, 9, id="Metadata"), pytest.param(ApiVersionsRequest(), 4, id="ApiVersions")],
)
@pytest.mark.rule("AUTH-4", "AUTH-9")
def test_request_while_a_client_proves_its_name_again_ends_the_connection(
    node: GuardedNode, caller: SaslCaller, request_: Message, version: int
) -> None:
    caller.choose(SCRAM)

    respond = caller.begin(request_, version)

    assert end_of(node, respond)[0] is None
    assert counted(node) == {AuthenticationOutcome.SUCCESSFUL: 1, AuthenticationOutcome.FAILED_AGAIN: 1}


def test_token_without_a_handshake_ends_the_connection_of_a_client_that_is_known(
    node: GuardedNode, caller: SaslCaller
) -> None:
    response, _, _ = end_of(node, caller.send_token(b"\0alice\0alice-secret"))

    assert isinstance(response, SaslAuthenticateResponse)
    assert response.error_code == ErrorCode.ILLEGAL_SASL_STATE


def test_requests_are_counted_anew_for_each_proof(node: GuardedNode, caller: SaslCaller) -> None:
    for _ in range(MAX_REQUESTS):
        caller.prove(authenticator(SCRAM))

    assert counted(node) == {AuthenticationOutcome.SUCCESSFUL: 1, AuthenticationOutcome.SUCCESSFUL_AGAIN: MAX_REQUESTS}
