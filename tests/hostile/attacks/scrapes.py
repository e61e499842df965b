"""Requests to the listeners for metrics."""

from __future__ import annotations

from raft.types import Endpoint
from tests.hostile.attacks.attack import Attack
from tests.hostile.connection import Connection
from tests.hostile.ways import Way

_PATHS = (b"/metrics", b"/readyz", b"/healthz", b"/metrics?name[]=up", b"/" + b"x" * 5_000)
_BYTE_PAUSE_S = 0.2


class ManyScrapes(Attack):
    """Scrapes as fast as a node serves them."""

    width = 20

    def target(self) -> Endpoint:
        return self.dice.choice(self.scene.metrics_endpoints)

    def way(self) -> Way:
        return Way.PLAIN

    async def round(self, connection: Connection) -> None:
        await connection.send(b"GET %s HTTP/1.1\r\nHost: any\r\n\r\n" % self.dice.choice(_PATHS))
        await connection.is_closed(within_s=5.0)


class SlowScrapes(ManyScrapes):
    """Requests that never end, and responses that are not read."""

    width = 60

    async def round(self, connection: Connection) -> None:
        if self.dice.random() < 0.5:
            await connection.send(b"GET /metrics HTTP/1.1\r\n\r\n")
            await connection.stay(self.dice.uniform(2, 12))
            return
        await connection.send(b"GET /metrics HTTP/1.1\r\nX-Long: ")
        for _ in range(self.dice.randrange(60)):
            await connection.send(b"x")
            if await connection.is_closed(within_s=_BYTE_PAUSE_S):
                return


class EndlessScrapes(ManyScrapes):
    """Requests that are larger than any node should read."""

    width = 5

    async def round(self, connection: Connection) -> None:
        await connection.send(b"GET /metrics HTTP/1.1\r\n")
        for _ in range(200):
            await connection.send(b"X-Long: " + b"x" * 60_000 + b"\r\n")
