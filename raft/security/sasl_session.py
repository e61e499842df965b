"""The node's side of SASL on one connection: which requests may come, and who the client is.

    NEW ---handshake---> PROVING ---authenticate---> COMPLETE
                            ^                            |
                            +---------handshake----------+   the client proves its name again (KIP-368)

Any other request, and a wrong proof, lead to FAILED, which is final.

Source: Kafka's SaslServerAuthenticator.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum, auto

from raft.errors import AuthenticationError
from raft.security.sasl_server import Verifier, Verifiers, invalid_credentials

MAX_REQUESTS = 16
"""How many requests a client may send before it has proved its name. SCRAM needs four."""


class SaslState(Enum):
    """What a connection may do next; see the diagram of the module."""

    NEW = auto()
    PROVING = auto()
    COMPLETE = auto()
    FAILED = auto()


@dataclass(frozen=True, slots=True, kw_only=True)
class SaslStep:
    """The response to a message of the client.

    Fields:
        token: the next message of the node.
        session_lifetime_ms: how long the session is valid from now on; 0 while it has not begun, and for no limit.
    """

    token: bytes = field(repr=False)
    session_lifetime_ms: int = 0


class SaslSession:
    """SASL on one connection.

    Args:
        verifiers: of the listener.
        max_reauth_ms: how long a session is valid; 0 for no limit.

    Attributes:
        state: see the module.
        user: the name of the client, once it is proved; None before.
        mechanism: that the client has chosen; "" before.
    """

    def __init__(self, verifiers: Verifiers, *, max_reauth_ms: int) -> None:
        self.state = SaslState.NEW
        self.user: str | None = None
        self.mechanism = ""
        self._verifiers = verifiers
        self._max_reauth_ms = max_reauth_ms
        self._verifier: Verifier | None = None
        self._expires_ms: int | None = None
        self._request_count = 0

    @property
    def mechanisms(self) -> tuple[str, ...]:
        """The mechanisms that the client may choose."""
        return self._verifiers.mechanisms

    @property
    def is_reauthentication(self) -> bool:
        """Whether the client has proved its name before."""
        return self.user is not None

    def count_request(self) -> None:
        """Count a request that is sent before the name is proved.

        Raises:
            AuthenticationError: there are too many.
        """
        self._request_count += 1
        if self._request_count > MAX_REQUESTS:
            self.state = SaslState.FAILED
            raise AuthenticationError(f"received more than {MAX_REQUESTS} requests before authentication")

    def has_expired(self, now_ms: int) -> bool:
        """Whether the session is no longer valid."""
        return self.state is SaslState.COMPLETE and self._expires_ms is not None and now_ms >= self._expires_ms

    def begin(self, mechanism: str, nonce: str) -> None:
        """Begin a proof.

        Args:
            mechanism: one of `mechanisms`.
            nonce: random text.

        Raises:
            AuthenticationError: the client has proved its name by another mechanism before.
        """
        assert self.state in (SaslState.NEW, SaslState.COMPLETE), "the caller checks the state"
        if self.is_reauthentication and mechanism != self.mechanism:
            self.state = SaslState.FAILED
            raise AuthenticationError(
                f"SASL mechanism '{mechanism}' requested by client is not supported for re-authentication of mechanism "
                f"'{self.mechanism}'"
            )
        self.mechanism = mechanism
        self._verifier = self._verifiers.begin(mechanism, nonce)
        self.state = SaslState.PROVING

    def take(self, token: bytes, now_ms: int) -> SaslStep:
        """Take the next message of the client.

        Args:
            token: the message.
            now_ms: the time of a monotonic clock.

        Raises:
            AuthenticationError: the proof is wrong; or the client has proved another name before.
        """
        verifier = self._verifier
        assert self.state is SaslState.PROVING, "the caller checks the state"
        assert verifier is not None, "the proof has begun"
        try:
            response = verifier.respond(token)
        except AuthenticationError:
            self.state = SaslState.FAILED
            raise
        except Exception as error:
            # A proof that was not checked to its end proves nothing, whatever the reason is.
            self.state = SaslState.FAILED
            refusal = AuthenticationError(invalid_credentials(self.mechanism))
            refusal.add_note(f"unexpected {type(error).__name__}")  # For the log; the client is not told.
            raise refusal from error
        if verifier.user is None:
            return SaslStep(token=response)
        if self.user not in (None, verifier.user):
            self.state = SaslState.FAILED
            raise AuthenticationError(f"Cannot change principals during re-authentication from {self.user}")
        self.user, self._verifier = verifier.user, None
        self.state, self._request_count = SaslState.COMPLETE, 0
        if self._max_reauth_ms:
            self._expires_ms = now_ms + self._max_reauth_ms
        return SaslStep(token=response, session_lifetime_ms=self._max_reauth_ms)

    def fail(self) -> None:
        """End the authentication: the client has sent a request that may not come now."""
        self.state = SaslState.FAILED
