"""A user at the other side of a connection, and how it proves its name with the product's own code."""

from __future__ import annotations

import functools
import hashlib
from dataclasses import dataclass

from raft.security.credentials import LEAST_ITERATIONS, ScramCredential
from raft.security.sasl_client import PlainAuthenticator, ScramAuthenticator
from raft.wire.protection import Authenticator, Protection
from tests.simulation.dice import Dice
from tests.simulation.security.mechanisms import PLAIN, SCRAM

_NONCE_BYTES = 12
_SALT_BYTES = 16


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Identity:
    """A user that proves its name.

    Fields:
        user: its name.
        password: with which it proves it, right or wrong.
        mechanism: of SASL.
        nonces: the random numbers of its proofs.
    """

    user: str
    password: str
    mechanism: str
    nonces: Dice

    def authenticator(self) -> Authenticator:
        """Return the authenticator of one proof."""
        if self.mechanism == PLAIN:
            return PlainAuthenticator(self.user, self.password)
        nonce = self.nonces.bytes(_NONCE_BYTES).hex()
        return ScramAuthenticator(self.mechanism, self.user, self.password, nonce=nonce)

    @property
    def protection(self) -> Protection:
        """What protects the connections of this user: there is no TLS in the simulator."""
        return Protection(authenticator=self.authenticator)


@functools.cache
def credential_of(user: str, password: str) -> ScramCredential:
    """Return the credential of a user for SCRAM, always the same one. The fewest iterations cost the least time."""
    salt = hashlib.sha256(user.encode()).digest()[:_SALT_BYTES]
    return ScramCredential.of_password(password, SCRAM, salt=salt, iterations=LEAST_ITERATIONS)
