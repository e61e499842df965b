"""Damaged requests, and bytes that are no requests."""

from __future__ import annotations

from raft.types import Endpoint
from tests.fuzz.mutators import mutated
from tests.hostile.attacks.attack import Attack
from tests.hostile.connection import Connection

_SIZE_BYTES = 4
_HELLOS = (
    b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + bytes(506),
    b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n",
    b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    b"SSH-2.0-OpenSSH_9.2\r\n",
    b"\x00\x00\x00\x00" * 50,
    b"\xff" * 400,
)


class MutatedRecordings(Attack):
    """The requests of a real session, each of them damaged; most frames have the right size."""

    width = 10

    async def round(self, connection: Connection) -> None:
        for _ in range(20):
            await connection.send(self._bent(self.dice.choice(self.recordings)))
        await connection.is_closed(within_s=0.5)

    def _bent(self, frame: bytes) -> bytes:
        if self.dice.random() < 0.2:
            return mutated(self.dice, frame, self.recordings)
        body = mutated(self.dice, frame[_SIZE_BYTES:], [other[_SIZE_BYTES:] for other in self.recordings])
        return len(body).to_bytes(_SIZE_BYTES, "big") + body


class RepeatedSession(Attack):
    """The unchanged requests of a real session, all at once."""

    width = 4

    async def round(self, connection: Connection) -> None:
        await connection.send(b"".join(self.recordings))
        await connection.is_closed(within_s=1)


class RandomBytes(Attack):
    """Random bytes."""

    width = 10

    async def round(self, connection: Connection) -> None:
        await connection.send(self.dice.randbytes(self.dice.choice((1, 3, 100, 5_000, 100_000))))
        await connection.is_closed(within_s=2)


class OtherProtocols(Attack):
    """The first bytes of TLS, HTTP and others, on both kinds of listeners."""

    width = 6

    def target(self) -> Endpoint:
        return self.dice.choice((*self.scene.client_endpoints, *self.scene.voter_endpoints))

    async def round(self, connection: Connection) -> None:
        await connection.send(self.dice.choice(_HELLOS))
        await connection.is_closed(within_s=2)
