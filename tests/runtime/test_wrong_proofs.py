"""Wrong proofs of a client's name: answered late and once, counted once, and without a word of what was sent."""

from __future__ import annotations

import pytest

from raft.errors import ErrorCode
from raft.runtime.caller import ANONYMOUS
from raft.runtime.drop_cause import DropCause
from raft.security.outcomes import AuthenticationOutcome
from raft.security.sasl_server import PlainVerifier, ScramVerifier
from raft.wire.messages.metadata import MetadataRequest
from raft.wire.messages.sasl import SaslAuthenticateResponse
from tests.runtime.guarded_node import FAILURE_DELAY_MS, GuardedNode
from tests.runtime.sasl_caller import MECHANISMS, PASSWORDS, SaslCaller, authenticator, counted, end_of

WRONG = "wrong-secret"
MESSAGES = {
    "PLAIN": "Authentication failed: Invalid username or password",
    "SCRAM-SHA-256": (
        "Authentication failed during authentication due to invalid credentials with SASL mechanism SCRAM-SHA-256"
    ),
    "SCRAM-SHA-512": (
        "Authentication failed during authentication due to invalid credentials with SASL mechanism SCRAM-SHA-512"
    ),
}
"""Those of Kafka's brokers."""
UNCHECKED = "Authentication failed during authentication due to invalid credentials with SASL mechanism {}"


@pytest.fixture
def node() -> GuardedNode:
    return GuardedNode(None)


@pytest.mark.parametrize("user", ["alice", "nobody"])
@pytest.mark.parametrize("mechanism", MECHANISMS)
@pytest.mark.rule("AUTH-6")
def test_wrong_proof_is_answered_late_and_the_same_for_every_user(node: GuardedNode, mechanism: str, user: str) -> None:
    caller = SaslCaller(node)

    response, reason, cause = end_of(node, caller.disprove(authenticator(mechanism, user, WRONG)))

    message = MESSAGES[mechanism]
    assert response == SaslAuthenticateResponse(
        error_code=ErrorCode.SASL_AUTHENTICATION_FAILED, error_message=message, auth_bytes=b""
    )
    assert (reason, cause) == (f"it did not authenticate: {message}", DropCause.FAILED_AUTHENTICATION)
    assert (caller.caller.principal, caller.caller.is_authenticated) == (ANONYMOUS, False)
    assert counted(node) == {AuthenticationOutcome.FAILED: 1}


@pytest.mark.parametrize("mechanism", MECHANISMS)
@pytest.mark.rule("AUTH-6")
def test_proof_that_cannot_be_checked_is_answered_like_a_wrong_one(
    node: GuardedNode, mechanism: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever the reason is: a client must not go on, or learn more than that it is refused."""

    def fail(_verifier: object, _token: bytes) -> bytes:
        raise RecursionError("planted")

    for verifier in (PlainVerifier, ScramVerifier):
        monkeypatch.setattr(verifier, "respond", fail)
    caller = SaslCaller(node)
    caller.choose(mechanism)

    response, reason, cause = end_of(node, caller.send_token(b"anything"))

    message = UNCHECKED.format(mechanism)
    assert response == SaslAuthenticateResponse(
        error_code=ErrorCode.SASL_AUTHENTICATION_FAILED, error_message=message, auth_bytes=b""
    )
    assert reason == f"it did not authenticate: {message}; unexpected RecursionError"
    assert cause is DropCause.FAILED_AUTHENTICATION
    assert (caller.caller.principal, caller.caller.is_authenticated) == (ANONYMOUS, False)
    assert counted(node) == {AuthenticationOutcome.FAILED: 1}


@pytest.mark.parametrize("mechanism", MECHANISMS)
@pytest.mark.rule("AUTH-4", "AUTH-6")
def test_requests_behind_a_wrong_proof_get_no_response_and_count_once(node: GuardedNode, mechanism: str) -> None:
    caller = SaslCaller(node)
    wrong = caller.disprove(authenticator(mechanism, "alice", WRONG))

    behind = [
        caller.send_token(b"\0alice\0alice-secret"),
        caller.choose(mechanism),
        caller.begin(MetadataRequest(topics=None), 9),
    ]

    node.voter.wait(10 * FAILURE_DELAY_MS)
    assert all(respond.is_untouched for respond in behind)
    assert (len(wrong.sent), wrong.closed is not None) == (1, True)
    assert counted(node) == {AuthenticationOutcome.FAILED: 1}


@pytest.mark.parametrize("mechanism", MECHANISMS)
@pytest.mark.parametrize(
    "token",
    [b"", b"\0", b"\xff\xfe", b"alice", b"n,,n=", b"n,,n=alice", b"y" * 60_000],
    ids=lambda token: repr(token[:12]),
)
@pytest.mark.rule("AUTH-6")
def test_malformed_token_is_a_wrong_proof(node: GuardedNode, mechanism: str, token: bytes) -> None:
    caller = SaslCaller(node)
    caller.choose(mechanism)

    response, _, cause = end_of(node, caller.send_token(token))

    assert isinstance(response, SaslAuthenticateResponse)
    assert (response.error_code, cause) == (ErrorCode.SASL_AUTHENTICATION_FAILED, DropCause.FAILED_AUTHENTICATION)
    assert counted(node) == {AuthenticationOutcome.FAILED: 1}


@pytest.mark.parametrize("mechanism", MECHANISMS[1:])
@pytest.mark.rule("AUTH-8")
def test_recorded_messages_prove_nothing_on_another_connection(node: GuardedNode, mechanism: str) -> None:
    proof = authenticator(mechanism)
    recorded = SaslCaller(node)
    recorded.choose(mechanism)
    first = proof.respond(b"")
    assert first is not None
    (challenge,) = recorded.send_token(first).sent
    assert isinstance(challenge, SaslAuthenticateResponse)
    final = proof.respond(challenge.auth_bytes)
    assert final is not None
    recorded.send_token(final)
    assert recorded.caller.is_authenticated, "the recorded messages are those of a good proof"

    again = SaslCaller(node)
    again.choose(mechanism)
    (other_challenge,) = again.send_token(first).sent
    response, _, _ = end_of(node, again.send_token(final))

    assert isinstance(other_challenge, SaslAuthenticateResponse)
    assert other_challenge.auth_bytes != challenge.auth_bytes, "the node draws a new nonce"
    assert isinstance(response, SaslAuthenticateResponse)
    assert response.error_code == ErrorCode.SASL_AUTHENTICATION_FAILED
    assert not again.caller.is_authenticated


@pytest.mark.parametrize("mechanism", MECHANISMS)
@pytest.mark.rule("AUTH-12")
def test_neither_reasons_nor_log_lines_have_what_the_client_sent(
    node: GuardedNode, mechanism: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("DEBUG")
    response, reason, _ = end_of(node, SaslCaller(node).disprove(authenticator(mechanism, "alice", WRONG)))

    texts = [reason, str(response), caplog.text]
    assert not [secret for secret in (WRONG, *PASSWORDS.values()) for text in texts if secret in text]
