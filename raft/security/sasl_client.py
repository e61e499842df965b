"""The client's side of SASL: PLAIN and SCRAM, without a connection.

Source: RFC 4616 (PLAIN), RFC 5802 and RFC 7677 (SCRAM).
"""

from __future__ import annotations

from collections.abc import Callable

from scramp import ScramClient, ScramException

from raft.config.security import SaslSettings
from raft.errors import AuthenticationError, ConfigError
from raft.security.credentials import MOST_ITERATIONS
from raft.security.jaas import JaasEntry
from raft.wire.protection import Authenticator


class PlainAuthenticator:
    """PLAIN: sends the password.

    Args:
        name: of the user.
        password: of the user.
    """

    mechanism = "PLAIN"

    def __init__(self, name: str, password: str) -> None:
        self.is_complete = False
        self._message = f"\0{name}\0{password}".encode()

    def respond(self, _challenge: bytes) -> bytes | None:
        """See `Authenticator.respond`."""
        if self._message:
            message, self._message = self._message, b""
            return message
        self.is_complete = True
        return None


class ScramAuthenticator:
    """SCRAM: proves that it knows the password, and that the node does.

    Args:
        mechanism: SCRAM-SHA-256 or SCRAM-SHA-512.
        name: of the user.
        password: of the user.
        nonce: of the client; None chooses a random one.

    Raises:
        ConfigError: name or password has characters that SCRAM does not allow.
    """

    def __init__(self, mechanism: str, name: str, password: str, *, nonce: str | None = None) -> None:
        self.mechanism = mechanism
        self.is_complete = False
        try:
            self._client = ScramClient([mechanism], name, password, c_nonce=nonce)
        except ScramException as error:
            raise ConfigError(
                f"the user name or the password for {mechanism} has characters that SCRAM does not allow (RFC 4013)"
            ) from error
        self._steps = iter((self._first, self._final, self._finish))

    def respond(self, challenge: bytes) -> bytes | None:
        """See `Authenticator.respond`."""
        step = next(self._steps, None)
        if step is None:
            raise AuthenticationError(f"received more messages of {self.mechanism} than it has")
        try:
            message = step(challenge.decode())
        except AuthenticationError:
            raise
        except Exception as error:
            # Not only those of the library: a proof of the node that was not checked to its end proves nothing.
            raise AuthenticationError(
                f"received a wrong message of {self.mechanism}: the node may not know this user's password"
            ) from error
        return message.encode() if message is not None else None

    def _first(self, _challenge: str) -> str:
        return str(self._client.get_client_first())

    def _final(self, challenge: str) -> str:
        self._client.set_server_first(challenge)
        iterations = int(self._client.iterations)
        if iterations > MOST_ITERATIONS:
            # The library accepts more. The node is not known yet, and any node could keep the client busy with hashing.
            raise AuthenticationError(
                f"the node asks for {iterations} iterations of {self.mechanism}: expected {MOST_ITERATIONS} or fewer"
            )
        return str(self._client.get_client_final())

    def _finish(self, challenge: str) -> None:
        self._client.set_server_final(challenge)
        self.is_complete = True


def authenticators(settings: SaslSettings, jaas: str) -> Callable[[], Authenticator]:
    """Return a function that makes the authenticator of each connection.

    Args:
        settings: of the client.
        jaas: the entry, its references resolved.

    Raises:
        ConfigError: the entry is malformed, or lacks user name or password.
    """
    name, password = JaasEntry.parse(jaas, settings.mechanism).own_credentials()
    if settings.mechanism == "PLAIN":
        return lambda: PlainAuthenticator(name, password)
    ScramAuthenticator(settings.mechanism, name, password)  # It checks both now, and not at the first connection.
    return lambda: ScramAuthenticator(settings.mechanism, name, password)
