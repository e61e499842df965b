"""Readers that ask for a lot and take nothing, and searches that take long."""

from __future__ import annotations

from raft.records.batch import build_batch
from raft.records.compression import Compression
from raft.records.record import Record
from raft.types import Endpoint
from tests.hostile.attacks.attack import Attack, Means
from tests.hostile.stranger import Stranger
from tests.node.harness.requests import fetch_request, list_offsets_request, produce_request

_LARGEST_TIMESTAMP = -3
_LATE_MS = 5_000


class GreedyReaders(Attack):
    """Fetches of 8 MiB, three in a row, whose answers are never read."""

    width = 150
    pause_s = 0.5
    receive_buffer_bytes = 4096

    async def round(self, stranger: Stranger) -> None:
        for _ in range(3):
            await stranger.send_request(fetch_request(0, max_bytes=8 << 20), 12)
        # Nothing is read: the stream stops after a kibibyte.
        await stranger.stay(self.dice.uniform(3, 9))


class TimeSearches(Attack):
    """Searches by time for the last record of a batch of a few kilobytes that becomes almost 64 MiB."""

    width = 4
    pause_s = 1.0

    def __init__(self, means: Means) -> None:
        super().__init__(means)
        self._batch = _slow_to_search()

    def target(self) -> Endpoint:
        return self.scene.leader

    async def round(self, stranger: Stranger) -> None:
        if self.dice.random() < 0.2:
            await stranger.ask(produce_request(self._batch), 9)
        for _ in range(5):
            timestamp = self.dice.choice((_LATE_MS, _LATE_MS - 1, 2, _LARGEST_TIMESTAMP))
            await stranger.send_request(list_offsets_request(timestamp), 7)
        for _ in range(5):
            await stranger.frame()


def _slow_to_search() -> bytes:
    early, late = Record(value=bytes(63 << 20), timestamp_ms=1), Record(value=None, timestamp_ms=_LATE_MS)
    return build_batch([early, late], compression=Compression.ZSTD)
