"""Handshakes of TLS: half, huge, slow, many; and bytes that are not of TLS."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import ClassVar

from raft.security.authority import Authority
from raft.security.tls_channel import TlsChannel
from raft.types import Endpoint
from tests.hostile.attacks.attack import Attack, AttackInputs
from tests.hostile.connection import Connection
from tests.hostile.encrypted_connection import EncryptedConnection
from tests.hostile.ways import Way, nameless_context
from tests.node.harness.properties import HOST

_HANDSHAKE, _DATA = b"\x16", b"\x17"
_VERSION = b"\x03\x03"
_CLIENT_HELLO = b"\x01"
_RECORD_BYTES = 1 << 14
_UNKNOWN_EXTENSION = b"\xfa\xce"
_LARGEST_EXTENSIONS = 60_000
_ALERT_BYTES = 7
"""The message by which a node says that the handshake has failed."""
_OPENSSL_HELLO_BYTES = 131_000
"""Somewhat less than OpenSSL accepts."""


class AttackOfTls(Attack):
    """An attack on the listeners for clients and for voters, before or in the handshake."""

    def __init__(self, inputs: AttackInputs) -> None:
        super().__init__(inputs)
        self.hello = client_hello()

    def target(self) -> Endpoint:
        return super().target() if self.dice.random() < 0.5 else self.dice.choice(self.scene.voter_endpoints)

    def way(self) -> Way:
        return Way.PLAIN


class HalfHandshakes(AttackOfTls):
    """A ClientHello and nothing more, on a thousand connections at a time. The node has done its part of the work."""

    width = 1000
    counted: ClassVar[tuple[str, ...]] = ("dropped",)

    async def round(self, connection: Connection) -> None:
        await connection.send(self.hello)
        await connection.is_closed(within_s=self.dice.uniform(4, 12))


class RepeatedHellos(AttackOfTls):
    """The same ClientHello on one connection after the other, as fast as nodes respond: it costs the sender little."""

    width = 20

    async def round(self, connection: Connection) -> None:
        await connection.send(self.hello)
        await connection.first_bytes(within_s=2)


class FullHandshakes(AttackOfTls):
    """Complete handshakes, one connection after the other; nothing is sent afterwards."""

    width = 10

    def target(self) -> Endpoint:
        return self.dice.choice(self.scene.client_endpoints)

    def way(self) -> Way:
        return Way.NAMELESS

    async def round(self, connection: Connection) -> None:
        pass


class HandshakesOfVoters(AttackOfTls):
    """Handshakes on the listeners for voters: without a certificate, and with one of another authority."""

    width = 6
    is_refused = True
    counted: ClassVar[tuple[str, ...]] = ("failed",)

    def __init__(self, inputs: AttackInputs) -> None:
        super().__init__(inputs)
        self._contexts = (nameless_context(), nameless_context())
        with tempfile.NamedTemporaryFile(suffix=".pem") as keystore:
            Path(keystore.name).write_bytes(Authority.create("another one").issue("node1", [HOST]))
            self._contexts[1].load_cert_chain(keystore.name)

    async def round(self, connection: Connection) -> None:
        encrypted = EncryptedConnection.over(connection)
        await encrypted.shake_hands(self.dice.choice(self._contexts))
        await encrypted.must_close("a stranger has a connection to the listener of the voters")

    def target(self) -> Endpoint:
        return self.dice.choice(self.scene.voter_endpoints)


class EndlessHellos(AttackOfTls):
    """A ClientHello that never ends: of 16 MiB, or as large as OpenSSL accepts with the last bytes missing."""

    width = 60
    counted: ClassVar[tuple[str, ...]] = ("failed", "dropped")

    async def round(self, connection: Connection) -> None:
        announced_bytes = self.dice.choice((_OPENSSL_HELLO_BYTES, (1 << 24) - 1))
        message = _CLIENT_HELLO + announced_bytes.to_bytes(3, "big") + self.dice.randbytes(_RECORD_BYTES)
        for record in _records(message[:_RECORD_BYTES]):
            await connection.send(record)
        filling = b"".join(_records(bytes(_RECORD_BYTES)))
        for _ in range(announced_bytes // _RECORD_BYTES - 1):
            await connection.send(filling)
            await asyncio.sleep(0.02)
        await connection.is_closed(within_s=self.dice.uniform(2, 12))


class HugeHellos(AttackOfTls):
    """A valid ClientHello with an unknown extension of 60 kB: the node reads all of it, and responds."""

    width = 8

    def __init__(self, inputs: AttackInputs) -> None:
        super().__init__(inputs)
        self.hello = with_extension(self.hello, bytes(_LARGEST_EXTENSIONS))

    async def round(self, connection: Connection) -> None:
        await connection.send(self.hello)
        await connection.first_bytes(within_s=2)


class SlowHandshakes(AttackOfTls):
    """A ClientHello, byte by byte."""

    width = 100

    async def round(self, connection: Connection) -> None:
        for byte in self.hello:
            await connection.send(bytes([byte]))
            await asyncio.sleep(0.05)


class PlaintextRequests(AttackOfTls):
    """Requests without TLS, whole and damaged."""

    width = 10
    is_refused = True
    counted: ClassVar[tuple[str, ...]] = ("failed",)

    async def round(self, connection: Connection) -> None:
        await connection.send(self.dice.choice(self.recordings) * self.dice.choice((1, 100)))
        await connection.must_close("a listener with TLS keeps a connection without it")
        assert connection.received_bytes <= _ALERT_BYTES, "a listener with TLS serves a connection without it"


class RandomRecords(AttackOfTls):
    """Records of random bytes after a complete handshake."""

    width = 10
    is_refused = True
    counted: ClassVar[tuple[str, ...]] = ("dropped",)

    def target(self) -> Endpoint:
        return self.dice.choice(self.scene.client_endpoints)

    def way(self) -> Way:
        return Way.NAMELESS

    async def round(self, connection: Connection) -> None:
        content = self.dice.randbytes(self.dice.choice((1, 17, 1_000, _RECORD_BYTES)))
        await connection.send_raw(b"".join(_records(content, kind=self.dice.choice((_HANDSHAKE, _DATA)))))
        await connection.must_close("bytes that were not encrypted are accepted")


def client_hello() -> bytes:
    """Return the record with which a client begins."""
    return TlsChannel(nameless_context(), host=HOST).data_to_send()


def with_extension(hello: bytes, content: bytes) -> bytes:
    """Return a ClientHello with one more extension, which no node knows.

    The record has a header of 5 bytes, and the message one of 4. Then come the version, a random number and four lists,
    each behind its length: session id (1 byte), ciphers (2), compression methods (1), extensions (2).
    """
    body = hello[9:]
    position = 2 + 32
    for length_bytes in (1, 2, 1):
        position += length_bytes + int.from_bytes(body[position : position + length_bytes], "big")
    extensions = body[position + 2 :] + _UNKNOWN_EXTENSION + len(content).to_bytes(2, "big") + content
    message = body[:position] + len(extensions).to_bytes(2, "big") + extensions
    return b"".join(_records(_CLIENT_HELLO + len(message).to_bytes(3, "big") + message))


def _records(content: bytes, *, kind: bytes = _HANDSHAKE) -> Iterator[bytes]:
    for at in range(0, len(content), _RECORD_BYTES):
        part = content[at : at + _RECORD_BYTES]
        yield kind + _VERSION + len(part).to_bytes(2, "big") + part
