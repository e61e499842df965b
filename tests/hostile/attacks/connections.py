"""Many connections, which reach `max.connections`."""

from __future__ import annotations

from raft.types import Endpoint
from raft.wire.apis import LIST_OFFSETS
from raft.wire.frames import decode_response
from raft.wire.messages.api_versions import ApiVersionsRequest
from raft.wire.messages.list_offsets import LATEST_TIMESTAMP
from tests.hostile.attacks.attack import Attack
from tests.hostile.connection import Connection
from tests.node.harness.requests import fetch_request, list_offsets_request, listed

_DAY_MS = 86_400_000
_MOST = (1 << 31) - 1
_VERSION = 4


class SilentConnections(Attack):
    """Connections on which nothing is sent."""

    width = 500

    async def round(self, connection: Connection) -> None:
        await connection.is_closed(within_s=self.dice.uniform(2, 6))


class SilentVoterConnections(SilentConnections):
    """The same on the listeners for voters."""

    width = 150

    def target(self) -> Endpoint:
        return self.dice.choice(self.scene.voter_endpoints)


class IdleConnections(Attack):
    """Connections that stay open after one request."""

    width = 200

    async def round(self, connection: Connection) -> None:
        await connection.ask(ApiVersionsRequest(), 3)
        await connection.is_closed(within_s=self.dice.uniform(3, 8))


class WaitingFetches(Attack):
    """Fetches that wait at the end of the log for 2 GiB as long as a node lets them: each commit wakes all of them."""

    width = 600

    async def round(self, connection: Connection) -> None:
        response = await connection.ask(list_offsets_request(LATEST_TIMESTAMP), _VERSION)
        end_offset = listed(decode_response(response, LIST_OFFSETS, _VERSION)[1]).offset
        await connection.send_request(
            fetch_request(max(end_offset, 0), max_wait_ms=_DAY_MS, min_bytes=_MOST, max_bytes=_MOST), 12
        )
        await connection.is_closed(within_s=self.dice.uniform(5, 12))
