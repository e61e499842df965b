"""A node's check of SCRAM in each of its states, where all users have the same password."""

from __future__ import annotations

import pytest

from raft.errors import AuthenticationError
from raft.security.credentials import SCRAM_MECHANISMS, ScramCredential
from raft.security.sasl_server import ScramVerifier
from tests.security.scram import Proof

PASSWORD = "planted-secret"
FIRST = "n,,n=alice,r=clientnonce"
NONCE = "nodenonce"

each_mechanism = pytest.mark.parametrize("mechanism", SCRAM_MECHANISMS)


def refusal(mechanism: str = "SCRAM-SHA-256") -> str:
    """What the node says to each proof that it refuses."""
    return f"Authentication failed during authentication due to invalid credentials with SASL mechanism {mechanism}"


def credential(mechanism: str = "SCRAM-SHA-256", password: str = PASSWORD) -> ScramCredential:
    return ScramCredential.of_password(password, mechanism, salt=bytes(16), iterations=4096)


CREDENTIALS = {mechanism: credential(mechanism) for mechanism in SCRAM_MECHANISMS}


def begun(mechanism: str = "SCRAM-SHA-256", nonce: str = NONCE) -> ScramVerifier:
    """The check of one proof; all users have the same password."""
    return ScramVerifier(mechanism, lambda _name: CREDENTIALS[mechanism], nonce=nonce)


def after_first(first: str = FIRST, mechanism: str = "SCRAM-SHA-256") -> tuple[ScramVerifier, Proof]:
    """A check after the first messages, and the right proof."""
    verifier = begun(mechanism)
    node_first = verifier.respond(first.encode()).decode()
    return verifier, Proof.of(mechanism, PASSWORD, first, node_first)


def refused(verifier: ScramVerifier, token: str | bytes) -> str:
    """The message with which a token is refused."""
    with pytest.raises(AuthenticationError) as error:
        verifier.respond(token if isinstance(token, bytes) else token.encode())
    assert verifier.user is None
    return str(error.value)
