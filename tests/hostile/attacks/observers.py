"""What an observer may do, without a pause: fetch the log again and again, and load the snapshot."""

from __future__ import annotations

from dataclasses import replace

from raft.errors import ErrorCode
from raft.types import Endpoint
from raft.wire.apis import FETCH
from raft.wire.frames import decode_response
from tests.hostile.attacks.attack import Attack
from tests.hostile.attacks.snapshots import VERSION, snapshot_request
from tests.hostile.connection import Connection
from tests.hostile.scene import SNAPSHOT, SNAPSHOT_BYTES
from tests.node.harness.requests import fetch_request

_OBSERVER_ID = 1_000
_FETCH_VERSION = 12
_FETCH_BYTES = 8 << 20
_FETCHES = 50
_PIECE_BYTES = 1 << 20


class _ObserverAttack(Attack):
    def target(self) -> Endpoint:
        # Only the listener for voters serves replicas.
        return self.scene.leader_of_voters


class ObserverFetches(_ObserverAttack):
    """One observer fetches from the beginning of the log on many connections, as much as it may at once."""

    width = 8

    async def round(self, connection: Connection) -> None:
        epoch = self.scene.leader_epoch
        fetch = fetch_request(0, epoch=epoch, last_fetched_epoch=0, max_bytes=_FETCH_BYTES)
        for _ in range(_FETCHES):
            frame = await connection.ask(replace(fetch, replica_id=_OBSERVER_ID), _FETCH_VERSION)
            response = decode_response(frame, FETCH, _FETCH_VERSION)[1]
            assert response.error_code == ErrorCode.NONE, f"an observer may not fetch: {response}"


class ObserverSnapshots(_ObserverAttack):
    """The same with the pieces of the snapshot."""

    width = 8

    async def round(self, connection: Connection) -> None:
        for position in range(0, SNAPSHOT_BYTES, _PIECE_BYTES):
            request = snapshot_request(
                replica_id=_OBSERVER_ID, epoch=self.scene.leader_epoch, snapshot=SNAPSHOT, position=position
            )
            await connection.ask(request, VERSION)
