"""Requests over TLS before the client has proved its name: large, many, slow, and of every API."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any, ClassVar

from raft.codec import Message
from raft.codec.schema import AnyType, Array, Struct, Structure
from raft.codec.types import UUID, Blob, Fixed, Text
from raft.types import ZERO_UUID
from raft.wire.apis import API_VERSIONS, APIS, SASL_AUTHENTICATE, SASL_HANDSHAKE
from raft.wire.frames import encode_request
from raft.wire.messages.api_versions import ApiVersionsRequest
from raft.wire.messages.sasl import SaslHandshakeRequest
from tests.hostile.attacks.attack import Attack, AttackInputs
from tests.hostile.connection import CLIENT_ID, Connection
from tests.hostile.encrypted_connection import EncryptedConnection
from tests.hostile.ways import HANDSHAKE_VERSION, Way

_LARGEST_FRAME_BYTES = 1 << 16
_MEBIBYTE = 1 << 20
_PRODUCE_HEADER = b"\x00\x00\x00\x09\x00\x00\x00\x01"
_LONGEST_NAME = 32_000


class NamelessAttack(Attack):
    """An attack on listeners for clients, over TLS, without a name."""

    counted: ClassVar[tuple[str, ...]] = ("dropped",)

    def way(self) -> Way:
        return Way.NAMELESS


class LargeFramesFirst(NamelessAttack):
    """Frames that are larger than a nameless client may send: announced, in part, or whole."""

    width = 20
    is_refused = True

    async def round(self, connection: Connection) -> None:
        size_bytes = self.dice.choice((_LARGEST_FRAME_BYTES + 1, _MEBIBYTE, 100 * _MEBIBYTE))
        sent_bytes = self.dice.choice((0, _LARGEST_FRAME_BYTES, min(size_bytes, 4 * _MEBIBYTE)))
        await connection.send(size_bytes.to_bytes(4, "big") + _PRODUCE_HEADER + bytes(sent_bytes))
        await connection.must_close("a nameless client may send a large frame")


class FullFramesFirst(NamelessAttack):
    """The largest frame that a nameless client may send, without its last byte, on many connections."""

    width = 150
    counted: ClassVar[tuple[str, ...]] = ()

    async def round(self, connection: Connection) -> None:
        await connection.send(_LARGEST_FRAME_BYTES.to_bytes(4, "big") + bytes(_LARGEST_FRAME_BYTES - 1))
        await connection.is_closed(within_s=self.dice.uniform(4, 12))


class TinyRecords(NamelessAttack):
    """The same frame in records of TLS of one byte each."""

    width = 2
    counted: ClassVar[tuple[str, ...]] = ()

    async def round(self, connection: Connection) -> None:
        assert isinstance(connection, EncryptedConnection), "the way is with TLS"
        frame = _LARGEST_FRAME_BYTES.to_bytes(4, "big") + bytes(_LARGEST_FRAME_BYTES - 1)
        await connection.send_in_records(frame, record_bytes=1)
        await connection.is_closed(within_s=1)


class ManyRequestsFirst(NamelessAttack):
    """A thousand ApiVersions at once: a node responds to sixteen."""

    width = 6
    is_refused = True
    counted: ClassVar[tuple[str, ...]] = ("failed", "dropped")

    def __init__(self, inputs: AttackInputs) -> None:
        super().__init__(inputs)
        self._frames = b"".join(_frame(ApiVersionsRequest(), version) for version in (3, 0)) * 500

    async def round(self, connection: Connection) -> None:
        await connection.send(self._frames)
        await connection.must_close("a nameless client may send any number of requests")


class SlowRequestsFirst(NamelessAttack):
    """SaslHandshake and SaslAuthenticate, byte by byte, each in a record of its own."""

    width = 30
    counted: ClassVar[tuple[str, ...]] = ()

    async def round(self, connection: Connection) -> None:
        for byte in b"".join(self.proofs[:2]):
            await connection.send(bytes([byte]))
            await asyncio.sleep(0.05)


class UnknownMechanisms(NamelessAttack):
    """SaslHandshake with mechanisms that no node has."""

    width = 10
    is_refused = True
    counted: ClassVar[tuple[str, ...]] = ("failed", "dropped")

    async def round(self, connection: Connection) -> None:
        names = ("", "GSSAPI", "PLAIN", "SCRAM-SHA-1", "scram-sha-512", "\n" * 50, "x" * _LONGEST_NAME)
        await connection.ask(SaslHandshakeRequest(mechanism=self.dice.choice(names)), HANDSHAKE_VERSION)
        await connection.must_close("a connection goes on without a mechanism")


class EveryRequestFirst(NamelessAttack):
    """Requests of every API in every version but those that a nameless client may send."""

    width = 10
    is_refused = True
    counted: ClassVar[tuple[str, ...]] = ("failed", "dropped")

    def __init__(self, inputs: AttackInputs) -> None:
        super().__init__(inputs)
        self._frames = [*_every_request()]

    async def round(self, connection: Connection) -> None:
        await connection.send(self.dice.choice(self._frames) * self.dice.choice((1, 20)))
        await connection.must_close("a nameless client may send this request")
        assert not connection.received_bytes, "a nameless client gets a response"


def _every_request() -> Iterator[bytes]:
    for api in APIS.values():
        if api not in (API_VERSIONS, SASL_HANDSHAKE, SASL_AUTHENTICATE):
            for version in api.versions:
                yield _frame(_plainest(api.request.__struct__, version), version)


def _plainest(struct: Struct, version: int) -> Any:
    """Return a message with zeros, empty texts, and lists of one element."""
    present = [field for field in struct.fields if version in field.versions]
    return struct.message_class(**{field.name: _value(field.type, version) for field in present})


def _value(kind: AnyType, version: int) -> object:
    match kind:
        case Fixed() if kind == UUID:
            return ZERO_UUID
        case Fixed():
            return 0
        case Text():
            return ""
        case Blob():
            return b""
        case Array():
            return (_value(kind.element, version),)
        case Structure():
            return _plainest(kind.struct, version)


def _frame(request: Message, version: int) -> bytes:
    return encode_request(request, version, correlation_id=1, client_id=CLIENT_ID)
