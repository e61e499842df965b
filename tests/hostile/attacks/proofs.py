"""Wrong proofs of a name: guessed, repeated, damaged, in the wrong order."""

from __future__ import annotations

from typing import ClassVar

from raft.wire.messages.sasl import SaslAuthenticateRequest, SaslHandshakeRequest
from tests.hostile.attacks.nameless import NamelessAttack
from tests.hostile.connection import Connection
from tests.hostile.identity import HONEST
from tests.hostile.scram import MECHANISM, ScramProof
from tests.hostile.ways import AUTHENTICATE_VERSION, HANDSHAKE_VERSION, authenticate, prove

_PASSWORDS = 5
_LONG = b"x" * 60_000


class AttackOfProofs(NamelessAttack):
    """An attack whose every proof is wrong."""

    width = 15
    is_refused = True
    counted: ClassVar[tuple[str, ...]] = ("failed", "dropped")


class WrongProofs(AttackOfProofs):
    """Guessed passwords of a user that exists, and of others."""

    async def round(self, connection: Connection) -> None:
        user = self.dice.choice((HONEST, "node1", "unknown", "x" * 300))
        proof = ScramProof(user, f"guess-{self.dice.randrange(_PASSWORDS)}", self.ways.nonce())
        response = await prove(connection, proof)
        assert response.error_code, f"a guessed password of {user} is accepted"
        await connection.must_close("a connection goes on after a wrong proof")


class ReplayedProofs(AttackOfProofs):
    """The messages by which an honest client has proved its name."""

    async def round(self, connection: Connection) -> None:
        await connection.send(b"".join(self.proofs[:3]))
        await connection.send(b"".join(self.recordings))
        await connection.must_close("recorded messages prove a name")


class DamagedProofs(AttackOfProofs):
    """Messages of SASL that are empty, truncated, too long or of no mechanism, and those that may not come now."""

    async def round(self, connection: Connection) -> None:
        proof = ScramProof(HONEST, "guess", self.ways.nonce())
        if self.dice.random() < 0.8:
            await connection.ask(SaslHandshakeRequest(mechanism=MECHANISM), HANDSHAKE_VERSION)
        if self.dice.random() < 0.3:
            await connection.ask(SaslHandshakeRequest(mechanism=MECHANISM), HANDSHAKE_VERSION)
        if self.dice.random() < 0.3:
            await authenticate(connection, proof.first)
        for _ in range(3):
            token = self.dice.choice(
                (b"", proof.first[: self.dice.randrange(len(proof.first))], _LONG, b"\x00bob\x00guess", b"\xff" * 20)
            )
            await connection.send_request(SaslAuthenticateRequest(auth_bytes=token), AUTHENTICATE_VERSION)
        await connection.must_close("damaged messages prove a name")
