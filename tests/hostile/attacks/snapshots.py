"""FetchSnapshot in the name of observers: of a large snapshot whose pieces are not read, and with absurd values."""

from __future__ import annotations

from raft.types import Endpoint
from raft.wire.messages.fetch_snapshot import (
    FetchSnapshotRequest,
    FetchSnapshotRequestPartition,
    FetchSnapshotRequestTopic,
    SnapshotId,
)
from tests.hostile.attacks.attack import Attack
from tests.hostile.connection import Connection
from tests.hostile.scene import SNAPSHOT, SNAPSHOT_BYTES
from tests.node.harness.properties import CLUSTER_ID, TOPIC

VERSION = 1
_MOST_BYTES = (1 << 31) - 1
_PIPELINED = 10
_PIECES = 8
_INT64 = (-(1 << 63), -1, 0, 1, 1 << 31, 1 << 62, (1 << 63) - 1)
_INT32 = (-(1 << 31), -1, 0, 1, (1 << 31) - 1)


class SnapshotDownloads(Attack):
    """A hundred observers that do not exist download the snapshot, some pieces each, ten requests at a time."""

    width = 100

    def target(self) -> Endpoint:
        return self.scene.leader

    async def round(self, connection: Connection) -> None:
        for _ in range(_PIECES):
            await self.ask_pieces(connection)
            for _ in range(_PIPELINED):
                await connection.frame()

    async def ask_pieces(self, connection: Connection) -> None:
        """Send requests for some pieces anywhere in the snapshot, as large as they may be."""
        for _ in range(_PIPELINED):
            await connection.send_request(
                snapshot_request(
                    replica_id=self.dice.randrange(1_000, 1 << 31),
                    epoch=self.scene.leader_epoch,
                    snapshot=SNAPSHOT,
                    position=self.dice.randrange(SNAPSHOT_BYTES),
                ),
                VERSION,
            )


class UnreadSnapshots(SnapshotDownloads):
    """The same, a thousand requests in all, whose responses are not read."""

    receive_buffer_bytes = 4096

    async def round(self, connection: Connection) -> None:
        await self.ask_pieces(connection)
        await connection.stay(self.dice.uniform(3, 9))


class AbsurdSnapshots(Attack):
    """Positions, sizes, ids and epochs that no replica sends."""

    width = 6

    async def round(self, connection: Connection) -> None:
        for _ in range(20):
            is_known = self.dice.random() < 0.5
            await connection.ask(
                snapshot_request(
                    replica_id=self.dice.choice((-1, 1_000_000)),
                    epoch=self.scene.leader_epoch if is_known else self.dice.choice(_INT32),
                    snapshot=SNAPSHOT if self.dice.random() < 0.5 else self._absurd_id(),
                    position=self.dice.choice((SNAPSHOT_BYTES, *_INT64)),
                    max_bytes=self.dice.choice(_INT32),
                    topic=TOPIC if self.dice.random() < 0.9 else "other",
                ),
                VERSION,
            )

    def _absurd_id(self) -> SnapshotId:
        return SnapshotId(end_offset=self.dice.choice(_INT64), epoch=self.dice.choice(_INT32))


def snapshot_request(
    *,
    replica_id: int,
    epoch: int,
    snapshot: SnapshotId,
    position: int,
    max_bytes: int = _MOST_BYTES,
    topic: str = TOPIC,
) -> FetchSnapshotRequest:
    """Return a request for a piece.

    Args:
        replica_id: in whose name.
        epoch: the leader epoch.
        snapshot: its id.
        position: of the piece.
        max_bytes: its largest size.
        topic: the name of the topic.
    """
    partition = FetchSnapshotRequestPartition(
        partition=0, current_leader_epoch=epoch, snapshot_id=snapshot, position=position
    )
    topics = (FetchSnapshotRequestTopic(name=topic, partitions=(partition,)),)
    return FetchSnapshotRequest(cluster_id=CLUSTER_ID, replica_id=replica_id, max_bytes=max_bytes, topics=topics)
