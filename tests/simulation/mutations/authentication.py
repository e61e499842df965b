"""Bugs of authentication: a name counts that was not proved, or is not proved any more."""

from __future__ import annotations

import pytest

from raft.codec import Message
from raft.errors import AuthenticationError
from raft.runtime.request import Request
from raft.runtime.requests import authentication, handle
from raft.runtime.requests.authentication import is_authenticated
from raft.runtime.requests.context import Context
from raft.security import sasl_session
from raft.security.credentials import Credentials, ScramCredential
from raft.security.sasl_server import PlainVerifier
from raft.security.sasl_session import SaslSession, SaslState, SaslStep
from raft.wire.messages.sasl import SaslHandshakeRequest
from tests.simulation.mutations import needs
from tests.simulation.mutations.mutation import mutation

_OF_PROOFS = ("ConnectionsEndWithoutProof", "RefusedRequestsChangeNothing")


@mutation(breaks=("AUTH-4",), caught_by=_OF_PROOFS)
def requests_served_before_authentication(patch: pytest.MonkeyPatch) -> None:
    """A client that sends no SASL at all is served, with the rights of User:ANONYMOUS."""
    _serve_in_state(patch, SaslState.NEW)


@mutation(breaks=("AUTH-4",), caught_by=_OF_PROOFS)
def requests_served_while_proving(patch: pytest.MonkeyPatch) -> None:
    """A client that has chosen a mechanism is served before it has proved its name."""
    _serve_in_state(patch, SaslState.PROVING)


@mutation(breaks=("AUTH-6",), caught_by=_OF_PROOFS)
def failed_proof_leaves_the_connection_usable(patch: pytest.MonkeyPatch) -> None:
    """A connection is served after a wrong proof, until it is closed."""
    _serve_in_state(patch, SaslState.FAILED)


@mutation(breaks=("AUTH-6",), caught_by=("ConnectionsEndWithoutProof",))
def failed_proof_does_not_end_the_connection(patch: pytest.MonkeyPatch) -> None:
    """A connection stays open after a wrong proof, without a response."""
    patch.setattr(authentication, "_fail", lambda _context, _request, session, *_: session.fail())


@mutation(breaks=("AUTH-4",), caught_by=_OF_PROOFS, needs=needs.users)
def requests_before_authentication_not_counted(patch: pytest.MonkeyPatch) -> None:
    """A client may send any number of requests before authentication."""
    patch.setattr(sasl_session, "MAX_REQUESTS", 1 << 30)


@mutation(breaks=("AUTH-5",), caught_by=("ConnectionsEndWithoutProof",))
def first_version_of_handshake_accepted(patch: pytest.MonkeyPatch) -> None:
    """SaslHandshake of version 0 is accepted, after which tokens would come without frames."""
    on_handshake = authentication._on_handshake

    def accept(
        context: Context, request: Request[Message], session: SaslSession, message: SaslHandshakeRequest
    ) -> None:
        request.version = max(request.version, 1)  # type: ignore[misc]
        on_handshake(context, request, session, message)

    patch.setattr(authentication, "_on_handshake", accept)


@mutation(
    breaks=("AUTH-6",), caught_by=("ConnectionsEndWithoutProof", "PrincipalsAreProved"), needs=needs.passwords_of_plain
)
def any_password_accepted(patch: pytest.MonkeyPatch) -> None:
    """The password of PLAIN is not compared."""
    patch.setattr("raft.security.sasl_server.hmac.compare_digest", lambda *_: True)


@mutation(breaks=("AUTH-8",), caught_by=("ConnectionsEndWithoutProof", "PrincipalsAreProved"))
def nonce_of_the_node_used_again(patch: pytest.MonkeyPatch) -> None:
    """The node has the same nonce in each proof of SCRAM, so recorded messages prove a name."""
    patch.setattr(authentication, "_NONCES", 1)


@mutation(breaks=("AUTH-9",), caught_by=_OF_PROOFS)
def expired_session_served(patch: pytest.MonkeyPatch) -> None:
    """A session is valid for ever."""
    patch.setattr(SaslSession, "has_expired", lambda *_: False)


@mutation(breaks=("AUTH-9",), caught_by=("AllowedRequestsAreServed",))
def second_proof_does_not_extend_the_session(patch: pytest.MonkeyPatch) -> None:
    """A session ends when it would have ended without the second authentication."""
    take = SaslSession.take

    def take_once(self: SaslSession, token: bytes, now_ms: int) -> SaslStep:
        before = self._expires_ms
        step = take(self, token, now_ms)
        self._expires_ms = self._expires_ms if before is None else before
        return step

    patch.setattr(SaslSession, "take", take_once)


@mutation(breaks=("AUTH-9",), caught_by=("ConnectionsEndWithoutProof", "PrincipalsAreProved"))
def second_proof_may_change_the_user(patch: pytest.MonkeyPatch) -> None:
    """A connection may authenticate again as another user."""
    take = SaslSession.take

    def take_any(self: SaslSession, token: bytes, now_ms: int) -> SaslStep:
        known, self.user = self.user, None
        step = take(self, token, now_ms)
        if self.state is SaslState.PROVING:
            self.user = known
        return step

    patch.setattr(SaslSession, "take", take_any)


@mutation(breaks=("AUTH-9",), caught_by=("PrincipalsAreProved",))
def principal_is_that_of_the_first_handshake(patch: pytest.MonkeyPatch) -> None:
    """A name counts as soon as the client has claimed it."""

    def claim(context: Context, request: Request[Message]) -> bool:
        is_right, caller = is_authenticated(context, request), request.caller
        name = getattr(caller.sasl and caller.sasl._verifier, "_name", "")
        if name:
            caller.principal = f"User:{name}"
        return is_right

    patch.setattr(handle, "is_authenticated", claim)


@mutation(breaks=("AUTH-11",), caught_by=("ConnectionsEndWithoutProof", "PrincipalsAreProved"))
def removed_user_still_authenticates(patch: pytest.MonkeyPatch) -> None:
    """A node remembers the credentials of users that were removed."""
    find = Credentials.find
    seen: dict[tuple[str, str], ScramCredential] = {}

    def find_or_remember(self: Credentials, name: str, mechanism: str, *, pepper: bytes) -> ScramCredential:
        known = self.by_user.get(name, {}).get(mechanism)
        if known is not None:
            seen[name, mechanism] = known
        return seen.get((name, mechanism)) or find(self, name, mechanism, pepper=pepper)

    patch.setattr(Credentials, "find", find_or_remember)


@mutation(breaks=("AUTH-6",), caught_by=("ConnectionsEndWithoutProof",), needs=needs.passwords_of_plain)
def wrong_password_may_be_followed_by_another_one(patch: pytest.MonkeyPatch) -> None:
    """After a wrong password of PLAIN the client may send another one."""
    respond = PlainVerifier.respond

    def respond_and_wait(self: PlainVerifier, token: bytes) -> bytes:
        try:
            return respond(self, token)
        except AuthenticationError:
            return b"wrong password"

    patch.setattr(PlainVerifier, "respond", respond_and_wait)


def _serve_in_state(patch: pytest.MonkeyPatch, state: SaslState) -> None:
    """Serve requests other than those of SASL on connections in a state."""

    def is_served(context: Context, request: Request[Message]) -> bool:
        sasl, is_of_sasl = request.caller.sasl, type(request.message).__name__.startswith("Sasl")
        if sasl is not None and sasl.state is state and not is_of_sasl:
            return True
        return is_authenticated(context, request)

    patch.setattr(handle, "is_authenticated", is_served)
