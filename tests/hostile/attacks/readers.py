"""Large fetches whose responses are not read, and searches that take long."""

from __future__ import annotations

from dataclasses import replace

from raft.records.batch import build_batch
from raft.records.compression import Compression
from raft.records.record import Record
from raft.types import Endpoint
from raft.wire.messages.fetch import FetchRequest
from tests.hostile.attacks.attack import Attack, AttackInputs
from tests.hostile.connection import Connection
from tests.node.harness.requests import fetch_request, list_offsets_request, produce_request

_RESPONSE_BYTES = 8 << 20
_MIDDLE = 3
"""An offset behind which there are more than 8 MiB."""

_SMALL_BATCHES = 13
"""The offset behind the large batches, where those of the honest clients begin."""

_LARGEST_TIMESTAMP = -3
_LATE_MS = 5_000


class UnreadFetches(Attack):
    """Three fetches of 8 MiB on each connection, whose responses are not read."""

    width = 150
    receive_buffer_bytes = 4096

    async def round(self, connection: Connection) -> None:
        for _ in range(3):
            await connection.send_request(self.request(), 12)
        # Nothing is read; the stream reader itself buffers a kibibyte.
        await connection.stay(self.dice.uniform(3, 9))

    def request(self) -> FetchRequest:
        """Return the next fetch."""
        return fetch_request(0, max_bytes=_RESPONSE_BYTES)


class SmallUnreadFetches(UnreadFetches):
    """Six fetches on each of many connections, whose responses are not read: the last of them find the buffers of the
    operating system full, and each is smaller than a mebibyte.
    """

    width = 400

    async def round(self, connection: Connection) -> None:
        for _ in range(6):
            await connection.send_request(self.request(), 12)
        await connection.stay(self.dice.uniform(3, 9))

    def request(self) -> FetchRequest:
        return fetch_request(_SMALL_BATCHES, max_bytes=900 << 10)


class UnreadObserverFetches(UnreadFetches):
    """The same, as observers that do not exist. They fetch from the middle of the log, which is read from the files."""

    width = 50

    def target(self) -> Endpoint:
        return self.scene.leader

    def request(self) -> FetchRequest:
        """Return the next fetch, of another observer."""
        epoch = self.scene.leader_epoch
        fetch = fetch_request(_MIDDLE, epoch=epoch, last_fetched_epoch=epoch, max_bytes=_RESPONSE_BYTES)
        return replace(fetch, replica_id=self.dice.randrange(1_000, 1 << 31))


class TimeSearches(Attack):
    """Searches by time for the last record of a batch of a few kilobytes that decompresses to almost 64 MiB."""

    width = 4

    def __init__(self, inputs: AttackInputs) -> None:
        super().__init__(inputs)
        self._batch = _slow_to_search()

    def target(self) -> Endpoint:
        return self.scene.leader

    async def round(self, connection: Connection) -> None:
        if self.dice.random() < 0.2:
            await connection.ask(produce_request(self._batch), 9)
        for _ in range(5):
            timestamp = self.dice.choice((_LATE_MS, _LATE_MS - 1, 2, _LARGEST_TIMESTAMP))
            await connection.send_request(list_offsets_request(timestamp), 7)
        for _ in range(5):
            await connection.frame()


def _slow_to_search() -> bytes:
    early, late = Record(value=bytes(63 << 20), timestamp_ms=1), Record(value=None, timestamp_ms=_LATE_MS)
    return build_batch([early, late], compression=Compression.ZSTD)
