"""Produce requests with invalid or expensive batches."""

from __future__ import annotations

import zlib

from raft.records.batch import build_batch
from raft.records.compression import Compression
from raft.records.record import Record
from tests.hostile.attacks.attack import Attack, AttackInputs
from tests.hostile.connection import Connection
from tests.node.harness.batches import batch_of, sealed, with_codec
from tests.node.harness.requests import produce_request

_HEADER_BYTES = 61
_BOMB_BYTES = 100 << 20
_NANOSECONDS = 1_700_000_000 * 1_000_000_000


class CraftedBatches(Attack):
    """Random bytes with a valid checksum, bombs, times in nanoseconds, header keys that are not UTF-8, wrong counts."""

    width = 4

    def __init__(self, inputs: AttackInputs) -> None:
        super().__init__(inputs)
        self._crafted = _crafted()

    async def round(self, connection: Connection) -> None:
        for _ in range(3):
            batch = self.dice.choice((*self._crafted, self._garbage()))
            await connection.ask(produce_request(batch, acks=self.dice.choice((1, -1))), 9)

    def _garbage(self) -> bytes:
        """Return a batch with random bytes instead of records."""
        return sealed(batch_of(b"x")[:_HEADER_BYTES] + self.dice.randbytes(self.dice.randrange(2000)))


def _crafted() -> tuple[bytes, ...]:
    plain = batch_of(b"neighbour")
    header_key = build_batch([Record(value=b"neighbour", headers=(("kk", b"v"),))])
    return (
        *(_bomb(codec) for codec in (Compression.GZIP, Compression.ZSTD)),
        _with_count(plain, 1 << 30),
        batch_of(b"neighbour", timestamp_ms=_NANOSECONDS),
        sealed(header_key.replace(b"kk", b"\xff\xfe")),
        with_codec(plain, 5),
        plain[:-1] + b"!",
        batch_of(b"neighbour", producer_id=(1 << 62) + 5, epoch=3, sequence=7),
    )


def _bomb(codec: Compression) -> bytes:
    if codec is not Compression.GZIP:
        return build_batch([Record(value=bytes(_BOMB_BYTES))], compression=codec)
    packer = zlib.compressobj(wbits=31)
    zeros = bytes(1 << 20)
    content = b"".join(packer.compress(zeros) for _ in range(_BOMB_BYTES >> 20)) + packer.flush()
    return sealed(build_batch([Record(value=None)], compression=codec)[:_HEADER_BYTES] + content)


def _with_count(batch: bytes, records: int) -> bytes:
    changed = bytearray(batch)
    changed[23:27] = (records - 1).to_bytes(4, "big")
    changed[57:61] = records.to_bytes(4, "big")
    return sealed(changed)
