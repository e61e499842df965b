"""The node's side of SASL: PLAIN and SCRAM, without a connection.

Source: RFC 4616, RFC 5802, RFC 7677; Kafka's PlainSaslServer and ScramSaslServer.
"""

from __future__ import annotations

import hmac
from collections.abc import Callable, Mapping
from typing import Protocol

from scramp import ScramException, ScramMechanism

from raft.errors import AuthenticationError
from raft.security.credentials import Credentials, ScramCredential

_LONGEST_NAME = 255


def invalid_credentials(mechanism: str) -> str:
    """Return what a client is told whose proof is wrong."""
    return f"Authentication failed during authentication due to invalid credentials with SASL mechanism {mechanism}"


class Verifier(Protocol):
    """Checks one proof of a client.

    Attributes:
        user: the name of the client, once it is proved; None before.
    """

    user: str | None

    def respond(self, token: bytes) -> bytes:
        """Return the next message of the node.

        Args:
            token: the message of the client.

        Raises:
            AuthenticationError: the proof is wrong. The message may be sent to the client.
        """
        ...


class PlainVerifier:
    """Compares the password with that of the user.

    Args:
        passwords: by the names of users.
    """

    def __init__(self, passwords: Mapping[str, str]) -> None:
        self.user: str | None = None
        self._passwords = passwords

    def respond(self, token: bytes) -> bytes:
        """See `Verifier.respond`."""
        try:
            authorization_id, name, password = token.decode().split("\0")
        except ValueError:
            raise AuthenticationError("Invalid SASL/PLAIN response: expected 3 tokens") from None
        if not name or not password:
            missing = "password" if name else "username"
            raise AuthenticationError(f"Authentication failed: {missing} not specified")
        expected = self._passwords.get(name)
        # The comparison takes the same time for an unknown user.
        is_equal = hmac.compare_digest((expected or "").encode(), password.encode())
        if expected is None or not is_equal:
            raise AuthenticationError("Authentication failed: Invalid username or password")
        if authorization_id not in ("", name):
            raise AuthenticationError(
                "Authentication failed: Client requested an authorization id that is different from username"
            )
        self.user = name
        return b""


class ScramVerifier:
    """Checks the proof of the client, and makes that of the node.

    Args:
        mechanism: SCRAM-SHA-256 or SCRAM-SHA-512.
        find: returns the credential of a user; for an unknown one a credential that no password has.
        nonce: of the node, random.
    """

    def __init__(self, mechanism: str, find: Callable[[str], ScramCredential], *, nonce: str) -> None:
        self.user: str | None = None
        self._mechanism = mechanism
        self._find = find
        self._name = ""
        self._server = ScramMechanism(mechanism).make_server(self._credential, s_nonce=nonce)
        self._steps = iter((self._first, self._final))

    def respond(self, token: bytes) -> bytes:
        """See `Verifier.respond`."""
        step = next(self._steps)  # The session passes no messages on after the last one.
        try:
            return step(token.decode()).encode()
        except (ScramException, UnicodeDecodeError) as error:
            # The reason is not sent, because it may say which users exist.
            raise AuthenticationError(invalid_credentials(self._mechanism)) from error

    def _credential(self, name: str) -> tuple[bytes, bytes, bytes, int]:
        if len(name) > _LONGEST_NAME:
            raise ScramException("the name is too long")
        self._name = name
        found = self._find(name)
        return found.salt, found.stored_key, found.server_key, found.iterations

    def _first(self, token: str) -> str:
        self._server.set_client_first(token)
        return str(self._server.get_server_first())

    def _final(self, token: str) -> str:
        self._server.set_client_final(token)
        final = str(self._server.get_server_final())
        self.user = self._name
        return final


class Verifiers:
    """Makes the verifiers of one listener.

    Args:
        mechanisms: that clients may choose.
        passwords: returns those for PLAIN, by the names of users, as they are now.
        credentials: returns the credentials for SCRAM, as they are now.
        pepper: random bytes of the node, for a file of credentials without a pepper.
    """

    def __init__(
        self,
        mechanisms: tuple[str, ...],
        *,
        passwords: Callable[[], Mapping[str, str]],
        credentials: Callable[[], Credentials],
        pepper: bytes,
    ) -> None:
        self.mechanisms = mechanisms
        self._passwords = passwords
        self._credentials = credentials
        self._pepper = pepper

    def begin(self, mechanism: str, nonce: str) -> Verifier:
        """Return a new verifier.

        Args:
            mechanism: one of those of the listener.
            nonce: random text.
        """
        assert mechanism in self.mechanisms, "the caller refuses others"
        if mechanism == "PLAIN":
            return PlainVerifier(self._passwords())
        credentials = self._credentials()
        return ScramVerifier(
            mechanism, lambda name: credentials.find(name, mechanism, pepper=self._pepper), nonce=nonce
        )
