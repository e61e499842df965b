"""The requests by which a client proves its name on one connection, and what their responses mean (KIP-152)."""

from __future__ import annotations

from raft.errors import AuthenticationError, ErrorCode, error_name
from raft.wire.messages.sasl import (
    SaslAuthenticateRequest,
    SaslAuthenticateResponse,
    SaslHandshakeRequest,
    SaslHandshakeResponse,
)
from raft.wire.protection import Authenticator

NO_SASL = "the node does not use SASL on this listener: expected security.protocol=SSL or PLAINTEXT"

_LONGEST_TEXT = 300


class SaslExchange:
    """One authentication of a client.

    Args:
        authenticator: proves the name.

    Attributes:
        first_request: the request that begins it.
        session_lifetime_ms: how long the node accepts requests afterwards; None for no limit.
    """

    def __init__(self, authenticator: Authenticator) -> None:
        self._authenticator = authenticator
        self.first_request = SaslHandshakeRequest(mechanism=authenticator.mechanism)
        self.session_lifetime_ms: int | None = None

    def next_request(
        self, response: SaslHandshakeResponse | SaslAuthenticateResponse
    ) -> SaslAuthenticateRequest | None:
        """Return the next request; None if both sides have proved what they have to.

        Args:
            response: to the request before.

        Raises:
            AuthenticationError: the node has refused, or has not proved that it knows the client's password.
        """
        if isinstance(response, SaslHandshakeResponse):
            self._check(response)
            challenge = b""
        else:
            if response.error_code:
                reason = _one_line(response.error_message or "") or error_name(response.error_code)
                raise AuthenticationError(f"the node refused the credentials in sasl.jaas.config: {reason}")
            challenge = response.auth_bytes
            lifetime_ms = response.session_lifetime_ms
            self.session_lifetime_ms = lifetime_ms if lifetime_ms > 0 else None
        token = self._authenticator.respond(challenge)
        return None if token is None else SaslAuthenticateRequest(auth_bytes=token)

    def _check(self, response: SaslHandshakeResponse) -> None:
        match response.error_code:
            case ErrorCode.NONE:
                return
            case ErrorCode.UNSUPPORTED_SASL_MECHANISM:
                raise AuthenticationError(
                    f"the node does not accept the SASL mechanism {self._authenticator.mechanism}; it accepts "
                    f"{_one_line(', '.join(response.mechanisms))}"
                )
            case ErrorCode.ILLEGAL_SASL_STATE:
                raise AuthenticationError(NO_SASL)
            case code:
                raise AuthenticationError(f"the node refused to authenticate: {error_name(code)}")


def _one_line(text: str) -> str:
    """Return a text of a node, which has not proved anything yet, as a short line without control characters."""
    printable = "".join(character if character.isprintable() else " " for character in text[:_LONGEST_TEXT])
    return " ".join(printable.split())
