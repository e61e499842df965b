"""A caller that proves its name by SASL, to a node without sockets."""

from __future__ import annotations

from raft.codec import Message
from raft.runtime.caller import Caller
from raft.runtime.drop_cause import DropCause
from raft.security.credentials import LEAST_ITERATIONS, SCRAM_MECHANISMS, Credentials, ScramCredential
from raft.security.outcomes import AuthenticationOutcome
from raft.security.sasl_client import PlainAuthenticator, ScramAuthenticator
from raft.security.sasl_server import Verifiers
from raft.security.sasl_session import SaslSession
from raft.wire.messages.sasl import SaslAuthenticateRequest, SaslAuthenticateResponse, SaslHandshakeRequest
from raft.wire.protection import Authenticator
from tests.runtime.guarded_node import FAILURE_DELAY_MS, FOR_VOTERS, GuardedNode
from tests.runtime.recorded_response import RecordedResponse

MECHANISMS = ("PLAIN", *SCRAM_MECHANISMS)
PASSWORDS = {"alice": "alice-secret", "bob": "bob-secret"}
HANDSHAKE_VERSION, AUTHENTICATE_VERSION = 1, 2


def _credentials() -> Credentials:
    credentials = Credentials()
    for user, password in PASSWORDS.items():
        for mechanism in SCRAM_MECHANISMS:
            made = ScramCredential.of_password(password, mechanism, salt=bytes(16), iterations=LEAST_ITERATIONS)
            credentials = credentials.with_user(user, mechanism, made)
    return credentials


_CREDENTIALS = _credentials()


def authenticator(mechanism: str, user: str = "alice", password: str | None = None) -> Authenticator:
    """Return the client's side of a proof; None for the right password."""
    given = PASSWORDS[user] if password is None else password
    return PlainAuthenticator(user, given) if mechanism == "PLAIN" else ScramAuthenticator(mechanism, user, given)


class SaslCaller:
    """The other side of one connection to a listener with SASL.

    Args:
        node: that it is connected to.
        mechanisms: of the listener.
        max_reauth_ms: of the listener.

    Attributes:
        caller: as the node knows it.
    """

    def __init__(self, node: GuardedNode, *, mechanisms: tuple[str, ...] = MECHANISMS, max_reauth_ms: int = 0) -> None:
        self._node = node
        verifiers = Verifiers(
            mechanisms, passwords=lambda: PASSWORDS, credentials=lambda: _CREDENTIALS, pepper=b"pepper"
        )
        self.caller: Caller = node.caller(sasl=SaslSession(verifiers, max_reauth_ms=max_reauth_ms))

    def begin(self, request: Message, version: int) -> RecordedResponse:
        """Send a request; see `GuardedNode.begin`."""
        return self._node.begin(self.caller, request, version)

    def ask(self, request: Message, version: int) -> Message:
        """Send a request and return its response; see `GuardedNode.ask`."""
        return self._node.ask(self.caller, request, version)

    def choose(self, mechanism: str, version: int = HANDSHAKE_VERSION) -> RecordedResponse:
        """Choose a mechanism."""
        return self.begin(SaslHandshakeRequest(mechanism=mechanism), version)

    def send_token(self, token: bytes) -> RecordedResponse:
        """Send a message of the mechanism's exchange."""
        return self.begin(SaslAuthenticateRequest(auth_bytes=token), AUTHENTICATE_VERSION)

    def prove(self, proof: Authenticator) -> SaslAuthenticateResponse:
        """Prove a name, which succeeds; return the last response."""
        (chosen,) = self.choose(proof.mechanism).sent
        assert chosen is not None
        response: Message | None = None
        token = proof.respond(b"")
        while token is not None:
            response = self.ask(SaslAuthenticateRequest(auth_bytes=token), AUTHENTICATE_VERSION)
            assert isinstance(response, SaslAuthenticateResponse)
            assert response.error_code == 0
            token = proof.respond(response.auth_bytes)
        assert isinstance(response, SaslAuthenticateResponse), "each mechanism has a message"
        return response

    def disprove(self, proof: Authenticator) -> RecordedResponse:
        """Send the messages of a wrong proof; return what the node does with the last one."""
        assert self.choose(proof.mechanism).sent, "the mechanism is accepted"
        token = proof.respond(b"")
        while token is not None:
            respond = self.send_token(token)
            if not respond.sent:
                return respond
            (response,) = respond.sent
            assert isinstance(response, SaslAuthenticateResponse)
            token = proof.respond(response.auth_bytes)
        raise AssertionError("the proof is wrong")


def end_of(node: GuardedNode, respond: RecordedResponse) -> tuple[Message | None, str, DropCause]:
    """Return the only response to a request, which comes late, and why the connection is closed after it."""
    node.voter.wait(FAILURE_DELAY_MS - 1)
    assert respond.is_untouched, "it comes late"
    node.voter.wait(1)
    assert respond.closed is not None
    assert len(respond.sent) <= 1
    return (respond.sent[0] if respond.sent else None, *respond.closed)


def counted(node: GuardedNode) -> dict[AuthenticationOutcome, int]:
    """Return how many authentications have ended in which way."""
    assert {listener for listener, _ in node.context.authentications} <= {FOR_VOTERS.name}
    return {outcome: count for (_, outcome), count in node.context.authentications.items()}
