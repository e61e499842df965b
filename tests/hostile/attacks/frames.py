"""Frames with a larger size than what is sent of them, and frames that are sent slowly."""

from __future__ import annotations

import asyncio

from tests.hostile.attacks.attack import Attack
from tests.hostile.connection import Connection
from tests.node.harness.batches import batch_of
from tests.node.harness.requests import produce_request

_MEBIBYTE = 1 << 20
_PRODUCE_HEADER = b"\x00\x00\x00\x09\x00\x00\x00\x01"
"""API key, version and correlation id of a Produce request."""


def _announcing(size_bytes: int) -> bytes:
    return size_bytes.to_bytes(4, "big") + _PRODUCE_HEADER


class AnnouncedFrames(Attack):
    """Twelve bytes that announce a frame of 100 MiB, and nothing more."""

    width = 60

    async def round(self, connection: Connection) -> None:
        await connection.send(_announcing(100 * _MEBIBYTE))
        await connection.is_closed(within_s=self.dice.uniform(0.5, 5))


class StalledFrames(Attack):
    """A part of a large frame, and nothing more: together these parts are more than a node receives."""

    width = 12

    async def round(self, connection: Connection) -> None:
        part_bytes = self.dice.choice((300 << 10, _MEBIBYTE, 5 * _MEBIBYTE))
        await connection.send(_announcing(9 * _MEBIBYTE) + bytes(part_bytes))
        await connection.is_closed(within_s=self.dice.uniform(1, 6))


class PartsOfFrames(Attack):
    """A part of a frame on many connections, and nothing more: too little to count as large, or a large read."""

    width = 150

    async def round(self, connection: Connection) -> None:
        part_bytes = self.dice.choice((15 << 10, 240 << 10))
        await connection.send(_announcing(8 * _MEBIBYTE) + bytes(part_bytes))
        await connection.is_closed(within_s=self.dice.uniform(2, 8))


class TricklingFrames(Attack):
    """A part of a large frame, then one byte after the other."""

    width = 10

    async def round(self, connection: Connection) -> None:
        await connection.send(_announcing(9 * _MEBIBYTE) + bytes(_MEBIBYTE))
        for _ in range(100):
            await connection.send(b"x")
            await asyncio.sleep(0.05)


class SlowRequests(Attack):
    """A whole small request, byte by byte."""

    width = 30

    async def round(self, connection: Connection) -> None:
        for byte in self.dice.choice(self.recordings)[:200]:
            await connection.send(bytes([byte]))
            await asyncio.sleep(0.02)


class HalfRequests(Attack):
    """A request and a part of another one, then the end of the connection, or nothing more."""

    width = 30

    async def round(self, connection: Connection) -> None:
        frame = self.dice.choice(self.recordings)
        await connection.send(frame + frame[: self.dice.randrange(1, len(frame))])
        if self.dice.random() < 0.5:
            await connection.is_closed(within_s=self.dice.uniform(0.5, 4))


class LargeAppends(Attack):
    """Complete large appends whose responses are not read: they fill the budget of requests."""

    width = 2

    async def round(self, connection: Connection) -> None:
        batch = batch_of(bytes(2 * _MEBIBYTE))
        for _ in range(2):
            await connection.send_request(produce_request(batch, acks=self.dice.choice((0, 1, -1))), 9)
        await connection.is_closed(within_s=1)
